package main

import (
	"sync"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// told records the answers and events that the clients of a round got. It is safe for concurrent use.
type told struct {
	mu        sync.Mutex // guards all below
	promises  []proof.Promise
	sightings []proof.Sighting
	streams   []proof.Stream
	patterns  []string // made under load
	resends   []resend
	problems  []error // answers that no fault explains
	refused   int     // cancels and retries that came too late or too early
}

// resend is a request with a key that can be sent again, and must then give the same id.
type resend struct {
	path, key string
	body      []byte
	want      int // status
	promise   proof.Promise
}

func (t *told) promise(p proof.Promise, again *resend) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.promises = append(t.promises, p)
	if again != nil {
		again.promise = p
		t.resends = append(t.resends, *again)
	}
}

func (t *told) saw(s proof.Sighting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sightings = append(t.sightings, s)
}

func (t *told) streamed(s proof.Stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams = append(t.streams, s)
}

func (t *told) made(pattern string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.patterns = append(t.patterns, pattern)
}

func (t *told) refuse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused++
}

func (t *told) problem(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, err)
}

// counts are figures for the round's line.
type counts struct{ executions, batches, cancels, retries, streams, resumed int }

func (t *told) counts() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	var c counts
	for _, p := range t.promises {
		switch p.Kind {
		case proof.PromiseExecution:
			c.executions++
		case proof.PromiseBatch:
			c.batches++
		case proof.PromiseCancel:
			c.cancels++
		case proof.PromiseRetry:
			c.retries++
		}
	}
	for _, s := range t.streams {
		c.streams++
		if s.Resumes > 0 {
			c.resumed++
		}
	}
	return c
}
