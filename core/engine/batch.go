package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wardroom/wardroom/core"
)

// StartBatch implements core.BatchService. The inputs are stored in pieces and the batch last, so that
// the batch exists only when all of it does.
func (e *Engine) StartBatch(ctx context.Context, req core.BatchRequest) (*core.Batch, error) {
	config := e.config.Load()
	pattern, plan, err := e.patterns.Resolve(ctx, req.Pattern, req.Version)
	if err != nil {
		return nil, err
	}
	if err := mayRun(core.PrincipalFrom(ctx), pattern.Name, plan.Definition()); err != nil {
		return nil, err
	}
	if err := checkBatch(req, plan.Definition(), config); err != nil {
		return nil, err
	}
	if config.RequireConsent {
		if err := core.CheckConsent(req.Options.Metadata, "options.metadata"); err != nil {
			return nil, err
		}
	}
	if !e.accepting() {
		return nil, errShuttingDown()
	}
	pins, err := e.pin(ctx, plan, nil, []string{pattern.Name})
	if err != nil {
		return nil, err
	}
	concurrency := cmp.Or(req.Concurrency, core.DefaultBatchConcurrency)
	now := e.clock.Now()
	b := &core.Batch{
		ID: e.ids.New(core.PrefixBatch), Status: core.BatchRunning, Total: len(req.Inputs),
		Pattern: core.PatternRef{Name: pattern.Name, Version: pattern.Version},
		Hash:    pattern.Hash, Pins: pins,
		Concurrency: concurrency, StopOnError: req.StopOnError, Options: req.Options,
		CreatedBy: core.PrincipalFrom(ctx).ID, CreatedAt: now, Trace: core.TraceFrom(ctx).String(),
	}
	if err := e.holdItems(b.CreatedBy, b.Total); err != nil {
		return nil, err
	}
	detached := context.WithoutCancel(ctx)
	// The request is recorded with the batch, which its record names, and not with what is stored before.
	if err := e.storeInputs(core.WithAuditIntent(detached, nil), b.ID, req.Inputs); err != nil {
		e.releaseItems(b.CreatedBy, b.Total)
		return nil, err
	}
	claim := core.IdempotencyFrom(ctx)
	copied := *b
	events := []core.Event{batchEvent(core.EventBatchStarted, &copied, now)}
	err = e.store.Update(detached, func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(claim, b.ID, now); err != nil {
			return err
		}
		if err := tx.PutBatch(&copied); err != nil {
			return err
		}
		return tx.Append(events...)
	})
	if errors.Is(err, core.ErrInDoubt) {
		e.unsettled.Store(b.ID, true)
		if e.later(func() { e.settleBatch(b, events[0]) }) {
			return nil, err
		}
	}
	if err != nil {
		e.releaseItems(b.CreatedBy, b.Total)
		return nil, err
	}
	snapshot := *b
	e.launchBatch(b)
	return &snapshot, nil
}

// settleBatch has a batch go on, or gives back what it held, whose first commit is in doubt, once it is known whether it is stored.
func (e *Engine) settleBatch(b *core.Batch, first core.Event) {
	defer e.unsettled.Delete(b.ID)
	switch stored, ok := e.landed(first); {
	case stored:
		e.launchBatch(b)
	case ok:
		e.releaseItems(b.CreatedBy, b.Total)
	}
}

// inputPiece bounds the bytes of inputs that one transaction stores.
const inputPiece = 256 << 10

func (e *Engine) storeInputs(ctx context.Context, id string, inputs []json.RawMessage) error {
	for from := 0; from < len(inputs); {
		to, size := from, 0
		for to < len(inputs) && (to == from || size+len(inputs[to]) <= inputPiece) {
			size += len(inputs[to])
			to++
		}
		piece, first := inputs[from:to], from
		err := e.store.Update(ctx, func(tx core.Tx) error {
			for i, input := range piece {
				if err := tx.PutBatchInput(id, first+i, input); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// checkBatch validates what concerns the whole batch; a bad item fails alone, when its turn comes.
func checkBatch(req core.BatchRequest, d *core.Definition, config *Config) error {
	var problems []core.Problem
	add := func(path, format string, args ...any) {
		problems = append(problems, core.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
	}
	switch {
	case len(req.Inputs) == 0:
		add("inputs", "must hold at least one input")
	case len(req.Inputs) > config.MaxBatchInputs:
		add("inputs", "must hold at most %d inputs; it holds %d", config.MaxBatchInputs, len(req.Inputs))
	}
	for i, input := range req.Inputs {
		if !isJSONObject(input) {
			add(fmt.Sprintf("inputs[%d]", i), "must be an object")
		}
	}
	if req.Concurrency < 0 || req.Concurrency > core.MaxBatchConcurrency {
		add("options.concurrency", "must be 1 to %d", core.MaxBatchConcurrency)
	}
	if _, err := checkOptions(req.Options, d, config); err != nil {
		if list, ok := core.AsError(err).Details["errors"].([]core.Problem); ok {
			problems = append(problems, list...)
		}
	}
	return core.InvalidAll("invalid batch", problems)
}

func (e *Engine) accepting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state == stateOpen
}

// FindBatch implements core.BatchService.
func (e *Engine) FindBatch(ctx context.Context, id string) (*core.Batch, error) {
	return e.store.FindBatch(ctx, id)
}

// FindBatches implements core.BatchService.
func (e *Engine) FindBatches(ctx context.Context, filter core.BatchFilter) ([]*core.Batch, core.PageInfo, error) {
	return e.store.FindBatches(ctx, filter)
}

// CancelBatch implements core.BatchService.
func (e *Engine) CancelBatch(ctx context.Context, id string) (*core.Batch, error) {
	e.mu.Lock()
	run := e.batches[id]
	e.mu.Unlock()
	if run != nil {
		if e.writable.down.Load() {
			return nil, e.writable.reason() // and nothing has changed
		}
		refused := e.writable.refusal()
		run.cancelOnce.Do(func() {
			run.cancelledBy = core.PrincipalFrom(ctx).ID
			close(run.cancelled)
		})
		select {
		case <-run.done:
		case <-refused: // it is cancelled once the store takes writes again
			return nil, e.writable.reason()
		case <-e.quit:
			return nil, errShuttingDown()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	b, err := e.FindBatch(ctx, id)
	if err != nil {
		return nil, err
	}
	switch b.Status {
	case core.BatchCancelled:
		return b, nil
	case core.BatchRunning:
		if e.stopping() || !e.accepting() {
			return nil, errShuttingDown()
		}
		if _, ok := e.unsettled.Load(id); ok {
			return nil, core.Unavailable("batch_begins", "batch %s has not begun yet: try again in a moment", id)
		}
		return nil, core.Conflict("batch", id, string(b.Status), "batch %s was set aside: its end cannot be stored; it is tried again after a restart", id)
	}
	return nil, core.Conflict("batch", id, string(b.Status), "batch %s is %s already and cannot be cancelled", id, b.Status)
}
