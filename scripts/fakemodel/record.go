package fakemodel

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"unicode/utf8"
)

// maxLogged is how much of a user text the log keeps, in bytes.
const maxLogged = 4096

// Request is one request of a program, as the log remembers it. Times are nanoseconds since 1970; 0 means that
// it has not come to that.
type Request struct {
	Seq        uint64 `json:"seq"`               // counts from 1, and goes on over Reset
	ReceivedNs int64  `json:"receivedNs"`        // the body was read
	FirstNs    int64  `json:"firstNs"`           // just before the first byte of the answer was written
	LastNs     int64  `json:"lastNs"`            // just before the last event was written: the program knows after it, never before
	DoneNs     int64  `json:"doneNs"`            // all of it was written, or the program has gone
	Method     string `json:"method"`            //
	Path       string `json:"path"`              // without the query, which may carry a key
	API        string `json:"api"`               // anthropic, responses, chat, gemini, or what else was asked
	Model      string `json:"model,omitempty"`   // as the program names it
	Stream     bool   `json:"stream,omitempty"`  // asked for a stream
	Tools      int    `json:"tools,omitempty"`   // number of tools offered
	Results    int    `json:"results,omitempty"` // tool results since the last user text
	User       string `json:"user,omitempty"`    // the last user text, at most 4096 bytes
	Entries    int    `json:"entries,omitempty"` // of the conversation; a program that asks again by itself sends as many
	Kind       string `json:"kind,omitempty"`    // text, tool, read, ask, side or fail
	Status     int    `json:"status"`            // HTTP status of the answer
	Note       string `json:"note,omitempty"`    // what went wrong, such as "client gone", or "cut" where that was asked for
}

// record is the log of requests: the last ones, in the order they came. It is safe for concurrent use.
type record struct {
	keep int
	sink *json.Encoder // or nil; under mu, so lines do not mix

	mu      sync.Mutex
	last    uint64
	entries []*Request
	changed chan struct{} // closed and replaced when an entry is new or changed
	sinkErr error         // the first error of sink or a dump, after which nothing more is written
}

func newRecord(o Options) *record {
	r := &record{keep: o.Keep, changed: make(chan struct{})}
	if o.Log != nil {
		r.sink = json.NewEncoder(o.Log)
		r.sink.SetEscapeHTML(false)
	}
	return r
}

// add gives the request its number and keeps it. The caller changes it by update only.
func (r *record) add(entry *Request) {
	entry.User = truncate(entry.User, maxLogged)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	entry.Seq = r.last
	r.entries = append(r.entries, entry)
	if extra := len(r.entries) - r.keep; extra > 0 {
		r.entries = slices.Delete(r.entries, 0, extra)
	}
	r.change()
}

// change wakes everybody who waits. The caller holds mu.
func (r *record) change() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// update changes an entry and wakes everybody who waits.
func (r *record) update(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	r.change()
}

// mark changes an entry quietly, for what alone is no news.
func (r *record) mark(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// fail remembers the first error of what is written besides.
func (r *record) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sinkErr = cmp.Or(r.sinkErr, err)
}

// err is the first error of what was written besides.
func (r *record) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sinkErr
}

// end makes the last change to an entry and writes its line.
func (r *record) end(entry *Request, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	if r.sink != nil && r.sinkErr == nil {
		r.sinkErr = r.sink.Encode(entry)
	}
	r.change()
}

func (r *record) list() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copies()
}

// copies are the entries as they are. The caller holds mu.
func (r *record) copies() []Request {
	out := make([]Request, len(r.entries))
	for i, entry := range r.entries {
		out[i] = *entry
	}
	return out
}

func (r *record) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = nil
	r.change()
}

// await returns the requests that match, as soon as there is one.
func (r *record) await(ctx context.Context, match func(Request) bool) ([]Request, error) {
	for {
		r.mu.Lock()
		changed := r.changed
		var found []Request
		for _, entry := range r.entries {
			if match(*entry) {
				found = append(found, *entry)
			}
		}
		r.mu.Unlock()
		if len(found) > 0 {
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// truncate cuts a text to a number of bytes, between characters.
func truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
