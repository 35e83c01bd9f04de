package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

var (
	_ core.AgentService   = (*Service)(nil)
	_ core.TaskDispatcher = (*Service)(nil)
)

// Store is the part of the durable state that the service uses.
type Store interface {
	Update(ctx context.Context, fn func(tx core.Tx) error) error
	core.AgentReader
}

// Gate says what the credential of an agent lets it do, beside connecting. Its methods are safe for concurrent use.
type Gate interface {
	// CheckAgent returns what the agent must not offer, as FORBIDDEN, or UNAUTHORIZED when its credential is over.
	CheckAgent(ctx context.Context, p core.Principal, offer core.AgentOffer) error
	// AdmitAgent counts a registration within its transaction. comesBack is an agent that registered before with the same
	// credential, and is gone since. UNAUTHORIZED when the credential is over.
	AdmitAgent(tx core.Tx, p core.Principal, comesBack bool) error
}

// TaskSecrets resolves what the settings of tasks refer to. Its methods are safe for concurrent use.
type TaskSecrets interface {
	// TaskConfig returns the settings of a task with secrets in place of references. It may wait for a provider. The error
	// names the reference, and never a value.
	TaskConfig(ctx context.Context, task *core.Task) (json.RawMessage, error)
}

// Options are what a Service is made of. Store is required.
type Options struct {
	Store Store
	Gate  Gate // nil: whoever connects may offer anything
	// Secrets puts secrets into the settings of tasks that refer to them; nil: such tasks fail.
	Secrets TaskSecrets
	Sink    core.TaskSink // or SetSink before Open
	Clock   core.Clock    // default: the system clock
	// Older decides when a disconnected agent was listed for long enough; nil: by Clock.
	Older  core.OlderFunc
	IDs    core.IDs     // default: made from Clock
	Logger hclog.Logger // default: none
	Config Config       // zero fields: defaults
	// Changed is called when an agent begins or ceases to be able to take tasks. It must be quick and call nothing of the service;
	// nil means that there is no such call.
	Changed func()
}

// Service keeps the connected agents. All methods are safe for concurrent use, after Open.
type Service struct {
	store  Store
	sink   core.TaskSink // set before Open
	clock  core.Clock
	older  core.OlderFunc
	watch  core.Stopwatch // of limits that are kept in integers
	ids    core.IDs
	gate   Gate // or nil
	secret secretTasks
	log    hclog.Logger
	config atomic.Pointer[Config]
	index  *index

	threads     core.ThreadHostSink // nil: agents host none; set before Open
	hostNotices hostNotices
	counters    counters
	ctx         context.Context // of the service's own store calls; ends in Close
	cancel      context.CancelFunc
	readers     sync.WaitGroup // one per session
	capacity    notifier

	reachable atomic.Pointer[time.Time] // since when agents can connect; nil: not yet

	sweeping sync.Mutex // held during a sweep; guards swept
	swept    sweepState

	mu       sync.RWMutex // guards all below
	agents   map[string]*agent
	ordered  []*agent // by id, so by time of the first connection
	sessions map[*session]struct{}
	admitted int // sessions, and upgrades in progress
	// admittedOf counts those of each principal.
	admittedOf map[maker]int
	open       bool
	closing    bool
	timer      core.Timer // of the next sweep
}

// New makes a Service without side effects.
func New(o Options) *Service {
	o.Clock = cmp.Or[core.Clock](o.Clock, core.SystemClock{})
	o.IDs = cmp.Or[core.IDs](o.IDs, core.NewIDs(o.Clock))
	if o.Older == nil {
		o.Older = core.OlderBy(o.Clock)
	}
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	s := &Service{
		store:    o.Store,
		sink:     o.Sink,
		clock:    o.Clock,
		older:    o.Older,
		watch:    core.NewStopwatch(o.Clock),
		ids:      o.IDs,
		gate:     o.Gate,
		secret:   secretTasks{source: o.Secrets},
		log:      o.Logger,
		index:    newIndex(),
		agents:   map[string]*agent{},
		sessions: map[*session]struct{}{},

		admittedOf: map[maker]int{},
	}
	s.index.changed = o.Changed
	config := o.Config.withDefaults()
	s.config.Store(&config)
	return s
}

// SetSink sets who takes reports. Call it before Open.
func (s *Service) SetSink(sink core.TaskSink) { s.sink = sink }

// Open loads the stored agents and starts the sweep. Agents that were connected when the process ended are
// lost from now on and may resume within the grace.
func (s *Service) Open(ctx context.Context) error {
	if err := s.config.Load().Validate(); err != nil {
		return err
	}
	if s.sink == nil {
		return core.Errorf(core.CodeInternal, "agents: no sink is set")
	}
	records, err := s.store.AllAgents(ctx)
	if err != nil {
		return err
	}
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		return core.Errorf(core.CodeInternal, "agents: opened twice")
	}
	s.open = true
	// The service's own writes (registrations, the sweep) belong to no caller and end with the service.
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, r := range records {
		a := restore(r, s.watch, now)
		a.hostNotices = &s.hostNotices
		s.agents[a.id] = a
		s.ordered = append(s.ordered, a)
		if a.presence != gone {
			s.index.place(a, a.profile()) // not shared yet: no lock
			a.refresh(s.index)
		}
	}
	slices.SortFunc(s.ordered, func(a, b *agent) int { return strings.Compare(a.id, b.id) })
	s.capacity.start(s.sink.CapacityChanged)
	s.hostNotices.start(s.threads)
	s.secret.start()
	s.swept.saved = now
	s.timer = s.clock.AfterFunc(sweepInterval, s.sweep)
	s.log.Info("agent registry opened", "agents", len(records))
	return nil
}

// Reachable says that agents can connect from now on: those that a restart cut off have ResumeGrace to come back. Until
// then none of them is given up, however long the start takes.
func (s *Service) Reachable() {
	now := s.clock.Now()
	s.reachable.CompareAndSwap(nil, &now)
}

// Close ends all sessions with a close frame that invites agents to come back and resume, stores the
// agents, and returns when all goroutines have ended. When ctx ends first, connections are cut.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.open || s.closing {
		s.mu.Unlock()
		return nil
	}
	s.closing = true
	s.timer.Stop()
	defer context.AfterFunc(ctx, s.cancel)() // a store call of the service does not outlast ctx
	sessions := slices.Collect(maps.Keys(s.sessions))
	s.mu.Unlock()

	s.hostNotices.stop() // that all hosts are away is no news then
	s.secret.stop()
	for _, session := range sessions {
		session.shut(closeRestart, "the server stops; come back and resume", false)
	}
	ended := make(chan struct{})
	go func() {
		s.readers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		for _, session := range sessions {
			session.kill()
		}
		<-ended
	}

	s.sweeping.Lock() // a sweep in progress ends first; a later one sees closing
	defer s.sweeping.Unlock()
	s.capacity.stop()
	defer s.cancel()
	if ctx.Err() != nil { // what is known is stored all the same
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), s.config.Load().CloseTimeout)
		defer stop()
	}
	if err := s.saveAll(ctx); err != nil {
		return err
	}
	s.log.Info("agent registry closed", "sessions", len(sessions))
	return nil
}

// ApplyConfig takes over a new configuration; live sessions get what concerns them. VALIDATION_ERROR
// changes nothing. Agents that declare another region than it keeps data in are disconnected.
func (s *Service) ApplyConfig(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	c = c.withDefaults()
	now := s.clock.Now()
	if c.HeartbeatInterval < s.config.Load().HeartbeatInterval { // those that kept to the longer one are not late
		for _, a := range s.all() {
			if !a.ailing.Load() {
				a.heard.Store(a.watch.At(now))
			}
		}
	}
	old := s.config.Swap(&c)
	if c.Region != "" && c.Region != old.Region {
		s.sendAway(c.Region)
	}
	if registeredConfig(old, 0) == registeredConfig(&c, 0) {
		return nil
	}
	for _, a := range s.all() {
		a.mu.Lock()
		if a.session != nil {
			s.sendLocked(a, appendFrame(nil, protocol.TypeConfigUpdate, "", now, protocol.ConfigUpdate{
				Config: registeredConfig(&c, a.taskTimeout), Reason: "the server's configuration changed",
			}))
		}
		a.mu.Unlock()
	}
	return nil
}

// sendAway disconnects the agents that declare another region. One that registers meanwhile is judged by the new configuration.
func (s *Service) sendAway(region string) {
	for _, a := range s.all() {
		a.mu.Lock()
		elsewhere := a.region != "" && a.region != region && a.presence != gone
		own := a.region
		a.mu.Unlock()
		if !elsewhere {
			continue
		}
		if _, err := s.DisconnectAgent(s.ctx, a.id, "its region "+elsewhereReason(own, region)); err != nil && core.ErrorCode(err) != core.CodeNotFound {
			s.log.Warn("cannot store that an agent of another region was disconnected; it is tried again", "agent", a.id, "error", err)
		}
	}
}

// elsewhereReason says why an agent of a region is not taken.
func elsewhereReason(own, region string) string {
	return "is " + own + ", and security.compliance.gdpr.dataResidency.region keeps data in " + region
}

// find returns a registry entry, or nil.
func (s *Service) find(id string) *agent {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.agents[id]
}

// all returns the registry by id.
func (s *Service) all() []*agent {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.ordered)
}

// enter adds an entry to the registry.
func (s *Service) enter(a *agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents[a.id] = a
	i := len(s.ordered) // ids rise, so the place is the end or close to it
	for i > 0 && s.ordered[i-1].id > a.id {
		i--
	}
	s.ordered = slices.Insert(s.ordered, i, a)
}

// sendLocked sends an encoded frame to a live agent. a.mu is held. When the session ends of it, the agent is
// lost at once, so that it is given no more tasks.
func (s *Service) sendLocked(a *agent, payload []byte) bool {
	if a.session.put(payload) {
		return true
	}
	a.lose(s.index, s.clock.Now(), a.session.reason())
	return false
}

// detach makes the agent lost if this is still its session.
func (s *Service) detach(a *agent, from *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == from {
		a.lose(s.index, s.clock.Now(), from.reason())
	}
}
