package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

var (
	_ core.ExecutionService = (*Engine)(nil)
	_ core.BatchService     = (*Engine)(nil)
	_ core.TaskSink         = (*Engine)(nil)
	_ core.RoleSink         = (*Engine)(nil)
)

// Store is the part of the durable state that the engine uses.
//
// It has many methods because it names the parts of the store that the engine uses, and no more.
type Store interface {
	Update(ctx context.Context, fn func(tx core.Tx) error) error
	FindExecution(ctx context.Context, id string) (*core.Execution, error)
	FindExecutions(ctx context.Context, filter core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error)
	ActiveExecutions(ctx context.Context) ([]*core.Execution, error)
	DeleteExecution(ctx context.Context, id string, event core.Event) error
	Events(ctx context.Context, subject string, after uint64, limit int) (page []core.Event, more bool, err error)
	FindThreads(ctx context.Context, filter core.ThreadFilter) ([]*core.ThreadRecord, core.PageInfo, error)
	core.BatchReader
	core.QuestionReader
}

// AdHoc ends executions that run no pattern but live as long as their threads. It is core.ThreadService.
type AdHoc interface {
	// CancelAdHoc cancels an ad-hoc execution with all its threads.
	CancelAdHoc(ctx context.Context, executionID, reason string) (*core.Execution, error)
}

// Patterns finds what is to be run.
type Patterns interface {
	// Resolve picks a version ("", exact, or a range) and returns it with its plan.
	Resolve(ctx context.Context, name, version string) (*core.Pattern, core.Plan, error)
	// Plan returns the plan of a definition by hash, also after its pattern was deleted.
	Plan(ctx context.Context, hash string) (core.Plan, error)
}

// Streams opens event streams: the stored events of a subject first, then live ones.
type Streams interface {
	Stream(ctx context.Context, subject string, after uint64, last func(core.Event) bool) (core.EventStream, error)
	// Publish hands live-only events to whoever watches; they are never stored.
	Publish(events []core.Event)
}

// Observer receives what metrics count. Methods must be quick and safe for concurrent use.
//
// It has many methods because each thing that is counted has one.
type Observer interface {
	// ExecutionStarted reports a new execution, once it is stored.
	ExecutionStarted(pattern string)
	ExecutionFinished(pattern string, status core.ExecutionStatus, duration time.Duration)
	// QueueWaited reports how long an execution was pending.
	QueueWaited(d time.Duration)
	// QueueRefused reports an execution that found the queue full.
	QueueRefused()
	// TaskEnded reports an attempt: completed, failed, timeout, lost or late, and how long it was out.
	TaskEnded(outcome string, took time.Duration)
	// Resumed reports how many executions were taken up after a restart.
	Resumed(n int)
	// Unreadable reports a stored execution or batch, or its journal, that cannot be read; kind is which of them.
	Unreadable(kind string)
}

// Alert has somebody look at what the engine could not do by itself. subject is the id of what it is about.
type Alert func(subject, message string, details map[string]any)

// Options are what an Engine is made of. All fields but Roles, AdHoc, Observer, Alert, Notice and Tracer are required.
type Options struct {
	Store    Store
	Patterns Patterns
	Agents   core.TaskDispatcher
	Roles    core.RoleSpawner // nil: agents are not spawned
	AdHoc    AdHoc            // nil: ad-hoc executions cannot be cancelled
	Streams  Streams
	Clock    core.Clock
	IDs      core.IDs
	Logger   hclog.Logger
	Config   Config
	Observer Observer
	Alert    Alert
	Notice   func(core.Event) // receives the progress of batches, and must not block; may be nil
	Tracer   core.Tracer      // nil: nothing is traced
}

// Engine runs executions and batches. Make it with New, start it with Open, end it with Close.
type Engine struct {
	store    Store
	patterns Patterns
	agents   core.TaskDispatcher
	roles    core.RoleSpawner // or nil
	adHoc    AdHoc            // or nil
	streams  Streams
	clock    core.Clock
	ids      core.IDs
	log      hclog.Logger
	observer Observer
	alert    Alert
	notice   func(core.Event)
	tracer   core.Tracer
	config   atomic.Pointer[Config]

	limits   *limits
	pace     *pace
	waiters  *scheduler
	writable *writable

	quit chan struct{}  // closed by Close: every goroutine of the engine ends
	wg   sync.WaitGroup // counts runs, batches and the scheduler

	mu         sync.Mutex // guards all below
	state      lifecycle
	runs       map[string]*run      // active executions by id
	batches    map[string]*batchRun // active batches by id
	unsettled  sync.Map             // ids of batches whose first commit is in doubt
	inputBytes int64                // of all active executions
	loads      map[string]load      // of them, by share
	owned      map[string]int       // of them, those of a caller, and items of batches that are not over

	tasksMu sync.RWMutex            // guards tasks and serving
	tasks   map[string]*run         // by task id, of all active runs
	serving map[string]map[*run]int // by agent: the org charts whose roles it serves, and how often

	exchanges sync.Map // *chartRun by message id, of messages whose task is out

	parked        atomic.Int64 // executions that are parked
	finished      atomic.Int64 // executions that ended since start
	finishedNanos atomic.Int64 // sum of their durations
}

type lifecycle uint8

const (
	stateNew lifecycle = iota
	stateOpen
	stateDraining // takes no more work; what runs may finish
	stateClosed
)

// New makes an engine. It starts nothing.
func New(o Options) *Engine {
	e := &Engine{
		store: o.Store, patterns: o.Patterns, agents: o.Agents, roles: o.Roles, adHoc: o.AdHoc, streams: o.Streams,
		clock: o.Clock, ids: o.IDs, log: o.Logger.Named("engine"), observer: o.Observer, alert: o.Alert, notice: o.Notice,
		quit:    make(chan struct{}),
		runs:    map[string]*run{},
		batches: map[string]*batchRun{},
		loads:   map[string]load{},
		owned:   map[string]int{},
		tasks:   map[string]*run{},
		serving: map[string]map[*run]int{},
	}
	e.observer = cmp.Or[Observer](e.observer, noObserver{})
	if e.alert == nil {
		e.alert = func(string, string, map[string]any) {}
	}
	if e.notice == nil {
		e.notice = func(core.Event) {}
	}
	if e.tracer = o.Tracer; e.tracer == nil {
		e.tracer = core.NoTracer{}
	}
	config := o.Config
	e.config.Store(&config)
	e.limits, e.pace = newLimits(), newPace()
	e.writable = newWritable()
	e.waiters = newScheduler(e)
	return e
}

type noObserver struct{}

func (noObserver) ExecutionStarted(string)                                       {}
func (noObserver) QueueWaited(time.Duration)                                     {}
func (noObserver) QueueRefused()                                                 {}
func (noObserver) TaskEnded(string, time.Duration)                               {}
func (noObserver) Resumed(int)                                                   {}
func (noObserver) Unreadable(string)                                             {}
func (noObserver) ExecutionFinished(string, core.ExecutionStatus, time.Duration) {}

// Open resumes every execution and batch that is not terminal and runs a pattern, and starts to take work. What cannot
// be read is set aside, counted and alerted: it keeps nothing else from going on. Call it after the agents' registry is
// loaded and before agents can connect.
func (e *Engine) Open(ctx context.Context) error {
	active, err := e.store.ActiveExecutions(ctx)
	if err != nil {
		return fmt.Errorf("read active executions: %w", err)
	}
	active = slices.DeleteFunc(active, func(exec *core.Execution) bool { return exec.AdHoc })
	e.mu.Lock()
	e.state = stateOpen
	e.mu.Unlock()
	e.wg.Go(e.waiters.loop)
	if e.roles != nil {
		known := make(map[string]bool, len(active))
		for _, exec := range active {
			known[exec.ID] = true
		}
		e.roles.Sweep(func(id string) bool { return known[id] })
	}
	// Those that have a slot take it before others look for one.
	slices.SortStableFunc(active, func(a, b *core.Execution) int { return cmp.Compare(slotsOf(b), slotsOf(a)) })
	for _, exec := range active {
		if err := e.resume(ctx, exec); err != nil {
			return fmt.Errorf("resume execution %s: %w", exec.ID, err)
		}
	}
	batches, err := e.store.ActiveBatches(ctx)
	switch {
	case err == nil:
	case transient(ctx, err):
		return fmt.Errorf("read active batches: %w", err)
	default:
		e.setAside("batch", "", err)
	}
	for _, b := range batches {
		e.resumeBatch(b)
	}
	e.observer.Resumed(len(active))
	if len(active)+len(batches) > 0 {
		e.log.Info("resumed", "executions", len(active), "batches", len(batches))
	}
	return nil
}

// slotsOf returns how many slots a stored execution had.
func slotsOf(exec *core.Execution) int {
	if exec.Status == core.ExecutionRunning && exec.Waiting == nil {
		return 1
	}
	return 0
}

// transient reports whether an error of the store is of the moment, and not of a record that cannot be read.
func transient(ctx context.Context, err error) bool {
	return ctx.Err() != nil || core.AsError(err).Unavailable
}

// setAside counts and alerts what cannot be read. id may be unknown.
func (e *Engine) setAside(kind, id string, cause error) {
	e.log.Error("a stored record cannot be read; it is set aside", "kind", kind, "id", id, "error", cause)
	e.observer.Unreadable(kind)
	details := map[string]any{"kind": kind}
	subject := kind
	if id != "" {
		details["id"], subject = id, id
	}
	e.alert(subject, "A stored "+kind+" cannot be read. It is set aside, and all else goes on.", details)
}

// ApplyConfig changes the limits of a running engine. Executions that run keep their deadlines.
func (e *Engine) ApplyConfig(c Config) {
	e.config.Store(&c)
	e.waiters.afresh()
}

// Drain refuses new work and lets no execution begin any more. It waits until those that run are over, or ctx
// ends. What is not over then, or has not begun, is resumed at the next start.
func (e *Engine) Drain(ctx context.Context) {
	e.mu.Lock()
	if e.state == stateOpen {
		e.state = stateDraining
	}
	e.mu.Unlock()
	over := e.limits.drain()
	e.waiters.letGo()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// Close stops every run where its journal stands, and joins all goroutines. Waiters get Unavailable.
func (e *Engine) Close() {
	e.mu.Lock()
	if e.state == stateClosed {
		e.mu.Unlock()
		return
	}
	e.state = stateClosed
	e.mu.Unlock()
	close(e.quit)
	e.wg.Wait()
}

func errShuttingDown() error {
	return core.Unavailable("shutting_down", "the service is shutting down; the work goes on after its restart")
}

// Stats are figures for health and metrics.
type Stats struct {
	Active      int // executions that are not terminal
	Running     int // of them, those that hold a slot
	Waiting     int // runs that wait for a slot or for agents
	Parked      int // running executions that gave back their slot: they wait for people, for agents, or to go on
	Queued      int // those that hold no slot: what engine.maxQueued bounds
	Batches     int
	Finished    int64 // since start
	AvgDuration time.Duration
}

// Stats returns present figures.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	s := Stats{Active: len(e.runs), Batches: len(e.batches)}
	e.mu.Unlock()
	s.Running, s.Parked = e.limits.active(), int(e.parked.Load())
	s.Queued = max(s.Active-s.Running, 0)
	s.Waiting = e.waiters.len()
	s.Finished = e.finished.Load()
	if s.Finished > 0 {
		s.AvgDuration = time.Duration(e.finishedNanos.Load() / s.Finished)
	}
	return s
}

// register adds a run to the active ones, within the bounds of the queue. Work that the engine itself
// stored before (batch items, resumed runs) is admitted always.
func (e *Engine) register(r *run, bounded bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state != stateOpen {
		return errShuttingDown()
	}
	if bounded {
		if err := e.admit(r); err != nil {
			return err
		}
	}
	e.runs[r.exec.ID] = r
	e.weigh(r, 1)
	return nil
}

// unregister forgets a run. Call it only after its terminal state is durable, or it never was stored.
func (e *Engine) unregister(r *run) {
	e.mu.Lock()
	if _, ok := e.runs[r.exec.ID]; ok {
		delete(e.runs, r.exec.ID)
		e.weigh(r, -1)
	}
	e.mu.Unlock()
}

func (e *Engine) activeRun(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

// launch starts the run's goroutine, which finishes the change at hand first, if any. When the engine is
// closed it leaves the run where its journal stands, so that no caller waits for a goroutine that never starts.
func (e *Engine) launch(r *run, begun *change) {
	e.mu.Lock()
	closed := e.state == stateClosed
	if !closed {
		e.wg.Go(func() { r.loop(begun) })
	}
	e.mu.Unlock()
	if closed {
		r.abandon()
	}
}
