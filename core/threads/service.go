package threads

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/joined"
	"github.com/wardroom/wardroom/core/internal/seal"
	"github.com/wardroom/wardroom/core/threads/rules"
)

var (
	_ core.ThreadService  = (*Service)(nil)
	_ core.RoleThreads    = (*Service)(nil)
	_ core.ThreadHostSink = (*Service)(nil)
)

// Service implements core.ThreadService, core.RoleThreads and core.ThreadHostSink. Make it with New, start it with
// Open after the managed agents and before those who use it, end it with Close: the agents live on.
type Service struct {
	opts     Options
	log      hclog.Logger
	clock    core.Clock
	config   atomic.Pointer[Config]
	rules    atomic.Pointer[rules.Rules] // of the configuration; nil when they are wrong
	seal     *seal.Box
	observer Observer

	ctx    context.Context // of all work; ends in Close
	cancel context.CancelFunc
	tasks  joined.Group  // all goroutines of the service
	stops  chan struct{} // holds one value for each stop of an agent under way

	questions core.QuestionService // or nil; set once before Open

	mu        sync.Mutex                     // guards all below
	live      map[string]*thread             // that are not over, by id
	roles     map[roleInstance]*thread       // that serve roles
	spawns    map[roleInstance]chan struct{} // calls of SpawnRole under way; closed when one is over
	crew      map[string]*thread             // by the id of their managed agent
	watches   map[string]*watch              // executions that are followed
	members   map[string][]string            // ids of the threads of ad-hoc executions that are not over
	spawned   int                            // threads that count for MaxThreads
	starting  int                            // agents that are being started
	startFree chan struct{}                  // closed and replaced when starting went down
}

// roleInstance names an instance of a role of an execution.
type roleInstance struct {
	execution, role string
	number          int
}

// New makes a service. It starts nothing.
func New(o Options) *Service {
	o.Clock = cmp.Or[core.Clock](o.Clock, core.SystemClock{})
	o.IDs = cmp.Or[core.IDs](o.IDs, core.NewIDs(o.Clock))
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	o.Observer = cmp.Or[Observer](o.Observer, noObserver{})
	o.Tracer = cmp.Or[core.Tracer](o.Tracer, core.NoTracer{})
	s := &Service{
		opts: o, log: o.Logger, clock: o.Clock, observer: o.Observer, seal: seal.New(o.SealKey),
		stops: make(chan struct{}, stopsAtOnce), live: make(map[string]*thread), roles: make(map[roleInstance]*thread),
		spawns: make(map[roleInstance]chan struct{}), crew: make(map[string]*thread), watches: make(map[string]*watch),
		members: make(map[string][]string), startFree: make(chan struct{}),
	}
	s.configure(o.Config)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// SetQuestions says who answers the questions that org charts surface. It is called once, before Open.
func (s *Service) SetQuestions(q core.QuestionService) { s.questions = q }

func (s *Service) configure(c Config) {
	s.config.Store(c.withDefaults())
	s.rules.Store(compileRules(c.AutoAnswer, "threads.autoAnswer", s.log))
}

// ApplyConfig changes how threads are supervised from now on.
func (s *Service) ApplyConfig(c Config) {
	s.configure(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freeStart()
}

// Close ends all supervision and joins it. What agents do goes on without us, and is found at the next Open. Safe to
// call twice.
func (s *Service) Close() {
	s.mu.Lock()
	s.tasks.End()
	s.mu.Unlock()
	s.cancel()
	s.tasks.Wait()
}

// guard runs fn, and keeps a panic in the supervision of one thread from the others. It returns false after one.
func (s *Service) guard(what, id string, fn func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error(what+" failed", "id", id, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			ok = false
		}
	}()
	fn()
	return true
}

// find returns a thread that is not over, or nil.
func (s *Service) find(id string) *thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id]
}

// takeStart waits for leave to start an agent. Its owner calls giveStart.
func (s *Service) takeStart(ctx context.Context) error {
	for {
		s.mu.Lock()
		free := s.startFree
		if s.starting < s.config.Load().SpawnsAtOnce {
			s.starting++
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-free:
		}
	}
}

func (s *Service) giveStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting--
	s.freeStart()
}

// freeStart wakes who waits for leave to start an agent. The caller holds mu.
func (s *Service) freeStart() {
	close(s.startFree)
	s.startFree = make(chan struct{})
}

// Stats are numbers of the moment, for metrics.
type Stats struct {
	ByStatus map[core.ThreadStatus]int // threads that are not over
	Queued   int                       // messages that wait for their agents
}

// Stats counts the threads that are not over.
func (s *Service) Stats() Stats {
	st := Stats{ByStatus: make(map[core.ThreadStatus]int)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.live {
		r := t.record()
		st.ByStatus[r.Status]++
		st.Queued += r.QueuedInputs
	}
	return st
}

func errShuttingDown() error {
	return core.Unavailable("shutting_down", "the service is shutting down")
}
