package agentcli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/clip"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// stopCause says why a process is about to end.
type stopCause int32

const (
	notStopping stopCause = iota
	stopAsked             // Stop asked it to
	stopKilled            // Stop killed it
)

const (
	defaultGrace = 5 * time.Second
	maxGrace     = 10 * time.Minute
	lastLines    = 5 // of the screen that go into a reason
	closeTimeout = 5 * time.Second
)

// end stops the process: politely, then with SIGTERM, then by force. It returns when nothing is left of it. UNAVAILABLE when
// it got out of reach before.
func (s *session) end(ctx context.Context, opts runtime.StopOptions) error {
	if err := s.endProcess(ctx, opts); err != nil {
		return err
	}
	select {
	case <-s.ended:
		if s.away {
			return errUnreachable(s.a.id)
		}
	default:
	}
	return nil
}

func (s *session) endProcess(ctx context.Context, opts runtime.StopOptions) error {
	grace := min(opts.Grace, maxGrace)
	if grace <= 0 {
		grace = defaultGrace
	}
	if !opts.Force {
		s.stopping.CompareAndSwap(int32(notStopping), int32(stopAsked))
		if done, err := s.endPolitely(ctx, grace); done || err != nil {
			return err
		}
	}
	s.stopping.Store(int32(stopKilled))
	if err := s.proc.Kill(ctx); err != nil && !errors.Is(err, ErrGone) {
		select {
		case <-s.ended:
			return nil
		default:
			return stopError(ctx, err)
		}
	}
	return s.waitEnd(ctx)
}

// endPolitely gives the process the grace; done if it ended.
func (s *session) endPolitely(ctx context.Context, grace time.Duration) (done bool, err error) {
	deadline := time.Now().Add(grace)
	s.mail.post(func() {
		if steps := s.driver.Exit(); len(steps) > 0 && !s.over {
			s.typist.put(&typing{steps: steps})
		}
	})
	if s.endsBy(ctx, time.Now().Add(grace/2)) {
		return true, nil
	}
	if err := s.proc.Interrupt(ctx); err != nil && !errors.Is(err, ErrGone) && ctx.Err() == nil {
		s.logger.Debug("SIGTERM failed", "error", err)
	}
	if s.endsBy(ctx, deadline) {
		return true, nil
	}
	if ctx.Err() != nil {
		return false, stopError(ctx, ctx.Err())
	}
	return false, nil
}

func (s *session) endsBy(ctx context.Context, deadline time.Time) bool {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-s.ended:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (s *session) waitEnd(ctx context.Context) error {
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return stopError(ctx, ctx.Err())
	}
}

func stopError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return runtime.Errorf(runtime.CodeTimeout, "the agent did not end in time")
	}
	var e *runtime.Error
	if errors.As(err, &e) {
		return e
	}
	return runtime.Errorf(runtime.CodeInternal, "the agent could not be ended")
}

// exited handles that the process has ended, and that its last output was seen.
func (s *session) exited(exit runtime.Exit, err error, outOfMemory bool) {
	if s.over {
		return
	}
	lost := err != nil
	s.unblock(runtime.SourceExit, "")
	s.release(Signal{Source: runtime.SourceExit})
	if s.turn != nil {
		why := &runtime.TurnError{Code: wire.TurnAgentEnded, Message: "the agent ended within the turn", Retryable: true}
		s.failTurn(runtime.SourceExit, why)
	}
	s.logLines()
	if !s.ready {
		s.tellScreen()
	}
	reason := s.exitReason(lost, outOfMemory)
	if s.unresumable(lost) {
		s.beginAnew(reason)
		return
	}
	exit.Reason, _, _ = strings.Cut(reason, ":")
	s.agent.Status, s.agent.Reason, s.agent.Prompt, s.agent.LoginURL = runtime.StatusStopped, reason, nil, ""
	event := runtime.Event{Type: runtime.EventStopped, Source: runtime.SourceExit, Reason: reason}
	if !lost {
		code := exit.Code
		s.agent.ExitCode, event.Exit = &code, &exit
	}
	s.emit(event)
	if err := s.keepLast(); err != nil {
		s.logger.Warn("the last screen of the agent is not kept", "error", err)
	}
	s.over = true
	s.exitCause = &exit
	s.a.stopped(s.agent, event.Exit, s.display.offset(), s.o.Now().UTC(), s.logger)
	s.display.finish(&exit)
}

// exitReason tells why the process ended.
func (s *session) exitReason(lost, outOfMemory bool) string {
	switch cause := stopCause(s.stopping.Load()); {
	case cause == stopKilled:
		return runtime.ReasonKilled
	case cause == stopAsked:
		return runtime.ReasonStopped
	case outOfMemory:
		return runtime.ReasonOutOfMemory
	case lost:
		return runtime.ReasonLost
	case !s.ready:
		if said := s.lastWords(); said != "" {
			return runtime.ReasonExitedAtStart + ": " + said
		}
		return runtime.ReasonExitedAtStart
	default:
		return runtime.ReasonExited
	}
}

// lastWords are the last lines that the process showed.
func (s *session) lastWords() string {
	var said []string
	rows, _, _ := s.display.text()
	for _, row := range rows {
		if row = strings.TrimSpace(row); row != "" {
			said = append(said, row)
		}
	}
	said = said[max(0, len(said)-lastLines):]
	return s.redact.text(clip.Text(strings.Join(said, " | "), 500))
}

// tellScreen writes the visible screen to the log: a start that failed is told by it.
func (s *session) tellScreen() {
	rows, _, _ := s.display.text()
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	if len(rows) > 0 {
		s.record(runtime.StreamTerminal, s.redact.text(strings.Join(rows, "\n")))
	}
}

// notReady handles that the agent did not get ready in time. It may still do so.
func (s *session) notReady() {
	s.readyTimer = nil
	if s.ready || s.agent.Status != runtime.StatusStarting {
		return
	}
	s.tellScreen()
	s.agent.Status, s.agent.Reason = runtime.StatusError, runtime.ReasonNotReady
	s.emit(runtime.Event{Type: runtime.EventError, Source: runtime.SourceHost, Reason: runtime.ReasonNotReady})
}

// letGo ends the session and leaves the agent running.
func (s *session) letGo() {
	if s.over {
		return
	}
	s.dirty = true
	s.store()
	if state, err := json.Marshal(s.state()); err == nil {
		// The goroutines' context has ended already, and this is what they leave behind.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeTimeout)
		if _, err := s.keepScreen(ctx, state); err != nil {
			s.logger.Warn("the screen is not kept", "error", err)
		}
		cancel()
	}
	s.over = true
	s.display.finish(nil)
}

// keepLast keeps the last screen of a process that ended.
func (s *session) keepLast() error {
	state, err := json.Marshal(s.state())
	if err != nil {
		return err
	}
	screen, offset := s.display.snapshot()
	return saveScreen(s.a.dir, s.life, offset, encodeNote(state, screen))
}
