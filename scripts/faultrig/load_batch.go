package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// batch runs a batch and watches it; some it cancels, and some have an item that the pattern refuses.
func (c *client) batch(ctx context.Context) error {
	nonce := c.nonce()
	all := allWorkloads()
	pattern := all[c.random.IntN(len(all))].name
	inputs := make([]json.RawMessage, 5+c.random.IntN(15))
	for i := range inputs {
		inputs[i] = taskInput{Text: fmt.Sprintf("%s[%d]", nonce, i), Delay: c.random.IntN(20)}.raw()
	}
	if c.chance(20) {
		inputs[c.random.IntN(len(inputs))] = json.RawMessage(`{"delay":1}`)
	}
	options := c.options(nonce)
	options["concurrency"] = 1 + c.random.IntN(8)
	body, err := json.Marshal(map[string]any{"pattern": pattern, "inputs": inputs, "options": options})
	if err != nil {
		return err
	}
	s, ok, err := c.start(ctx, "/api/batch/execute", nonce, body, http.StatusAccepted,
		proof.Promise{Kind: proof.PromiseBatch, Inputs: inputs})
	if err != nil || !ok {
		return err
	}
	cancelAt := -1
	if c.chance(20) {
		cancelAt = c.random.IntN(10)
	}
	return c.watchBatch(ctx, s.id(), cancelAt)
}

// watchBatch reads a batch until it is over, and cancels it at the given look (-1: never).
func (c *client) watchBatch(ctx context.Context, id string, cancelAt int) error {
	path := "/api/batch/" + id
	for look := 0; ; look++ {
		var b proof.Batch
		r, found, err := c.caller.get(ctx, path, &b)
		if err != nil {
			return err
		}
		if !found {
			return &unexpectedError{"GET " + path + " of an acknowledged batch", r}
		}
		c.sawBatch(r, b)
		if over(b.Status) {
			return nil
		}
		if look == cancelAt {
			if err := c.cancelBatch(ctx, id); err != nil {
				return err
			}
		}
		if !pause(ctx, time.Duration(10+c.random.IntN(40))*time.Millisecond) {
			return fmt.Errorf("batch %s was still %s when the round's time was over", id, b.Status)
		}
	}
}

func (c *client) sawBatch(r reply, b proof.Batch) {
	c.told.saw(proof.Sighting{ID: b.ID, Sent: r.sent, Got: r.got, Status: b.Status, Done: b.Completed + b.Failed + b.Cancelled})
}

// cancelBatch cancels a batch. The answer is a sighting: it says that the batch is cancelled.
func (c *client) cancelBatch(ctx context.Context, id string) error {
	path := "/api/batch/" + id + "/cancel"
	for {
		r, err := c.caller.call(ctx, http.MethodPost, path, "", nil)
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
		var b proof.Batch
		if err := r.into(&b); err != nil {
			return err
		}
		c.sawBatch(r, b)
		return nil
	}
}
