package agentcli

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/clip"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	lastLines    = 5 // of the screen that go into a reason
	closeTimeout = 5 * time.Second
)

// end stops the process: politely, then with SIGTERM, then by force. It returns when nothing is left of it. UNAVAILABLE when
// it got out of reach before.
func (s *session) end(ctx context.Context, opts runtime.StopOptions) error {
	if err := s.stopper.stop(ctx, opts); err != nil {
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

// typeExit has typed what ends the CLI, if there is such a thing.
func (s *session) typeExit() {
	if steps := s.driver.Exit(); len(steps) > 0 && !s.over {
		s.typist.put(&typing{steps: steps})
	}
}

// exited handles that the process has ended, and that its last output was seen.
func (s *session) exited(exit runtime.Exit, err error, outOfMemory bool) {
	if s.over {
		return
	}
	lost := err != nil
	if !lost && s.delivery.afterTyping(func() { s.exited(exit, err, outOfMemory) }) {
		return
	}
	s.fusion.unblock(runtime.SourceExit, "")
	s.fusion.release(Signal{Source: runtime.SourceExit})
	if s.fusion.turn != nil {
		why := &runtime.TurnError{Code: wire.TurnAgentEnded, Message: "the agent ended within the turn", Retryable: true}
		s.fusion.failTurn(runtime.SourceExit, why)
	}
	s.dirty = s.book.lines(true) || s.dirty
	if !s.ready {
		s.tellScreen()
	}
	reason := s.exitReason(exit, lost, outOfMemory)
	if s.unresumable(lost || strings.HasPrefix(reason, runtime.ReasonLost)) {
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

// exitReason returns why the process ended.
func (s *session) exitReason(exit runtime.Exit, lost, outOfMemory bool) string {
	switch cause := stopCause(s.stopper.cause.Load()); {
	case cause == stopKilled:
		return runtime.ReasonKilled
	case cause == stopAsked:
		return runtime.ReasonStopped
	case outOfMemory:
		return runtime.ReasonOutOfMemory
	case lost:
		return runtime.ReasonLost
	case strings.HasPrefix(exit.Reason, runtime.ReasonLost+":"): // the place where it ran took it away, and says why
		return exit.Reason
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
	said = strings.Split(s.redact.text(strings.Join(said, "\n")), "\n")
	said = said[max(0, len(said)-lastLines):]
	return clip.Text(strings.Join(said, " | "), 500)
}

// tellScreen writes the visible screen to the log: a start that failed is explained by it.
func (s *session) tellScreen() {
	rows, _, _ := s.display.text()
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	if len(rows) > 0 {
		s.book.record(runtime.StreamTerminal, s.redact.text(strings.Join(rows, "\n")))
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
