package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	reader := recordReader{path: path}
	if entries, err := reader.next(); err != nil || entries != nil {
		t.Fatalf("before the agent began: %v, %v", entries, err)
	}
	first, err := openRecord(path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			first.add(proof.Entry{Kind: proof.EntryAnswer, TaskID: fmt.Sprint(i), Result: []byte(`{"a":1}`)})
		})
	}
	wg.Wait()
	if entries, err := reader.next(); err != nil || len(entries) != 20 || string(entries[0].Result) != `{"a":1}` {
		t.Fatalf("read %v, %v", entries, err)
	}
	if entries, err := reader.next(); err != nil || len(entries) != 0 {
		t.Fatalf("read again: %v, %v", entries, err)
	}

	// A kill cuts off a line; the agent's next life goes on.
	if _, err := first.file.WriteString(`{"kind":"ack","taskId":"cut`); err != nil {
		t.Fatal(err)
	}
	if entries, err := reader.next(); err != nil || len(entries) != 0 {
		t.Fatalf("half a line: %v, %v", entries, err)
	}
	second, err := openRecord(path)
	if err != nil {
		t.Fatal(err)
	}
	second.add(proof.Entry{Kind: proof.EntryAck, TaskID: "whole"})
	if entries, err := reader.next(); err != nil || len(entries) != 1 || entries[0].TaskID != "whole" {
		t.Fatalf("after the cut: %v, %v", entries, err)
	}
	for _, w := range []*recordWriter{first, second} {
		if err := w.file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
