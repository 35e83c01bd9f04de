package overview

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/encode"
)

// countPause is the least time between two computations of the numbers that are followed.
const countPause = 500 * time.Millisecond

var _ core.CountFeed = (*Counter)(nil)

// CounterOptions are what a Counter is made of. All fields are required.
type CounterOptions struct {
	// Counts computes the numbers.
	Counts func(ctx context.Context) (*core.OverviewCounts, error)
	// Publish hands live-only events to whoever follows all events. It does not block.
	Publish func(events []core.Event)
	Clock   core.Clock
	Logger  hclog.Logger
}

// Counter implements core.CountFeed. It computes while somebody follows and something happened, once for all who follow, and at most
// twice a second. Methods are safe for concurrent use.
type Counter struct {
	opts   CounterOptions
	ctx    context.Context // of computations; ends in Close
	cancel context.CancelFunc
	done   sync.WaitGroup // timers that are set, or run

	reading sync.Mutex // held during a computation; taken before mu

	mu        sync.Mutex // guards all below
	followers int
	stale     bool      // something happened since the last computation began
	next      time.Time // when the next one may begin
	now       *core.OverviewCounts
	data      []byte     // now as JSON, without its time
	timer     core.Timer // for the next computation; or nil
	closed    bool
}

// NewCounter makes a counter. It starts nothing; Close ends it.
func NewCounter(o CounterOptions) *Counter {
	c := &Counter{opts: o}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Touch reports that something happened by which numbers may have changed, and which can be read by now. It does not block.
func (c *Counter) Touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followers > 0 {
		c.stale = true
		c.schedule()
	}
}

// schedule sets the timer if a computation is due. mu is held.
func (c *Counter) schedule() {
	if c.timer != nil || !c.stale || c.followers == 0 || c.closed {
		return
	}
	c.done.Add(1)
	c.timer = c.opts.Clock.AfterFunc(max(0, c.next.Sub(c.opts.Clock.Now())), func() {
		defer c.done.Done()
		c.mu.Lock()
		c.timer = nil
		c.mu.Unlock()
		c.reading.Lock()
		defer c.reading.Unlock()
		if err := c.refresh(); err != nil && c.ctx.Err() == nil {
			c.opts.Logger.Debug("what there is cannot be counted", "error", err)
		}
	})
}

// refresh computes the numbers, and tells of them if they changed. reading is held.
func (c *Counter) refresh() error {
	c.mu.Lock()
	c.stale, c.next = false, c.opts.Clock.Now().Add(countPause)
	c.mu.Unlock()
	now, err := c.opts.Counts(c.ctx)
	var data []byte
	if err == nil {
		plain := *now
		plain.At = time.Time{}
		data, err = encode.Answered.Marshal(plain)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.stale = true
		c.schedule() // it is tried again
		return err
	}
	changed := c.now != nil && !bytes.Equal(data, c.data)
	c.now, c.data = now, data
	if !changed {
		return nil
	}
	if data, err = encode.Answered.Marshal(now); err != nil {
		return err
	}
	c.opts.Publish([]core.Event{{Type: core.EventCounts, Time: now.At, Data: data}})
	return nil
}

// FollowCounts implements core.CountFeed. Numbers that were computed within the last half second are taken for those of now: what
// changed since is told within another.
func (c *Counter) FollowCounts(ctx context.Context) (*core.OverviewCounts, func(), error) {
	c.mu.Lock()
	if c.followers == 0 {
		c.stale = true // nobody told of what happened meanwhile
	}
	c.followers++
	c.mu.Unlock()
	var once sync.Once
	leave := func() { once.Do(c.leave) }
	now, err := c.current()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return now, leave, nil
}

// current returns the numbers as they are known, or computes them if that is due.
func (c *Counter) current() (*core.OverviewCounts, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.mu.Lock()
	due := c.now == nil || c.stale && !c.opts.Clock.Now().Before(c.next)
	if !due {
		c.schedule()
	}
	now := c.now
	c.mu.Unlock()
	if !due {
		return now, nil
	}
	if err := c.refresh(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, nil
}

func (c *Counter) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followers--; c.followers == 0 && c.timer != nil && c.timer.Stop() {
		c.timer = nil
		c.done.Done()
	}
}

// Close ends all computations and joins them. Safe to call twice.
func (c *Counter) Close() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil && c.timer.Stop() {
		c.done.Done()
	}
	c.timer = nil
	c.mu.Unlock()
	c.cancel()
	c.done.Wait()
}
