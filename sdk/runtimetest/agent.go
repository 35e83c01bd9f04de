package runtimetest

import (
	"context"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// job is one line that waits for the agent.
type job struct {
	line   string
	taken  chan struct{} // closed when the line begins to run
	done   chan struct{} // closed when result and err are set
	text   string
	turn   int
	took   time.Duration
	err    error
	broken bool // it was interrupted
	begun  bool // guarded by agent.mu
	left   bool // its caller does not wait any more; guarded by agent.mu
}

// agent is a loop that runs lines.
type agent struct {
	world   *World
	spec    runtime.Spec // as it was asked for
	out     output
	journal journal
	again   sync.Mutex // one restart at a time

	mu      sync.Mutex // guards all below
	state   runtime.Agent
	life    *life
	sent    int64
	took    time.Duration
	started time.Time
	seen    map[string]*job // by Input.ID
	typing  []byte          // typed and not entered yet
	viewed  bool            // a viewer set the size
	cancel  func()          // interrupts the line that runs; nil: none does
}

// life is one run of an agent, between a start and its end.
type life struct {
	ctx    context.Context // ends when the agent is to stop
	stop   context.CancelFunc
	jobs   chan *job
	answer chan string
	ended  chan struct{} // closed when nothing of it is left
	reason string        // of a stop; guarded by agent.mu
}

func newAgent(w *World, spec runtime.Spec, pid int) *agent {
	now := time.Now()
	a := &agent{world: w, spec: spec, seen: map[string]*job{}}
	a.state = runtime.Agent{
		ID: spec.ID, Name: spec.Name, Type: spec.Type, Status: runtime.StatusStarting, Capabilities: spec.Capabilities,
		Labels: spec.Labels, Workdir: spec.Workdir, PID: pid, CreatedAt: now, LastActivityAt: now, SessionID: "session-" + spec.ID,
		Handle: runtime.Handle{ID: spec.ID, Data: []byte(handleData(spec.ID))},
	}
	a.out.cols, a.out.rows = defaultCols, defaultRows
	if spec.Cols > 0 && spec.Rows > 0 {
		a.out.cols, a.out.rows = spec.Cols, spec.Rows
	}
	return a
}

// begin starts the loop.
func (a *agent) begin() {
	ctx, stop := context.WithCancel(context.Background())
	l := &life{ctx: ctx, stop: stop, jobs: make(chan *job, 256), answer: make(chan string), ended: make(chan struct{})}
	a.mu.Lock()
	a.life, a.started = l, time.Now()
	a.state.Status, a.state.Reason, a.state.ExitCode = runtime.StatusStarting, "", nil
	a.mu.Unlock()
	a.out.finish(nil)
	a.journal.end(false)
	a.tell(runtime.Event{Type: runtime.EventStarted, Source: runtime.SourceHost})
	a.world.wg.Go(func() {
		a.run(l)
	})
}

// run is the loop; it owns the life.
func (a *agent) run(l *life) {
	defer close(l.ended)
	a.prompt()
	a.become(runtime.StatusReady, runtime.Event{Type: runtime.EventReady, Source: runtime.SourceScreen})
	exit := runtime.Exit{}
	for quit := false; !quit; {
		select {
		case <-l.ctx.Done():
			quit = true
		case j := <-l.jobs:
			if a.take(j) {
				quit = a.turn(l, j, &exit)
			}
		}
	}
	l.stop()
	a.finish(l, exit)
}

// take reports whether a job is still wanted.
func (a *agent) take(j *job) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j.left {
		return false
	}
	j.begun = true
	return true
}

// turn runs one line, and reports whether it was the last.
func (a *agent) turn(l *life, j *job, exit *runtime.Exit) bool {
	begin := time.Now()
	a.journal.add(runtime.StreamInput, j.line)
	a.out.write([]byte(j.line + "\r\n"))
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	a.mu.Lock()
	a.sent++
	a.cancel = cancel
	a.mu.Unlock()
	a.become(runtime.StatusBusy, runtime.Event{Type: runtime.EventBusy, Source: runtime.SourceHost})
	close(j.taken)
	text, code, last := a.execute(ctx, l, j.line)
	j.text, j.took, j.broken = text, time.Since(begin), ctx.Err() != nil
	a.mu.Lock()
	a.cancel = nil
	a.state.Turn++
	a.took = j.took
	j.turn = a.state.Turn
	a.mu.Unlock()
	if last {
		*exit = runtime.Exit{Code: code, Reason: runtime.ReasonExited}
		close(j.done)
		return true
	}
	if text != "" {
		a.journal.add(runtime.StreamOutput, text)
		a.tell(runtime.Event{Type: runtime.EventMessage, Source: runtime.SourceHost, Text: text})
	}
	a.prompt()
	a.become(runtime.StatusReady, runtime.Event{
		Type: runtime.EventTurnComplete, Source: runtime.SourceHost, Text: text, Turn: j.turn, DurationMs: j.took.Milliseconds(),
		TurnOutcome: runtime.TurnOutcome{Interrupted: j.broken},
	})
	close(j.done)
	return false
}

// finish ends a life: what waits is reported, and the exit is known.
func (a *agent) finish(l *life, exit runtime.Exit) {
	a.mu.Lock()
	if l.reason != "" {
		exit.Reason = l.reason
	}
	a.state.Status, a.state.Reason, a.state.ExitCode, a.state.Prompt = runtime.StatusStopped, exit.Reason, &exit.Code, nil
	a.mu.Unlock()
	for drained := false; !drained; {
		select {
		case j := <-l.jobs:
			j.err = notRunning(a.spec.ID)
			close(j.done)
		default:
			drained = true
		}
	}
	a.tell(runtime.Event{Type: runtime.EventStopped, Source: runtime.SourceExit, Reason: exit.Reason, Exit: &exit})
	a.journal.end(true)
	a.out.finish(&exit)
}

// stop ends the agent and waits until nothing of it is left.
func (a *agent) stop(ctx context.Context, opts runtime.StopOptions) error {
	a.mu.Lock()
	l := a.life
	if a.state.Status != runtime.StatusStopped && l.reason == "" {
		l.reason = runtime.ReasonStopped
		if opts.Force {
			l.reason = runtime.ReasonKilled
		}
	}
	a.mu.Unlock()
	l.stop()
	select {
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return ended(ctx, context.Background())
	}
}

// restart ends the agent and begins anew.
func (a *agent) restart(ctx context.Context) (runtime.Agent, error) {
	a.again.Lock()
	defer a.again.Unlock()
	if err := a.stop(ctx, runtime.StopOptions{}); err != nil {
		return runtime.Agent{}, err
	}
	a.begin()
	return a.view(), nil
}

func (a *agent) prompt() { a.out.write([]byte("$ ")) }

func (a *agent) view() runtime.Agent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

func (a *agent) running() bool { return a.view().Status != runtime.StatusStopped }

// become changes the status and tells why.
func (a *agent) become(status runtime.Status, event runtime.Event) {
	a.mu.Lock()
	a.state.Status, a.state.Prompt, a.state.LastActivityAt = status, event.Prompt, time.Now()
	a.mu.Unlock()
	a.tell(event)
}

func (a *agent) tell(event runtime.Event) {
	event.AgentID, event.Agent = a.spec.ID, a.view()
	a.world.events.add(event)
	a.journal.add(runtime.StreamEvent, string(event.Type))
}

// firstSize is the wish of a viewer that attaches: only the first one's counts.
func (a *agent) firstSize(cols, rows int) {
	a.mu.Lock()
	first := !a.viewed
	a.viewed = true
	a.mu.Unlock()
	if first {
		a.out.resize(cols, rows)
	}
}

func notRunning(id string) *runtime.Error {
	return runtime.Errorf(runtime.CodeNotRunning, "agent %q has stopped", id)
}
