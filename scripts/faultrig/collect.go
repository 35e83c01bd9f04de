package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// collector reads what the store says, over the API.
type collector struct {
	caller *caller

	mu       sync.Mutex // guards all below
	evidence *proof.Evidence
	bodies   map[string][sha256.Size]byte // hash of each execution as it was read
	problems []error
}

// readers is how many requests a collector has under way.
const readers = 6

// collect reads all that was made since the given time but for those of before, and the promised batches.
func collect(ctx context.Context, c *caller, since time.Time, before map[string]bool, t *told) (*collector, error) {
	col := &collector{caller: c, bodies: map[string][sha256.Size]byte{}, evidence: &proof.Evidence{
		Executions: map[string]*proof.Execution{}, Journals: map[string][]proof.Event{}, Batches: map[string]*proof.Batch{},
		Promises: t.promises, Sightings: t.sightings, Streams: t.streams, Expect: expect,
	}}
	ids, err := listSince(ctx, c, since)
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return before[id] })
	each(ids, col.execution(ctx))
	var batches []string
	for _, p := range t.promises {
		if p.Kind == proof.PromiseBatch {
			batches = append(batches, p.ID)
		}
	}
	each(batches, col.batch(ctx))
	each(t.patterns, col.pattern(ctx))
	return col, errors.Join(col.problems...)
}

// each calls f for every item, some at once.
func each[T any](items []T, f func(T)) {
	next := make(chan T)
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for item := range next {
				f(item)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	wg.Wait()
}

// listSince returns the ids of all executions made since then, by the clock of the core.
func listSince(ctx context.Context, c *caller, since time.Time) ([]string, error) {
	return listExecutions(ctx, c, url.Values{"since": {since.UTC().Format(time.RFC3339Nano)}})
}

// listExecutions returns the ids of all executions that match.
func listExecutions(ctx context.Context, c *caller, query url.Values) ([]string, error) {
	var ids []string
	query.Set("limit", "100")
	for {
		var page struct {
			Executions []struct {
				ID string `json:"executionId"`
			} `json:"executions"`
			NextCursor string `json:"nextCursor"`
		}
		if _, _, err := c.get(ctx, "/api/executions?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		for _, row := range page.Executions {
			ids = append(ids, row.ID)
		}
		if page.NextCursor == "" {
			return ids, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

func (c *collector) problem(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, err)
}

// execution reads an execution and its journal.
func (c *collector) execution(ctx context.Context) func(id string) {
	return func(id string) {
		e := new(proof.Execution)
		r, found, err := c.caller.get(ctx, "/api/executions/"+id, e)
		if err == nil && !found {
			err = fmt.Errorf("execution %s is listed and cannot be read", id)
		}
		var events []proof.Event
		if err == nil {
			events, err = readJournal(ctx, c.caller, id)
		}
		if err != nil {
			c.problem(err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.evidence.Executions[id], c.evidence.Journals[id] = e, events
		c.bodies[id] = sha256.Sum256(r.body)
	}
}

// readJournal reads all pages of a journal.
func readJournal(ctx context.Context, c *caller, id string) ([]proof.Event, error) {
	var all []proof.Event
	for since := uint64(0); ; {
		var page struct {
			Events    []proof.Event `json:"events"`
			HasMore   bool          `json:"hasMore"`
			NextSince uint64        `json:"nextSince"`
		}
		if _, _, err := c.get(ctx, fmt.Sprintf("/api/executions/%s/events?since=%d", id, since), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Events...)
		if !page.HasMore {
			return all, nil
		}
		since = page.NextSince
	}
}

func (c *collector) batch(ctx context.Context) func(id string) {
	return func(id string) {
		b := new(proof.Batch)
		_, found, err := c.caller.get(ctx, "/api/batch/"+id, b)
		if err != nil {
			c.problem(err)
		}
		if err != nil || !found {
			return // the proof misses it
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.evidence.Batches[id] = b
	}
}

// pattern looks for a pattern whose creation was acknowledged.
func (c *collector) pattern(ctx context.Context) func(name string) {
	return func(name string) {
		var p struct {
			Name       string          `json:"name"`
			Version    string          `json:"version"`
			Definition json.RawMessage `json:"definition"`
		}
		r, found, err := c.caller.get(ctx, "/api/patterns/"+name, &p)
		switch {
		case err != nil:
			c.problem(err)
		case !found || p.Name != name || p.Version != "1.0.0" || len(p.Definition) < 2:
			c.problem(fmt.Errorf("lost: pattern %s was acknowledged, and reads as %d %.200s", name, r.status, r.body))
		}
	}
}

// sendAgain sends requests with their keys again, and adds what they are answered to the promises.
func sendAgain(ctx context.Context, c *caller, t *told, requests []resend) error {
	var mu sync.Mutex
	var problems []error
	each(requests, func(q resend) {
		r, err := c.call(ctx, http.MethodPost, q.path, q.key, q.body)
		if err == nil {
			var s started
			if s, err = readStarted(r, q.want); err == nil {
				t.promise(s.fill(q.promise, q.want), nil)
			}
		}
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, fmt.Errorf("key %s sent again: %w", q.key, err))
		}
	})
	return errors.Join(problems...)
}
