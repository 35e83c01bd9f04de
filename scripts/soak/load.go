package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

const patternName = "soak"

const patternSource = `name: soak
version: 1.0.0
input:
  n: {type: integer, required: true}
  size: {type: integer, required: true}
  text: {type: string, required: true}
agents: {capabilities: [work], min: 1, max: 2, taskTimeout: 60000}
execution: {strategy: race}
aggregation: {strategy: first}
output: {text: $first.text}
`

// clients is how many requests are under way at once.
const clients = 8

// input is that of an execution. Text is as large as the result is to be.
type input struct {
	N    int    `json:"n"`
	Size int    `json:"size"`
	Text string `json:"text"`
}

// answer is the work of all agents.
func answer(_ context.Context, task *agent.Task) (any, error) {
	var in input
	if err := json.Unmarshal(task.Input, &in); err != nil {
		return nil, err
	}
	return map[string]any{"text": text(in.N+1, in.Size), "confidence": 0.9}, nil
}

// text returns so many bytes that do not compress well, the same for the same number.
func text(n, size int) string {
	random := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
	raw := make([]byte, size*3/4)
	_, _ = random.Read(raw) // never fails
	return base64.StdEncoding.EncodeToString(raw)
}

// sizeOf returns the size of the bodies of an execution: of each 200, one is of 600 KiB, five of 64 KiB, all others of 1 KiB.
func sizeOf(n int) int {
	switch {
	case n%200 == 0:
		return 600 << 10
	case n%40 == 1:
		return 64 << 10
	}
	return 1 << 10
}

// run makes executions from one number up to another, each with a key, and a batch of ten.
func (b *box) run(ctx context.Context, from, to int) error {
	next := atomic.Int64{}
	next.Store(int64(from))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= to {
					return
				}
				if err := b.execute(ctx, n); err != nil {
					cancel(fmt.Errorf("execution %d: %w", n, err))
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return b.batch(ctx, from)
}

func (b *box) execute(ctx context.Context, n int) error {
	size := sizeOf(n)
	raw, err := json.Marshal(input{n, size, text(n, size)})
	if err != nil {
		return err
	}
	var e *client.Execution
	err = testbed.Until(ctx, settle, "agents are there", func(ctx context.Context) (bool, error) { // they come back after a jump of the clock
		e, err = b.Client.Execute(ctx, client.ExecuteRequest{
			Pattern: patternName, Input: raw, IdempotencyKey: fmt.Sprintf("soak-%d", n),
			Options: client.ExecuteOptions{Metadata: map[string]any{"n": n}},
		})
		var known *client.Error
		if errors.As(err, &known) && known.Code == client.CodeNoAgents {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if e.Status != "completed" || !bytes.Contains(e.Result, []byte(text(n+1, size))) {
		return fmt.Errorf("it is %s with %.200s", e.Status, e.Result)
	}
	return nil
}

func (b *box) batch(ctx context.Context, n int) error {
	var inputs []json.RawMessage
	for i := range 10 {
		raw, err := json.Marshal(input{n + i, 1 << 10, text(n+i, 1<<10)})
		if err != nil {
			return err
		}
		inputs = append(inputs, raw)
	}
	started, err := b.Client.StartBatch(ctx, client.BatchRequest{Pattern: patternName, Inputs: inputs, IdempotencyKey: fmt.Sprintf("soak-batch-%d", n)})
	if err != nil {
		return err
	}
	return testbed.Until(ctx, settle, fmt.Sprintf("batch %s ends", started.BatchID), func(ctx context.Context) (bool, error) {
		now, err := b.Client.GetBatch(ctx, started.BatchID)
		if err == nil && now.Failed+now.Cancelled > 0 {
			err = fmt.Errorf("%d of its executions failed, and %d were cancelled", now.Failed, now.Cancelled)
		}
		return err == nil && now.Completed == len(inputs), err
	})
}
