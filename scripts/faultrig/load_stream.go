package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
	sdk "github.com/wardroom/wardroom/sdk/client"
)

// stream runs a pattern as a stream, and comes back over kills until the last event.
func (c *client) stream(ctx context.Context) error {
	j, err := c.job()
	if err != nil {
		return err
	}
	j.key = j.nonce // a stream that breaks before its first event can only be taken up by its key
	return c.follow(ctx, &proof.Stream{}, &j)
}

// follow reads a stream to its end, with a connection after the other. It reads events with nothing in
// between that could hide a repeated one. Without an id in s, the job starts the execution.
func (c *client) follow(ctx context.Context, s *proof.Stream, j *job) error {
	defer func() {
		if s.ExecutionID != "" {
			c.told.streamed(*s)
		}
	}()
	for {
		begun := len(s.Frames) > 0
		r, err := c.connect(ctx, s, j)
		if err != nil {
			return err
		}
		if begun && r.status == http.StatusOK {
			s.Resumes++
		}
		if r.status == http.StatusNoContent || s.Ended {
			return nil // without the last event seen, the proof reports it
		}
		if r.status != 0 && r.status != http.StatusOK && r.status != http.StatusServiceUnavailable && r.status != http.StatusTooManyRequests {
			return &unexpectedError{"the stream of " + s.ExecutionID, r}
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("the stream of %q had not ended when the round's time was over", s.ExecutionID)
		}
	}
}

// connect makes one connection and reads it to its end. Status 0 means that there was none.
func (c *client) connect(ctx context.Context, s *proof.Stream, j *job) (r reply, err error) {
	method, path, body := http.MethodGet, "/api/executions/"+s.ExecutionID+"/stream", []byte(nil)
	if s.ExecutionID == "" {
		method, path, body = http.MethodPost, "/api/patterns/"+j.pattern+"/execute/stream", j.body
	}
	req, err := http.NewRequestWithContext(ctx, method, c.caller.base+path, bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", j.key)
	}
	if n := len(s.Frames); n > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatUint(s.Frames[n-1].Sequence, 10))
	}
	res, err := c.caller.http.Do(req)
	if err != nil {
		return r, nil // the core is away, or the time is over
	}
	defer res.Body.Close()
	r.status = res.StatusCode
	if r.status != http.StatusOK {
		var text bytes.Buffer
		_, _ = text.ReadFrom(res.Body) // for the message only
		r.body = text.Bytes()
		return r, nil
	}
	events := sdk.NewEventReader(res.Body, 0)
	for !s.Ended {
		event, err := events.Next()
		if err != nil {
			return r, nil // cut off: by a kill, an orderly end, or the end of the round's time
		}
		if err := c.note(s, event, j); err != nil {
			return r, err
		}
	}
	return r, nil
}

// note takes down one event.
func (c *client) note(s *proof.Stream, event sdk.Event, j *job) error {
	if event.ID == "" {
		return nil // live only: it has no place in the journal
	}
	sequence, err := strconv.ParseUint(event.ID, 10, 64)
	if err != nil {
		return err
	}
	s.Frames = append(s.Frames, proof.Frame{Sequence: sequence, Type: event.Type})
	s.Ended = event.Last()
	data, err := event.Decode()
	if err != nil {
		return err
	}
	if s.ExecutionID == "" && data.ExecutionID != "" {
		s.ExecutionID = data.ExecutionID
		c.told.promise(proof.Promise{Kind: proof.PromiseExecution, ID: s.ExecutionID, Key: j.key, Input: j.input}, nil)
	}
	return nil
}
