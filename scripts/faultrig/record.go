package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// recordWriter is an agent's own record: a line per entry, written at once, so that what was written is there
// after a kill -9 of the agent. Safe for concurrent use.
type recordWriter struct {
	mu   sync.Mutex // guards file
	file *os.File
}

func openRecord(path string) (*recordWriter, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	// A kill may have left a line without its end; what comes now must not become part of it.
	if _, err := file.WriteString("\n"); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &recordWriter{file: file}, nil
}

// add appends an entry. An agent without its record proves nothing, so a failure ends it.
func (w *recordWriter) add(e proof.Entry) {
	line, err := json.Marshal(e)
	if err == nil {
		w.mu.Lock()
		_, err = w.file.Write(append(line, '\n'))
		w.mu.Unlock()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// recordReader reads on in a record that is still written.
type recordReader struct {
	path   string
	offset int64
}

// next returns the entries since the last call. A line without its end is left for the next call; one that a
// kill cut off is no entry, because nothing was done on the strength of it.
func (r *recordReader) next() ([]proof.Entry, error) {
	file, err := os.Open(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(r.offset, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	r.offset += int64(end)
	var entries []proof.Entry
	for line := range bytes.Lines(data[:end]) {
		var e proof.Entry
		if json.Unmarshal(line, &e) == nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}
