package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// Pauses between two looks at a batch; a slow answer stretches the pause.
const (
	batchPause    = 200 * time.Millisecond
	batchMaxPause = 3 * time.Second
)

// batchFollower watches one batch.
type batchFollower struct {
	c     *cli
	api   *client.Client
	id    string
	wait  time.Duration // of an outage
	known bool          // the server has answered for this batch before: an outage is worth waiting for
	pause time.Duration // before the next look
	whole bool          // the next look is at all results
}

// followBatch shows the progress of a batch until it is over, then its results. The server may go away and
// come back; a signal ends the watching only. started says that this command began the batch.
func (c *cli) followBatch(ctx context.Context, api *client.Client, id string, started bool, flags watchFlags) error {
	f := &batchFollower{c: c, api: api, id: id, wait: flags.wait, known: started}
	batch, err := f.run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return &interruption{cause: err, hint: fmt.Sprintf("the batch goes on; follow it with "+
				"`wardroom batch watch %s`, end it with `wardroom batch cancel %s`", clean(id), clean(id))}
		}
		return err
	}
	if err := c.show(batch.Body, func(s *screen) { batchScreen(s, batch, flags.rows) }); err != nil {
		return err
	}
	return batchOutcome(batch)
}

// run looks at the batch until it is over.
func (f *batchFollower) run(ctx context.Context) (*client.Batch, error) {
	batch, err := f.look(ctx)
	if err != nil {
		return nil, err
	}
	shown := newProgress(f.c.deps.Stderr, batch.Total)
	defer shown.finish()
	for {
		shown.update(batch)
		if client.Terminal(batch.Status) {
			f.whole = true
			return f.look(ctx)
		}
		if err := pauseFor(ctx, f.pause); err != nil {
			return nil, err
		}
		if batch, err = f.look(ctx); err != nil {
			return nil, err
		}
	}
}

// look reads the batch, bearing an outage of the server.
func (f *batchFollower) look(ctx context.Context) (*client.Batch, error) {
	var batch *client.Batch
	try := func() (err error) {
		ctx, cancel := f.c.bounded(ctx)
		defer cancel()
		start := time.Now()
		if f.whole {
			batch, err = f.api.GetBatch(ctx, f.id)
		} else {
			batch, err = f.api.GetBatchPage(ctx, f.id, client.Page{Limit: 1})
		}
		f.pause = min(max(batchPause, 4*time.Since(start)), batchMaxPause)
		return f.c.unanswered(ctx, f.api, err)
	}
	if !f.known {
		f.known = true
		err := f.c.persist(ctx, f.wait, try)
		return batch, err
	}
	err := f.c.outlive(ctx, f.wait, try)
	return batch, err
}

// batchOutcome makes the exit code of a batch that is over.
func batchOutcome(b *client.Batch) error {
	switch {
	case b.Status == client.StatusCancelled:
		return &outcomeError{code: exitFailed, message: fmt.Sprintf("batch %s cancelled", b.BatchID)}
	case b.Status == client.StatusFailed:
		return &outcomeError{code: exitFailed, message: fmt.Sprintf("batch %s failed: it stopped at its first error", b.BatchID)}
	case b.Failed > 0:
		return &outcomeError{code: exitFailed, message: fmt.Sprintf("%d of %s failed", b.Failed, count(b.Total, "item"))}
	case b.Cancelled > 0:
		return &outcomeError{code: exitFailed, message: fmt.Sprintf("%d of %s cancelled", b.Cancelled, count(b.Total, "item"))}
	}
	return nil
}
