package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/scripts/demo/classifier"
	"github.com/wardroom/wardroom/sdk/client"
)

// The server is killed once killFrom of the items are done; by killUntil it is too late to show anything.
const (
	killFrom  = 0.35
	killUntil = 0.75
)

// batchInputs encodes the items as the batch file: what the agents may see, without the gold labels.
func batchInputs(items []classifier.Example) ([]byte, error) {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	for _, item := range items {
		if err := lines.Encode(map[string]string{"id": item.ID, "text": item.Text}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// batch runs the corpus through the command line, kills the server meanwhile and starts it again, and
// collects the outcome.
func (d *demo) batch(ctx context.Context) (*outcome, error) {
	d.title("A batch of %d messages, with a kill -9 of the server in the middle", len(d.items))
	args := []string{"batch", "run", d.path("inputs.jsonl"), "--pattern", pattern,
		"--concurrency", fmt.Sprint(d.opts.concurrency), "--rows", "0"}
	d.say("$ wardroom batch run inputs.jsonl --pattern %s --concurrency %d", pattern, d.opts.concurrency)
	runCtx, cancel := context.WithCancel(ctx)
	cmd := d.command(runCtx, args...)
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	id, err := d.crash(ctx)
	if err != nil {
		cancel()
		return nil, errors.Join(err, <-ended)
	}
	// The command bears the outage and ends with the batch.
	err = <-ended
	cancel()
	if err != nil {
		return nil, fmt.Errorf("wardroom batch run: %w", err)
	}
	return d.collect(ctx, id)
}

// crash waits for the middle of the batch, kills the server, starts it again and returns the batch's id.
func (d *demo) crash(ctx context.Context) (id string, err error) {
	var before *client.Batch
	err = d.until(ctx, "the batch is in its middle", func(ctx context.Context) (bool, error) {
		if id == "" {
			var err error
			id, err = d.findBatch(ctx)
			return false, err
		}
		var err error
		before, err = d.server.Client.GetBatch(ctx, id)
		return err == nil && float64(before.Completed+before.Failed) >= killFrom*float64(before.Total), err
	})
	if err != nil {
		return id, err
	}
	pid, err := d.kill()
	if err != nil {
		return id, err
	}
	done := before.Completed + before.Failed
	d.say("\n-- kill -9 %d with %d of %d messages done", pid, done, before.Total)
	if float64(done) >= killUntil*float64(before.Total) {
		return id, fmt.Errorf("the batch was too quick: %d of %d were done at the kill", done, before.Total)
	}
	if err := d.startServer(ctx); err != nil {
		return id, err
	}
	if err := d.waitAgents(ctx); err != nil {
		return id, err
	}
	after, err := d.server.Client.GetBatch(ctx, id)
	if err != nil {
		return id, err
	}
	d.say("-- the server knows of %d messages done\n", after.Completed+after.Failed)
	if after.Completed+after.Failed < done {
		return id, fmt.Errorf("the server forgot finished work: %d were done, now %d", done, after.Completed+after.Failed)
	}
	return id, nil
}

// findBatch returns the id of the batch that the newest execution belongs to, or "" while there is none.
func (d *demo) findBatch(ctx context.Context) (string, error) {
	list, err := d.server.Client.ListExecutions(ctx, client.ExecutionFilter{Pattern: pattern, Page: client.Page{Limit: 1}})
	if err != nil || len(list.Executions) == 0 {
		return "", err
	}
	newest, err := d.server.Client.GetExecution(ctx, list.Executions[0].ExecutionID)
	if err != nil {
		return "", err
	}
	return newest.BatchID, nil
}

// collect reads the outcome of the batch and of each of its executions.
func (d *demo) collect(ctx context.Context, id string) (*outcome, error) {
	from := time.Now()
	batch, err := d.server.Client.GetBatch(ctx, id)
	if err != nil {
		return nil, err
	}
	if batch.Status != client.StatusCompleted || batch.Failed != 0 || batch.Completed != len(d.items) {
		return nil, fmt.Errorf("batch %s is %s with %d of %d completed and %d failed",
			id, batch.Status, batch.Completed, len(d.items), batch.Failed)
	}
	if len(batch.Results) != len(d.items) {
		return nil, fmt.Errorf("batch %s lists %d results for %d items", id, len(batch.Results), len(d.items))
	}
	methods := make(map[string]string) // by agent id
	for a, err := range d.server.Client.Agents(ctx, client.AgentFilter{}) {
		if err != nil {
			return nil, err
		}
		methods[a.ID] = a.Name
	}
	o := &outcome{batchID: id}
	for _, r := range batch.Results {
		exec, err := d.server.Client.GetExecution(ctx, r.ExecutionID)
		if err != nil {
			return nil, err
		}
		row, err := newRow(d.items, r.Index, exec, methods)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", r.Index, err)
		}
		o.rows = append(o.rows, row)
	}
	d.say("read %d executions back in %d ms", len(o.rows), time.Since(from).Milliseconds())
	return o, nil
}
