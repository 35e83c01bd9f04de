package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// async starts an execution and watches it; some it cancels, some it runs again.
func (c *client) async(ctx context.Context) error {
	j, err := c.job()
	if err != nil {
		return err
	}
	return c.asyncOf(ctx, j)
}

func (c *client) asyncOf(ctx context.Context, j job) error {
	s, ok, err := c.start(ctx, "/api/patterns/"+j.pattern+"/execute?async=true", j.key, j.body, http.StatusAccepted,
		proof.Promise{Kind: proof.PromiseExecution, Input: j.input})
	if err != nil || !ok {
		return err
	}
	if c.chance(25) {
		return c.follow(ctx, &proof.Stream{ExecutionID: s.id()}, nil)
	}
	cancelAt := -1
	if c.chance(30) {
		cancelAt = c.random.IntN(4)
	}
	status, err := c.watch(ctx, s.id(), cancelAt)
	if err != nil || !c.chance(25) {
		return err
	}
	return c.again(ctx, j, s.id(), status)
}

// again runs a finished execution once more: all of it, or one that completed from its last step.
func (c *client) again(ctx context.Context, j job, id, status string) error {
	verb, body := "/retry", []byte(nil)
	if j.pattern == stepsPattern && status == "completed" && c.chance(50) {
		verb, body = "/rerun", []byte(`{"fromStep":"sign"}`)
	}
	s, ok, err := c.start(ctx, "/api/executions/"+id+verb, c.nonce(), body, http.StatusAccepted,
		proof.Promise{Kind: proof.PromiseRetry, Input: j.input, RetryOf: id})
	if err != nil || !ok {
		return err
	}
	_, err = c.watch(ctx, s.id(), -1)
	return err
}

// watch reads an execution until it is over, and cancels it at the given look (-1: never). It returns how the
// execution ended.
func (c *client) watch(ctx context.Context, id string, cancelAt int) (status string, err error) {
	for look := 0; ; look++ {
		if look == cancelAt {
			if err := c.cancel(ctx, id); err != nil {
				return "", err
			}
		}
		var e proof.Execution
		path := "/api/executions/" + id
		r, found, err := c.caller.get(ctx, path, &e)
		if err != nil {
			return "", err
		}
		if !found {
			return "", &unexpectedError{"GET " + path + " of an acknowledged execution", r}
		}
		c.told.saw(proof.Sighting{
			ID: id, Sent: r.sent, Got: r.got, Status: e.Status,
			CompletedAt: e.CompletedAt, CancelledAt: e.CancelledAt, Result: e.Result,
		})
		if over(e.Status) {
			return e.Status, nil
		}
		if !pause(ctx, time.Duration(5+c.random.IntN(25))*time.Millisecond) {
			return "", fmt.Errorf("execution %s was still %s when the round's time was over", id, e.Status)
		}
	}
}

func over(status string) bool { return status != "pending" && status != "running" }

// cancel cancels an execution. It is safe to repeat: the first outcome stands.
func (c *client) cancel(ctx context.Context, id string) error {
	path := "/api/executions/" + id + "/cancel"
	for {
		r, err := c.caller.call(ctx, http.MethodPost, path, "", []byte(`{"reason":"the rig cancels"}`))
		switch {
		case errors.Is(err, errLost):
			continue
		case err != nil:
			return err
		case r.status == http.StatusConflict: // it is over
			c.told.refuse()
			return nil
		case r.status != http.StatusOK:
			return &unexpectedError{"POST " + path, r}
		}
		var e proof.Execution
		if err := r.into(&e); err != nil {
			return err
		}
		c.told.promise(proof.Promise{Kind: proof.PromiseCancel, ID: id, CancelledAt: e.CancelledAt}, nil)
		return nil
	}
}

// pattern makes a pattern and runs it once.
func (c *client) pattern(ctx context.Context) error {
	name := madePrefix + strings.ToLower(c.nonce())
	body, err := json.Marshal(map[string]string{"definition": madeSource(name)})
	if err != nil {
		return err
	}
	if err := c.create(ctx, name, body); err != nil {
		return err
	}
	c.told.made(name)
	j, err := c.jobOf(name, false)
	if err != nil {
		return err
	}
	return c.asyncOf(ctx, j)
}

// create stores a pattern. When the core died over the request, a conflict says that it was stored.
func (c *client) create(ctx context.Context, name string, body []byte) error {
	lost := false
	for {
		r, err := c.caller.call(ctx, http.MethodPost, "/api/patterns", "", body)
		switch {
		case errors.Is(err, errLost):
			lost = true
			continue
		case err != nil:
			return err
		case r.status == http.StatusCreated, r.status == http.StatusConflict && lost:
			return nil
		}
		return &unexpectedError{"POST /api/patterns " + name, r}
	}
}
