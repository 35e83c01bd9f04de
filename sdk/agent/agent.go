package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/internal/backoff"
)

// Agent is one connected agent. Make it with New, serve with Run. Methods are safe for concurrent use.
type Agent struct {
	opts    Options
	target  *url.URL
	ledger  *ledger
	inbox   *inbox
	threads *threads // nil: it hosts none
	asked   messageIDs

	started  atomic.Bool
	draining atomic.Bool
	maxFrame frameLimit
	leaving  context.Context // ends when Run is to end gracefully
	leave    context.CancelFunc
	done     chan struct{} // closed when Run returned
	handlers sync.WaitGroup
	endWork  context.CancelCauseFunc // ends the context of all handlers; set by Run before the first session

	mu     sync.Mutex // guards all below
	offer  offer
	id     string // of the last session, or ""
	token  string
	online *outbox // of the present session, or nil
}

// New checks the options and makes an agent. It does not connect.
func New(opts Options) (*Agent, error) {
	opts, target, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &Agent{
		opts:   opts,
		target: target,
		ledger: newLedger(opts.MaxConcurrentTasks, time.Now),
		inbox:  newInbox(opts.MaxConcurrentMessages),
		asked:  newMessageIDs(),
		done:   make(chan struct{}),
		offer:  newOffer(opts.Capabilities, opts.MaxConcurrentTasks),
	}
	a.ledger.frames = &a.maxFrame
	a.leaving, a.leave = context.WithCancel(context.Background())
	if opts.Threads != nil {
		a.threads = newThreads(a, *opts.Threads)
	}
	return a, nil
}

// Run connects and serves until ctx ends or Drain is done, and then returns nil; it reconnects by itself
// whenever the connection is lost. When it ends it cancels the running handlers, tells the server that the
// agent is leaving, and returns after every handler has returned. It returns a *ConnectError when the server
// refuses this agent for good, and ErrAlreadyRun when it is called twice.
func (a *Agent) Run(ctx context.Context) error {
	if !a.started.CompareAndSwap(false, true) {
		return ErrAlreadyRun
	}
	defer close(a.done)
	// Handlers keep ctx's values but end in order: after the ledger has stopped to take tasks.
	var work context.Context
	work, a.endWork = context.WithCancelCause(context.WithoutCancel(ctx))
	err := a.threads.start(ctx)
	if err == nil {
		err = a.serve(ctx, work)
	}
	a.halt()
	<-a.threads.stopped()
	a.handlers.Wait()
	return err
}

// halt takes no more tasks and cancels the handlers. It may be called twice.
func (a *Agent) halt() {
	a.ledger.close()
	a.inbox.close()
	a.threads.close()
	a.endWork(ErrStopped)
}

// serve runs one session after the other.
func (a *Agent) serve(ctx, work context.Context) error {
	a.restore()
	pause := backoff.Backoff{Min: a.opts.ReconnectMin, Max: a.opts.ReconnectMax}
	for {
		s, err := a.connect(ctx)
		if err == nil {
			err = s.serve(ctx, work)
			if s.useful.Load() && !comesAgain(err) {
				pause.Reset()
			}
		}
		if a.stopping(ctx) {
			return nil
		}
		var refused *ConnectError
		if errors.As(err, &refused) && (s != nil || !a.fallsBack(refused)) {
			a.opts.Logger.Error("agent refused", "agent", a.ID(), "error", err)
			return err
		}
		d := pause.Next()
		if flooded(err) {
			d = a.opts.ReconnectMax
		}
		if busy, ok := errors.AsType[*busyError](err); ok {
			d += busy.wait // not in step with the others that it sent away
		}
		a.opts.Logger.Warn("agent connection lost", "agent", a.ID(), "error", err, "retryIn", d)
		wait(ctx, a.leaving.Done(), d)
		if a.stopping(ctx) {
			return nil
		}
	}
}

// stopping reports whether Run is to end.
func (a *Agent) stopping(ctx context.Context) bool { return a.leaving.Err() != nil || ctx.Err() != nil }

// restore takes up the session of the state file. A file that cannot be read costs the session, not the agent.
func (a *Agent) restore() {
	if a.opts.StateFile == "" {
		return
	}
	s, err := loadState(a.opts.StateFile, a.target.String(), a.opts.Name)
	if err != nil {
		a.opts.Logger.Warn("agent state not read, starting a new session", "error", err)
	}
	if s != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.id, a.token = s.AgentID, s.Token
	}
}

// remember keeps the session's id and token for a resume.
func (a *Agent) remember(r protocol.Registered) {
	a.mu.Lock()
	changed := a.id != r.AgentID || a.token != r.ResumeToken
	a.id, a.token = r.AgentID, r.ResumeToken
	a.mu.Unlock()
	if a.opts.StateFile == "" || !changed {
		return
	}
	s := savedState{Server: a.target.String(), Name: a.opts.Name, AgentID: r.AgentID, Token: r.ResumeToken}
	if err := s.save(a.opts.StateFile); err != nil {
		a.opts.Logger.Warn("agent state not saved, a restart cannot resume", "error", err)
	}
}

// ID returns the id that the server gave to the agent, or "" before the first registration.
func (a *Agent) ID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

// Connected reports whether the agent has a session at this moment.
func (a *Agent) Connected() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.online != nil
}

// Stats returns the agent's figures at this moment.
func (a *Agent) Stats() Stats { return a.ledger.stats() }

// Drain lets the agent finish what it has and take no more, then ends Run. It returns nil once Run returned, with
// every answer acknowledged; calls of OnMessage are cancelled, and threads stopped or let go, then. When ctx ends
// before, it ends Run as if its context had ended, waits for it and returns ctx's error.
func (a *Agent) Drain(ctx context.Context) error {
	if a.started.CompareAndSwap(false, true) { // never run: there is nothing to wait for
		close(a.done)
		return nil
	}
	a.draining.Store(true)
	a.SetStatus(protocol.StatusDraining, "drain")
	var err error
	select {
	case <-a.ledger.drained():
	case <-a.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	a.leave()
	<-a.done
	return err
}

// progress sends a progress frame of a running task.
func (a *Agent) progress(t *Task, p protocol.TaskProgress) {
	data, err := encodeText(p)
	if err != nil || !a.maxFrame.fits(len(data)) { // what the server cannot take is dropped
		return
	}
	a.ledger.progress(t, func(b []byte) []byte {
		b = appendHead(b, protocol.TypeTaskProgress, "", time.Now())
		return protocol.AppendTail(append(b, data...))
	})
}

// pushFrame puts a frame that is rarely sent into an outbox.
func pushFrame(out *outbox, typ protocol.Type, id string, payload any) {
	data, err := json.Marshal(payload)
	if err != nil {
		return // payloads here are made of strings, numbers and checked JSON
	}
	out.push(false, func(b []byte) []byte {
		return protocol.AppendTail(append(appendHead(b, typ, id, time.Now()), data...))
	})
}
