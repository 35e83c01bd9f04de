package runtimes

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
)

var _ core.ManagedAgentService = (*Service)(nil)

// Service implements core.ManagedAgentService. Make it with New, start it with Open, end it with Close: agents
// live on.
type Service struct {
	opts    Options
	log     hclog.Logger
	sources atomic.Pointer[[]*source] // by priority; replaced, never changed

	ctx    context.Context // of the followers and terminals; ends in Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // followers, the sweep, terminals

	draining context.Context // of sends, and of spawns that wait for a runtime; ends in Drain
	drain    context.CancelFunc

	// writing is held over each change, its transaction included, so that changes of one record never cross.
	writing sync.Mutex

	mu      sync.RWMutex                        // guards all below
	agents  map[string]*core.ManagedAgentRecord // values are replaced, never changed
	ordered []string                            // ids, oldest first
	// pending are agents whose spawn has not been answered: recovery leaves them alone. Closed when it has been.
	pending map[string]chan struct{}
	// restarting counts the restarts under way: such an agent is not forgotten, however long ago it stopped.
	restarting map[string]int
	// ended is the last turn of each agent whose end can be read as an event: its Turn may be ahead of that. moved is closed, and
	// replaced, with each change of it.
	ended map[string]int
	moved chan struct{}
	// answering is the prompt of each agent that is being given the answer of the policy.
	answering map[string]string
	// away are agents that their runtime could not reach, or not stop, when it was asked last; the sweep asks again.
	away map[string]bool

	audience audience // of terminals

	asks chan struct{} // holds one: agents that are away are to be looked for now
}

// source is a configured runtime and how it is.
type source struct {
	Source
	tried chan struct{} // closed when the first attempt to reach it is over, or takes longer than firstGrace
	once  sync.Once     // of closing tried

	mu        sync.Mutex // guards all below
	connected bool       // its events are being followed
	reason    string     // why not
	caps      runtime.Capabilities
	position  core.RuntimePosition // up to which its events are stored; set before Run, then by its follower only
	doubted   *doubted             // its events that may be stored beyond that, or nil; used by its follower only
}

// New makes a service. It starts nothing.
func New(o Options) *Service {
	o.Clock = cmp.Or[core.Clock](o.Clock, core.SystemClock{})
	o.IDs = cmp.Or[core.IDs](o.IDs, core.NewIDs(o.Clock))
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Older == nil {
		o.Older = core.OlderBy(o.Clock)
	}
	o.KeepStopped = cmp.Or(max(o.KeepStopped, 0), defaultKeep)
	o.OrphanGrace = cmp.Or(max(o.OrphanGrace, 0), defaultGrace)
	s := &Service{
		opts: o, log: o.Logger, agents: make(map[string]*core.ManagedAgentRecord), pending: make(map[string]chan struct{}),
		restarting: make(map[string]int), ended: make(map[string]int), moved: make(chan struct{}), away: make(map[string]bool),
		answering: make(map[string]string), asks: make(chan struct{}, 1),
	}
	s.sources.Store(&[]*source{})
	for _, src := range o.Sources {
		s.join(src)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.draining, s.drain = context.WithCancel(s.ctx)
	return s
}

// Open loads the records and begins to follow the runtimes. Agents whose runtime is not there show as
// unreachable until it is.
func (s *Service) Open(ctx context.Context) error {
	records, err := s.opts.Store.AllManagedAgents(ctx)
	if err != nil {
		return err
	}
	positions, err := s.opts.Store.RuntimePositions(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for _, r := range records {
		s.agents[r.ID] = r
		s.ordered = append(s.ordered, r.ID)
		s.ended[r.ID] = r.Turn
	}
	s.mu.Unlock()
	for _, src := range s.configured() {
		s.attach(src, positions)
	}
	s.wg.Go(s.sweepOften)
	s.wg.Go(s.askOften)
	return nil
}

// configured returns the runtimes by priority.
func (s *Service) configured() []*source { return *s.sources.Load() }

// join makes a runtime one of those that requests may name. Calls do not overlap.
func (s *Service) join(from Source) *source {
	src := &source{Source: from, tried: make(chan struct{}), reason: "not connected yet"}
	all := append(slices.Clone(s.configured()), src)
	slices.SortStableFunc(all, func(a, b *source) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), strings.Compare(a.Name, b.Name))
	})
	s.sources.Store(&all)
	return src
}

// attach begins to follow a runtime, from the position where that ended when it was there before.
func (s *Service) attach(src *source, positions map[string]core.RuntimePosition) {
	src.position = positions[src.Name]
	s.wg.Go(func() {
		s.follow(src)
	})
}

// Join adds a runtime to a service that is open. Agents that an earlier process had there are found again. CONFLICT for a name
// that there is. Calls do not overlap each other or Close.
func (s *Service) Join(ctx context.Context, from Source) error {
	if s.source(from.Name) != nil {
		return core.Conflict("runtime", from.Name, "", "the runtime %s is there already", from.Name)
	}
	positions, err := s.opts.Store.RuntimePositions(ctx)
	if err != nil {
		return err
	}
	s.attach(s.join(from), positions)
	return nil
}

// Drain refuses further sends and answers those that wait: a turn may take longer than the service has. What an
// agent was not given yet it is not given any more; its work goes on. Safe to call twice.
func (s *Service) Drain() { s.drain() }

// Close stops following and closes terminals. It ends no agent. Safe to call twice.
func (s *Service) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.wg.Wait()
}

// record returns the stored record of an agent.
func (s *Service) record(id string) (*core.ManagedAgentRecord, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, ok := s.agents[id]
	if !ok {
		return nil, core.NotFound("managed agent", id)
	}
	return r, nil
}

// put makes a stored record the present one. It is called after the commit and before anybody is shown the events:
// see core.Tx.AfterCommit.
func (s *Service) put(r *core.ManagedAgentRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.agents[r.ID]; !ok {
		s.ordered = append(s.ordered, r.ID)
	}
	s.agents[r.ID] = r
	s.ended[r.ID] = min(s.ended[r.ID], r.Turn) // a runtime that lost its state counts from 1 again
}

// forget removes a record that is not stored any more.
func (s *Service) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.agents, id)
	delete(s.ended, id)
	delete(s.away, id)
	if i := slices.Index(s.ordered, id); i >= 0 {
		s.ordered = slices.Delete(s.ordered, i, i+1)
	}
}

// change stores a changed copy of a record, with events, and makes it the present one. change gets the copy and
// returns whether there is anything to store.
func (s *Service) change(ctx context.Context, id string, change func(r *core.ManagedAgentRecord) ([]core.Event, bool)) (*core.ManagedAgentRecord, error) {
	return s.changeOnce(ctx, nil, id, change)
}

// changeOnce is change for what a claim is for, which is stored with it; nil: none.
func (s *Service) changeOnce(
	ctx context.Context, claim *core.IdempotencyClaim, id string, change func(r *core.ManagedAgentRecord) ([]core.Event, bool),
) (*core.ManagedAgentRecord, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	old, err := s.record(id)
	if err != nil {
		return nil, err
	}
	next := *old
	events, changed := change(&next)
	if !changed {
		return old, nil
	}
	err = s.opts.Store.Update(ctx, func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(claim, id, s.opts.Clock.Now()); err != nil {
			return err
		}
		if err := tx.PutManagedAgent(&next); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.put(&next) })
		return tx.Append(events...)
	})
	if err = s.outcome(err, s.has(&next)); err != nil {
		return nil, err
	}
	s.put(&next) // it is already, unless the outcome was in doubt
	return &next, nil
}

// source returns a configured runtime, or nil.
func (s *Service) source(name string) *source {
	for _, src := range s.configured() {
		if src.Name == name {
			return src
		}
	}
	return nil
}

// runtimeOf returns the record of an agent and its runtime. The record is returned as well with the error for a runtime that is
// not configured.
func (s *Service) runtimeOf(id string) (*core.ManagedAgentRecord, runtime.Runtime, error) {
	r, err := s.record(id)
	if err != nil {
		return nil, nil, err
	}
	src := s.source(r.Runtime)
	if src == nil {
		return r, nil, core.Unavailable("runtime_unavailable",
			"the runtime %q of this agent is not configured any more", r.Runtime)
	}
	return r, src.Runtime, nil
}

// ready reports whether the runtime can be used, and why not.
func (src *source) ready() (bool, string) {
	if src.State != nil {
		if ready, reason := src.State(); !ready {
			return false, reason
		}
	}
	src.mu.Lock()
	defer src.mu.Unlock()
	return src.connected, src.reason
}

// takes reports whether the runtime can be given new agents, and if not why. One that cannot may still serve those it has.
func (src *source) takes() (bool, string) {
	if ready, reason := src.ready(); !ready {
		return false, reason
	}
	if src.Takes != nil {
		return src.Takes()
	}
	return true, ""
}

// settle ends the wait for the first attempt to reach the runtime.
func (src *source) settle() { src.once.Do(func() { close(src.tried) }) }

func (src *source) capabilities() runtime.Capabilities {
	src.mu.Lock()
	defer src.mu.Unlock()
	return src.caps
}

func (src *source) setCapabilities(caps runtime.Capabilities) {
	src.mu.Lock()
	defer src.mu.Unlock()
	src.caps = caps
}

func (src *source) set(connected bool, reason string) {
	src.mu.Lock()
	defer src.mu.Unlock()
	src.connected, src.reason = connected, reason
}

// handle decodes what is stored of a runtime's handle.
func handle(r *core.ManagedAgentRecord) runtime.Handle {
	h := runtime.Handle{ID: r.ID}
	if len(r.Handle) > 0 {
		_ = json.Unmarshal(r.Handle, &h) // what cannot be read is looked for by its id
	}
	h.ID = r.ID
	return h
}
