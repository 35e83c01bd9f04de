package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/wardroom/wardroom/sdk/client"
)

// threadStream reads the stream of the threads of an execution, with a connection after the other, until it is told to
// end. Begin it once with run; the rest is safe for concurrent use.
type threadStream struct {
	caller      *caller
	executionID string

	mu      sync.Mutex // guards all below
	seen    []threadFrame
	resumes int
	problem error
}

// threadFrame is an event of the stream.
type threadFrame struct {
	sequence uint64
	threadID string
}

// run reads until ctx ends or the stream says something that no fault explains.
func (s *threadStream) run(ctx context.Context) {
	for connections := 0; ; connections++ {
		if err := s.connect(ctx); err != nil {
			s.mu.Lock()
			s.problem = err
			s.mu.Unlock()
			return
		}
		if !pause(ctx, 20*time.Millisecond) {
			return
		}
	}
}

// last returns the sequence of the last event.
func (s *threadStream) last() (sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.seen); n > 0 {
		sequence = s.seen[n-1].sequence
	}
	return sequence
}

// connect makes one connection and reads it to its end. That there is none is no error.
func (s *threadStream) connect(ctx context.Context) error {
	path := "/api/executions/" + s.executionID + "/threads/stream"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.caller.base+path, nil)
	if err != nil {
		return err
	}
	last := s.last()
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", strconv.FormatUint(last, 10))
	res, err := s.caller.http.Do(req)
	if err != nil {
		return nil // the core is away, or the time is over
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return nil
	default:
		return fmt.Errorf("GET %s was answered %d", path, res.StatusCode)
	}
	if last > 0 {
		s.mu.Lock()
		s.resumes++
		s.mu.Unlock()
	}
	events := sdk.NewEventReader(res.Body, 0)
	for {
		event, err := events.Next()
		if err != nil {
			return nil // cut off: by a kill, an orderly end, or the end of the round
		}
		if err := s.note(event); err != nil {
			return err
		}
	}
}

// note takes down one event.
func (s *threadStream) note(event sdk.Event) error {
	if event.Type == sdk.EventGap {
		return fmt.Errorf("the stream of %s has a gap, and nothing was trimmed: %s", s.executionID, event.Data)
	}
	if !strings.HasPrefix(event.Type, "thread_") {
		return nil
	}
	sequence, err := strconv.ParseUint(event.ID, 10, 64)
	if err != nil {
		return err
	}
	data, err := event.Thread()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, threadFrame{sequence: sequence, threadID: data.ThreadID})
	return nil
}

// state returns what was seen so far.
func (s *threadStream) state() (seen []threadFrame, resumes int, problem error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[:len(s.seen):len(s.seen)], s.resumes, s.problem
}
