package events

import (
	"cmp"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/wardroom/wardroom/core"
)

// Bounds of a subscription when its options leave them 0.
const (
	DefaultMaxEvents = 1024
	DefaultMaxBytes  = 1 << 20
)

// shards is the number of parts of the table of names; a power of two.
const shards = 64

// Options configure a bus. The zero value is fine.
type Options struct {
	// MaxEvents and MaxBytes bound the buffer of each subscription that does not say otherwise.
	MaxEvents int
	MaxBytes  int
}

// Bus hands events to subscribers. All methods are safe for concurrent use.
type Bus struct {
	opts    Options
	seed    maphash.Seed
	shards  [shards]shard
	all     shard // subscribers of every subject, under ""
	closed  atomic.Bool
	dropped atomic.Int64
}

// shard holds the subscribers of some names, which are subjects or groups.
type shard struct {
	count atomic.Int64 // of subscribers; lets Publish pass by without the lock
	mu    sync.RWMutex // guards subs
	subs  map[string]map[*Subscription]struct{}
	_     [64]byte // shards do not share a cache line
}

// New returns a bus.
func New(opts Options) *Bus {
	opts.MaxEvents = cmp.Or(max(opts.MaxEvents, 0), DefaultMaxEvents)
	opts.MaxBytes = cmp.Or(max(opts.MaxBytes, 0), DefaultMaxBytes)
	return &Bus{opts: opts, seed: maphash.MakeSeed()}
}

// Publish hands events to the subscribers of their subjects and groups, in order. It does not block and keeps
// neither the slice nor, without subscribers, the events. Calls for one subject or group must not overlap if their
// order matters.
func (b *Bus) Publish(events []core.Event) {
	for i := range events {
		e := &events[i]
		if sh := b.shard(e.Subject); sh.count.Load() > 0 {
			sh.publish(e.Subject, e)
		}
		if e.Group != "" {
			if sh := b.shard(e.Group); sh.count.Load() > 0 {
				sh.publish(e.Group, e)
			}
		}
		if b.all.count.Load() > 0 {
			b.all.publish("", e)
		}
	}
}

func (sh *shard) publish(name string, e *core.Event) {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	for sub := range sh.subs[name] {
		sub.put(e)
	}
}

// SubscribeOptions bound the buffer of one subscription; 0 means the bus's own bounds.
type SubscribeOptions struct {
	MaxEvents int
	MaxBytes  int // of Data, plus a fixed cost per event
}

// Subscribe returns a subscription to the events of a subject or a group from now on; "" means all subjects. After
// Close of the bus it returns a subscription that has ended with shutting_down.
func (b *Bus) Subscribe(subject string, opts SubscribeOptions) *Subscription {
	opts.MaxEvents = cmp.Or(max(opts.MaxEvents, 0), b.opts.MaxEvents)
	opts.MaxBytes = cmp.Or(max(opts.MaxBytes, 0), b.opts.MaxBytes)
	sub := &Subscription{bus: b, subject: subject, opts: opts, ready: make(chan struct{}, 1)}
	sh := &b.all
	if subject != "" {
		sh = b.shard(subject)
	}
	sub.shard = sh
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if b.closed.Load() {
		sub.end(errShutdown)
		return sub
	}
	if sh.subs == nil {
		sh.subs = map[string]map[*Subscription]struct{}{}
	}
	set := sh.subs[subject]
	if set == nil {
		set = map[*Subscription]struct{}{}
		sh.subs[subject] = set
	}
	set[sub] = struct{}{}
	sh.count.Add(1)
	return sub
}

func (b *Bus) shard(subject string) *shard {
	return &b.shards[maphash.String(b.seed, subject)&(shards-1)]
}

// remove takes a subscription out of the table; safe to call twice.
func (sh *shard) remove(sub *Subscription) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	set := sh.subs[sub.subject]
	if _, ok := set[sub]; !ok {
		return
	}
	delete(set, sub)
	if len(set) == 0 {
		delete(sh.subs, sub.subject)
	}
	sh.count.Add(-1)
}

// Stats counts the subscribers of a bus.
type Stats struct {
	Subscribers int
	Dropped     int64 // subscribers that were too slow, since the start
}

// Stats returns the bus's figures.
func (b *Bus) Stats() Stats {
	n := b.all.count.Load()
	for i := range b.shards {
		n += b.shards[i].count.Load()
	}
	return Stats{Subscribers: int(n), Dropped: b.dropped.Load()}
}

// Close ends every subscription with shutting_down once it read what it has. Safe to call twice.
func (b *Bus) Close() {
	b.closed.Store(true)
	b.all.close()
	for i := range b.shards {
		b.shards[i].close()
	}
}

func (sh *shard) close() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, set := range sh.subs {
		for sub := range set {
			sub.end(errShutdown)
		}
	}
	sh.subs = nil
	sh.count.Store(0)
}
