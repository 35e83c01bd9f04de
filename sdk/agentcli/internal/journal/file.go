package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/wardroom/wardroom/sdk/internal/durable"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// reserveStep is how many numbers one durable promise covers.
const reserveStep = 4096

// line is one line of the file.
type line struct {
	Event   *runtime.Event `json:"event,omitempty"`
	Mark    uint64         `json:"mark,omitempty"`
	Reserve uint64         `json:"reserve,omitempty"`
	Log     string         `json:"log,omitempty"` // beside Reserve
}

// entry is an event as it is kept.
type entry struct {
	*runtime.Event
	mark uint64
	size int // as a line of the file
}

// load reads the file: its newest events, about keep, the highest number that may have been
// given away, and the journal's id, which files of earlier versions do not have. Lines that cannot be read are left out: they hold history, not state.
func load(path string, keep int) (events []entry, last uint64, id string, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, "", nil
	}
	if err != nil {
		return nil, 0, "", err
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReaderSize(f, 256<<10)
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, last, id, nil
		}
		if err != nil {
			return nil, 0, "", fmt.Errorf("%s: %w", path, err)
		}
		var l line
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		last = max(last, l.Reserve)
		if l.Log != "" && len(l.Log) <= runtime.MaxLog {
			id = l.Log
		}
		if l.Event == nil || len(events) > 0 && l.Event.Seq <= events[len(events)-1].Seq {
			continue
		}
		last = max(last, l.Event.Seq)
		events = append(events, entry{l.Event, l.Mark, len(text)})
		if len(events) >= 2*keep {
			events = append(events[:0:0], events[len(events)-keep:]...)
		}
	}
}

// rewrite replaces the file with a promise and the events.
func rewrite(path, id string, events []entry, reserve uint64) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if err := enc.Encode(line{Reserve: reserve, Log: id}); err != nil {
		return err
	}
	for _, e := range events {
		if err := enc.Encode(line{Event: e.Event, Mark: e.mark}); err != nil {
			return err
		}
	}
	return durable.WriteFile(path, b.Bytes(), true)
}
