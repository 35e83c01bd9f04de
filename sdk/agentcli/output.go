package agentcli

import (
	"fmt"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	pauseAfter  = 30 * time.Millisecond  // the output pauses when nothing came for so long
	screenEvery = 250 * time.Millisecond // without a pause, the driver sees the screen so often
)

// output handles that output came.
func (s *session) output() {
	s.feeder.noted.Store(false)
	if s.over {
		return
	}
	s.outputAt = time.Now()
	if w, ok := s.driver.(outputWatcher); ok && !s.behind {
		w.output(s.display.drawn())
	}
	if s.pauseTimer == nil {
		s.pauseTimer = s.after(pauseAfter, s.pause)
	}
	if s.watching && !s.behind && !s.lastScreen.IsZero() && time.Since(s.lastScreen) >= screenEvery {
		s.showScreen()
	}
	s.check.moved(s)
	if time.Since(s.book.lastLogged) >= logEvery {
		s.dirty = s.book.lines(false) || s.dirty
	}
}

// pause handles that no output came for a while.
func (s *session) pause() {
	s.pauseTimer = nil
	if rest := pauseAfter - s.display.quiet(); rest > 0 {
		s.pauseTimer = s.after(rest, s.pause)
		return
	}
	if s.watching && !s.behind {
		s.showScreen()
	}
	s.dirty = s.book.lines(false) || s.dirty
}

// showScreen lets the driver look at the screen.
func (s *session) showScreen() {
	s.lastScreen = time.Now()
	rows, row, col := s.display.text()
	s.watching = s.driver.Screen(rows, row, col)
	s.dirty = true
}

// commands gives the driver what the agent told through its terminal.
func (s *session) commands(oscs []osc) {
	if s.over {
		return
	}
	for _, o := range oscs {
		if o.end <= s.doneTo {
			continue // an earlier process did it
		}
		s.doneTo = o.end
		// What an earlier process reported goes to the driver again, and nowhere else.
		s.replays = o.end <= s.toldTo
		s.driver.OSC(o.code, o.data)
		s.replays = false
	}
	s.dirty = true
}

// emit reports what happened to the agent as it is now.
func (s *session) emit(e runtime.Event) {
	e.AgentID, e.Time = s.a.id, s.o.Now().UTC()
	s.dirty = true
	s.publish()
	e.Agent = s.agent
	e.Agent.LastActivityAt = s.activity(s.agent.LastActivityAt)
	e.Agent.Handle = runtime.Handle{ID: s.a.id}
	if e.Type == runtime.EventStarted {
		e.Agent.Handle = s.a.handle()
	}
	if err := s.events.Append(&e, s.doneTo); err != nil {
		s.logger.Error("an event is not stored", "event", string(e.Type), "error", err)
	}
	s.seq, s.agent.Seq = e.Seq, e.Seq
	s.publish()
	s.book.note(describe(&e))
}

// describe is an event as a line of the log.
func describe(e *runtime.Event) string {
	parts := []string{string(e.Type)}
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	switch {
	case e.Prompt != nil:
		add(e.Prompt.ID)
		add(e.Prompt.Tool)
		add(e.Answered)
	case e.Tool != nil:
		add(e.Tool.Name)
	case e.Turn > 0:
		add(fmt.Sprintf("turn %d", e.Turn))
	}
	add(e.LoginURL)
	add(e.Reason)
	if e.Exit != nil {
		add(fmt.Sprintf("exit code %d", e.Exit.Code))
	}
	if e.Interrupted {
		add("interrupted")
	}
	if e.Refused {
		add("refused")
	}
	if e.Error != nil {
		add("failed: " + e.Error.Code + ": " + e.Error.Message)
	}
	return strings.Join(parts, " ")
}
