package client

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"
)

// ErrEventTooLarge ends an EventReader whose stream holds an event beyond its bound.
var ErrEventTooLarge = errors.New("an event of the stream is too large")

// DefaultMaxEvent bounds one event in bytes.
const DefaultMaxEvent = 32 << 20

// Event is one server-sent event.
type Event struct {
	ID   string          `json:"id,omitempty"` // as the event itself carries it; empty for live-only ones
	Type string          `json:"event"`        // "message" when the stream named none
	Data json.RawMessage `json:"data"`
}

// EventReader reads server-sent events (text/event-stream) by the rules of the HTML standard: any of the
// three line ends, comments, several data lines, a byte order mark. It does not close its source, reads no
// byte further than it must, and is not safe for concurrent use.
type EventReader struct {
	r    *bufio.Reader
	max  int
	last string
	wait time.Duration
	line []byte
	// skipLF says that the line before ended in CR: an LF right after it belongs to it. It is dropped when
	// the next line is read, because waiting for it would hold back a finished event.
	skipLF bool
	begun  bool
}

// NewEventReader reads events from r; maxEvent bounds one in bytes, 0 means DefaultMaxEvent.
func NewEventReader(r io.Reader, maxEvent int) *EventReader {
	if maxEvent <= 0 {
		maxEvent = DefaultMaxEvent
	}
	return &EventReader{r: bufio.NewReader(r), max: maxEvent}
}

// LastEventID returns the id to resume from: the latest one seen.
func (r *EventReader) LastEventID() string { return r.last }

// Wait returns how long the stream asks a client to wait before it comes back; 0 when it did not say.
func (r *EventReader) Wait() time.Duration { return r.wait }

// Next returns the next event. At the end of the stream it returns io.EOF; an unfinished event before it
// is dropped, as the standard wants.
func (r *EventReader) Next() (Event, error) {
	var (
		event   Event
		data    []byte
		hasData bool
		size    int
	)
	for {
		line, err := r.readLine()
		if err != nil {
			return Event{}, err
		}
		if size += len(line); size > r.max {
			return Event{}, ErrEventTooLarge
		}
		if len(line) == 0 {
			if event.ID != "" {
				r.last = event.ID
			}
			if !hasData {
				event, size = Event{}, 0
				continue
			}
			event.Type = cmp.Or(event.Type, "message")
			event.Data = data
			return event, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) { // an empty name is a comment
		case "event":
			event.Type = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				event.ID = string(value)
			}
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			data = append(data, value...)
			hasData = true
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				r.wait = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// readLine returns the next line without its end; it is valid until the next call.
func (r *EventReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if _, err := r.r.Peek(1); err != nil {
			return nil, err
		}
		chunk, _ := r.r.Peek(r.r.Buffered())
		if r.skipLF {
			r.skipLF = false
			if chunk[0] == '\n' {
				r.discard(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			r.line = append(r.line, chunk...)
			r.discard(len(chunk))
			if len(r.line) > r.max {
				return nil, ErrEventTooLarge
			}
			continue
		}
		r.line = append(r.line, chunk[:end]...)
		r.skipLF = chunk[end] == '\r'
		r.discard(end + 1)
		if !r.begun {
			r.begun = true
			r.line = bytes.TrimPrefix(r.line, []byte("\xef\xbb\xbf"))
		}
		return r.line, nil
	}
}

// discard drops n buffered bytes, which cannot fail.
func (r *EventReader) discard(n int) { _, _ = r.r.Discard(n) }
