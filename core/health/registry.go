package health

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Timeout bounds one check. A check that takes longer counts as failed until it comes back.
const Timeout = 2 * time.Second

// Phase is where the process is in its life.
type Phase string

// Phases. The process is ready for traffic in PhaseReady only.
const (
	PhaseStarting Phase = "starting"
	PhaseReady    Phase = "ready"
	PhaseStopping Phase = "stopping"
)

// Registry holds the checks. All methods are safe for concurrent use.
type Registry struct {
	clock core.Clock

	mu     sync.Mutex // guards all below
	checks []*entry   // by name
	phase  Phase
	closed bool

	running sync.WaitGroup // checks under way
}

// entry is a registered check with its last state. Registry.mu guards all but the check itself.
type entry struct {
	check Check
	state State
	done  chan struct{} // closed when the run under way ends; nil when none is
}

// New returns an empty registry in PhaseStarting.
func New(clock core.Clock) *Registry {
	return &Registry{clock: clock, phase: PhaseStarting}
}

// Register adds a check. It panics when the check is incomplete or its name is taken: both are mistakes in
// the wiring.
func (r *Registry) Register(c Check) {
	switch {
	case c.Name == "" || c.Run == nil:
		panic("health: a check needs a name and a function")
	case c.Severity != Required && c.Severity != Degraded && c.Severity != Vital:
		panic(fmt.Sprintf("health: check %s has the unknown severity %q", c.Name, c.Severity))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := sort.Search(len(r.checks), func(i int) bool { return r.checks[i].check.Name >= c.Name })
	if at < len(r.checks) && r.checks[at].check.Name == c.Name {
		panic(fmt.Sprintf("health: check %s is registered twice", c.Name))
	}
	e := &entry{check: c, state: State{
		Name: c.Name, Severity: c.Severity, Result: OK(), Since: r.clock.Now(),
	}}
	r.checks = append(r.checks, nil)
	copy(r.checks[at+1:], r.checks[at:])
	r.checks[at] = e
}

// SetPhase moves the process to another phase of its life.
func (r *Registry) SetPhase(p Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = p
}

// Phase returns the present phase.
func (r *Registry) Phase() Phase {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase
}

// Report runs every check, waits at most Timeout (or until ctx ends) and returns the verdict. A check that
// is still running from an earlier call is waited for, not started again.
func (r *Registry) Report(ctx context.Context) Report {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	r.mu.Lock()
	waits := make([]chan struct{}, 0, len(r.checks))
	for _, e := range r.checks {
		if e.done == nil && !r.closed {
			r.start(e)
		}
		if e.done != nil {
			waits = append(waits, e.done)
		}
	}
	r.mu.Unlock()
	for _, done := range waits {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	report := Report{Phase: r.phase, Checks: make([]State, 0, len(r.checks))}
	for _, e := range r.checks {
		if e.done != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) { // who left early did not wait for it
			r.settle(e, Failed(fmt.Sprintf("the check gave no answer within %s", Timeout),
				"look into the log for what blocks this component"))
		}
		report.Checks = append(report.Checks, e.state)
	}
	return report
}

// start runs the check of e on its own goroutine; Close joins it. The context is not the caller's, because
// the result is shared by all who ask meanwhile. Called with mu held.
func (r *Registry) start(e *entry) {
	done := make(chan struct{})
	e.done = done
	r.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		result := run(ctx, e.check)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.settle(e, result)
		e.done = nil
		close(done)
	})
}

// run calls the check; a panic in it is a failed check, not the end of the process.
func run(ctx context.Context, c Check) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			result = Failed(fmt.Sprintf("the check panicked: %v", p), "this is a defect: please report it")
		}
	}()
	return c.Run(ctx)
}

// settle records a result; Since moves only when the status changes. Called with mu held.
func (r *Registry) settle(e *entry, result Result) {
	if result.Status != e.state.Status {
		e.state.Since = r.clock.Now()
	}
	e.state.Result = result
}

// Close waits for checks under way; later reports repeat the last states.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.running.Wait()
}
