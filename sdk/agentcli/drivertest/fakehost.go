package drivertest

import (
	"encoding/json"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// FakeHost is a Host whose time passes by Pass, for tests of a driver without its CLI. It is used from one
// goroutine.
type FakeHost struct {
	Signals []agentcli.Signal
	Typed   []agentcli.Step // on the driver's own account
	Screen  []string
	Draft   bool // what Drafted tells

	now    time.Time
	timers []*fakeTimer
	reads  []func()
}

type fakeTimer struct {
	at time.Time
	fn func()
}

// Signal implements agentcli.Host.
func (h *FakeHost) Signal(s agentcli.Signal) { h.Signals = append(h.Signals, s) }

// After implements agentcli.Host.
func (h *FakeHost) After(d time.Duration, fn func()) (cancel func()) {
	t := &fakeTimer{at: h.now.Add(d), fn: fn}
	h.timers = append(h.timers, t)
	return func() { t.fn = nil }
}

// Rows implements agentcli.Host.
func (h *FakeHost) Rows() []string { return h.Screen }

// BracketedPaste implements agentcli.Host.
func (h *FakeHost) BracketedPaste() bool { return true }

// Now implements agentcli.Host.
func (h *FakeHost) Now() time.Time { return h.now }

// Do implements agentcli.Host: fn and done run at the next Pass.
func (h *FakeHost) Do(fn, done func()) {
	h.reads = append(h.reads, func() { fn(); done() })
}

// Type implements agentcli.Typist.
func (h *FakeHost) Type(steps []agentcli.Step) { h.Typed = append(h.Typed, steps...) }

// Drafted implements agentcli.Drafts.
func (h *FakeHost) Drafted() bool { return h.Draft }

// Pass lets time pass.
func (h *FakeHost) Pass(d time.Duration) {
	for end := h.now.Add(d); ; {
		for len(h.reads) > 0 {
			reads := h.reads
			h.reads = nil
			for _, read := range reads {
				read()
			}
		}
		sort.SliceStable(h.timers, func(i, j int) bool { return h.timers[i].at.Before(h.timers[j].at) })
		if len(h.timers) == 0 || h.timers[0].at.After(end) {
			h.now = end
			return
		}
		t := h.timers[0]
		h.timers = h.timers[1:]
		h.now = t.at
		if fn := t.fn; fn != nil {
			fn()
		}
	}
}

// Kinds returns the signals since the last call in short: their kinds, with text, choice or address in brackets, ! for an
// interrupted turn, and (refused) or the code of an error, as (MODEL_CUT).
func (h *FakeHost) Kinds() string {
	var words []string
	for _, s := range h.Signals {
		word := string(s.Kind)
		for _, detail := range []string{s.Text, s.Choice, s.URL} {
			if detail != "" {
				word += "[" + detail + "]"
			}
		}
		if s.Prompt != nil && s.Kind == agentcli.SignalBlocked {
			word += "[" + s.Prompt.Text + "]"
		}
		if s.Interrupted {
			word += "!"
		}
		if s.Refused {
			word += "(refused)"
		}
		if s.Error != nil {
			word += "(" + s.Error.Code + ")"
		}
		words = append(words, word)
	}
	h.Signals = nil
	return strings.Join(words, " ")
}

// Keystrokes returns what was typed since the last call.
func (h *FakeHost) Keystrokes() string {
	keys := Keystrokes(h.Typed, h.Screen...)
	h.Typed = nil
	return keys
}

// Keystrokes joins what steps type while a screen has the given rows.
func Keystrokes(steps []agentcli.Step, rows ...string) string {
	var b strings.Builder
	for _, s := range steps {
		if s.If == nil || s.If(rows) {
			b.Write(s.Write)
		}
	}
	return b.String()
}

// FakeCall is a call of a hook, and its answer.
type FakeCall struct {
	Call     *agentcli.HookCall
	Answered bool
	Answer   string
	done     chan struct{}
}

// Call makes a call of a hook with a payload, which is written as JSON.
func Call(tb testing.TB, name string, payload map[string]any) *FakeCall {
	tb.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		tb.Fatal(err)
	}
	c := &FakeCall{done: make(chan struct{})}
	c.Call = agentcli.NewHookCall(name, b, c.done, func(body []byte) { c.Answered, c.Answer = true, string(body) })
	return c
}

// Leave is what a CLI does that does not wait any more.
func (c *FakeCall) Leave() { close(c.done) }

var _ agentcli.Typist = (*FakeHost)(nil)
