package memory

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

var _ core.MemoryService = (*Service)(nil)

// Store is the part of core.Store that the memory uses.
type Store interface {
	Update(ctx context.Context, fn func(tx core.Tx) error) error
	FindExecution(ctx context.Context, id string) (*core.Execution, error)
	FindThread(ctx context.Context, id string) (*core.ThreadRecord, error)
	core.MemoryReader
}

// Options are what a Service is made of.
type Options struct {
	Store Store
	// Path is the directory of the index, which is made if it does not exist and may be deleted while the service is
	// closed. "" keeps the index in memory.
	Path  string
	Clock core.Clock // nil: core.SystemClock
	// Older decides for the age of experiences; nil: by Clock.
	Older  core.OlderFunc
	IDs    core.IDs     // nil: made from Clock
	Logger hclog.Logger // nil discards
	Config Config
	// Instructions is Markdown that tells an agent how to report, for the end of the memory file.
	Instructions string
	// Guarded reports whether an execution belongs to people who are named, and of one that is gone whether its pattern does; nil: none
	// does. Nothing is kept of it, as an experience outlives its execution and agents of others would be told. It is called within
	// transactions, so it reads only.
	Guarded func(executionID, pattern string) bool
}

// Times of the upkeep.
const (
	retainEvery = time.Hour
	retryAfter  = time.Minute // after the index failed
	recallWait  = 5 * time.Second
)

// Service implements core.MemoryService. One goroutine owns all changes of the index; it runs from Open to Close.
type Service struct {
	store        Store
	path         string
	clock        core.Clock
	older        core.OlderFunc
	ids          core.IDs
	log          hclog.Logger
	instructions string
	guards       func(executionID, pattern string) bool // or nil
	config       atomic.Pointer[Config]

	ctx    context.Context // of the goroutine; ends in Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{} // holds one token when there is work

	indexMu sync.RWMutex // guards the pointer; readers hold it while they search
	index   *index       // nil before Open, after Close, and while it is broken

	mu      sync.Mutex // guards all below
	open    bool
	ready   bool          // the index holds what the store held when it was caught up with
	failed  bool          // the last try to do so failed
	damaged bool          // the index failed, and is to be scrapped
	pending []change      // for the index, in order
	lost    bool          // changes were dropped since catching up began the last time
	queued  uint64        // changes that were ever put into pending
	done    uint64        // of them, those that the index holds
	changed chan struct{} // closed, and replaced, when one of the above changed
	retain  bool          // retention is due
	timers  map[string]core.Timer
}

// change is one change of the index: an experience to put, or an id to remove.
type change struct {
	put    *core.Experience
	remove string
}

// New makes a service. It has no side effects.
func New(o Options) *Service {
	o.Clock = cmp.Or[core.Clock](o.Clock, core.SystemClock{})
	if o.Older == nil {
		o.Older = core.OlderBy(o.Clock)
	}
	o.IDs = cmp.Or[core.IDs](o.IDs, core.NewIDs(o.Clock))
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	s := &Service{
		store: o.Store, path: o.Path, clock: o.Clock, older: o.Older, ids: o.IDs, log: o.Logger.Named("memory"),
		instructions: o.Instructions, guards: o.Guarded, wake: make(chan struct{}, 1), changed: make(chan struct{}),
		timers: make(map[string]core.Timer),
	}
	s.config.Store(&o.Config)
	return s
}

// Open starts the upkeep of the index and returns at once. What needs the index waits until it is ready.
func (s *Service) Open(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.open, s.retain = true, true
	s.wg.Go(s.work)
	s.kick()
	return nil
}

// Close ends the upkeep and closes the index. Calls that wait for the index return an error. Calls that need only the
// store go on to work.
func (s *Service) Close() error {
	s.mu.Lock()
	if !s.open {
		s.mu.Unlock()
		return nil
	}
	s.open = false
	for _, t := range s.timers {
		t.Stop()
	}
	clear(s.timers)
	s.tell()
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
	return s.dropIndex()
}

// ApplyConfig replaces the bounds.
func (s *Service) ApplyConfig(c Config) {
	s.config.Store(&c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retain = true
	s.kick()
}

// kick wakes the goroutine.
func (s *Service) kick() { pause.Wake(s.wake) }

// tell wakes all that wait for a change. The caller holds mu.
func (s *Service) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// later sets the timer of a name anew; then runs with mu held, unless the service was closed. The caller holds mu.
func (s *Service) later(name string, d time.Duration, then func()) {
	if t := s.timers[name]; t != nil {
		t.Stop()
	}
	s.timers[name] = s.clock.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open {
			then()
			s.kick()
		}
	})
}
