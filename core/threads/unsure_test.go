package threads_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// unsureSends is a runtime that ended after each first typing of a message: it does not know what became of it.
type unsureSends struct {
	r *rig
	// typed is what the agent does with the message meanwhile; called once, with the agents' lock held. Nil: nothing.
	typed func(a *scripted)
	// asked is called each time that the runtime is asked about the message.
	asked func()

	mu    sync.Mutex // guards all below
	first string     // key of the message
	keys  []string   // by which a message was typed
}

func (u *unsureSends) send(in core.ManagedAgentInput) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.first == "" {
		u.first, u.keys = in.Key, append(u.keys, in.Key)
		if u.typed != nil {
			u.typed(&scripted{f: u.r.agents, r: u.r.agents.records[0]})
		}
	}
	if in.Key == u.first {
		if u.asked != nil {
			u.asked()
		}
		return runtimeError(core.CodeConflict, "DELIVERY_UNKNOWN")
	}
	u.keys = append(u.keys, in.Key)
	return nil
}

// suffixes returns the keys that were typed, without what they have in common.
func (u *unsureSends) suffixes() (list []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range u.keys {
		list = append(list, key[len(u.first):])
	}
	return list
}

func (s *scripted) turn(text string, o wire.TurnOutcome) {
	s.tell(core.EventManagedTurnComplete, core.AgentSignal{Text: text, TurnOutcome: o})
	s.tell(core.EventManagedReady, core.AgentSignal{})
}

// TestUnsureTurns has turns whose begin no event told: that of a message of which the runtime does not know whether it was
// taken is its turn however it ended. The message is not given to the agent a second time, unless the policy gives the work of a
// failed turn again.
func TestUnsureTurns(t *testing.T) {
	login := func(a *scripted) {
		a.r.LoginURL = "https://login.example"
		a.tell(core.EventManagedTurnComplete, core.AgentSignal{TurnOutcome: wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnLoginRequired}}})
		a.tell(core.EventManagedLogin, core.AgentSignal{LoginURL: a.r.LoginURL})
	}
	loggedIn := func(a *scripted) {
		a.r.LoginURL = ""
		a.tell(core.EventManagedReady, core.AgentSignal{})
	}
	restart := func(a *scripted) {
		a.tell(core.EventManagedStopped, core.AgentSignal{Reason: "stopped"})
		a.tell(core.EventManagedStarted, core.AgentSignal{})
		a.tell(core.EventManagedReady, core.AgentSignal{})
	}
	for name, tt := range map[string]struct {
		typed   func(a *scripted)
		blocked func(a *scripted) // once the thread is blocked
		retries int
		turns   int // that did not fail
		failed  int
		status  core.ThreadStatus
		keys    []string // behind the message's own
	}{
		"completed":   {typed: func(a *scripted) { a.turn("done", wire.TurnOutcome{}) }, turns: 1, status: core.ThreadReady, keys: []string{""}},
		"interrupted": {typed: func(a *scripted) { a.turn("", wire.TurnOutcome{Interrupted: true}) }, turns: 1, status: core.ThreadReady, keys: []string{""}},
		"refused":     {typed: func(a *scripted) { a.turn("", wire.TurnOutcome{Refused: true}) }, turns: 1, status: core.ThreadReady, keys: []string{""}},
		"failed":      {typed: func(a *scripted) { a.fail(wire.TurnModelError, false) }, failed: 1, status: core.ThreadFailed, keys: []string{""}},
		"failed, and to be tried again": {
			typed: func(a *scripted) { a.fail(wire.TurnModelUnavailable, true) }, retries: 1, turns: 1, failed: 1, status: core.ThreadReady, keys: []string{"", ".a1"},
		},
		"login":     {typed: login, blocked: loggedIn, turns: 1, failed: 1, status: core.ThreadReady, keys: []string{"", ".a1"}},
		"restarted": {typed: restart, turns: 1, status: core.ThreadReady, keys: []string{"", ".a1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := coretest.NewClock()
			r := newRig(t, clock)
			u := &unsureSends{r: r, typed: tt.typed}
			r.agents.send = u.send
			r.open()
			s := shellSpec("one")
			s.Policy.TurnRetries, s.Policy.IdleTimeoutMs = &tt.retries, (24 * time.Hour).Milliseconds()
			id := r.spawn(s).ID
			if tt.blocked != nil {
				r.untilStatus(id, core.ThreadBlocked)
				r.agents.do("", tt.blocked)
			}
			r.until(id, "the turns", func(rec *core.ThreadRecord) bool {
				clock.Advance(time.Second)
				return rec.TurnCount == tt.turns && rec.FailedTurns == tt.failed && rec.Status == tt.status &&
					(rec.Work == nil || rec.Work.Taken || rec.Status.Terminal())
			})
			for range 60 { // whatever would come by the clock
				clock.Advance(time.Second)
			}
			if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "two"}); err == nil {
				r.until(id, "the next turn", func(rec *core.ThreadRecord) bool {
					clock.Advance(time.Second)
					return rec.TurnCount == tt.turns+1
				})
				tt.keys = append(slices.Clone(tt.keys), u.suffixes()[len(tt.keys)])
			}
			if got := u.suffixes(); !slices.Equal(got, tt.keys) {
				t.Errorf("typed with the keys %q, want %q", got, tt.keys)
			}
		})
	}
}

// TestUnsureTurnEndsMeanwhile has the turn end, in each way, while the service is down as well.
func TestUnsureTurnEndsMeanwhile(t *testing.T) {
	for name, tt := range map[string]struct {
		outcome wire.TurnOutcome
		busy    bool
		status  core.ThreadStatus
	}{
		"completed":         {status: core.ThreadReady},
		"completed, begun":  {status: core.ThreadReady, busy: true},
		"interrupted":       {outcome: wire.TurnOutcome{Interrupted: true}, status: core.ThreadReady},
		"refused":           {outcome: wire.TurnOutcome{Refused: true}, status: core.ThreadReady},
		"failed":            {outcome: wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnModelError, Message: "no"}}, status: core.ThreadFailed},
		"failed, and begun": {outcome: wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnModelError, Message: "no"}}, busy: true, status: core.ThreadFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := coretest.NewClock()
			r := newRig(t, clock)
			asked := make(chan struct{}, 100)
			u := &unsureSends{r: r, asked: func() { asked <- struct{}{} }}
			r.agents.send = u.send
			r.open()
			s := shellSpec("one")
			s.Policy.IdleTimeoutMs = (24 * time.Hour).Milliseconds()
			id := r.spawn(s).ID
			<-asked
			r.Close()
			r.agents.do("", func(a *scripted) {
				if tt.busy {
					a.busy()
				}
				a.turn("", tt.outcome)
			})
			r.open()
			r.until(id, "the turn to be the message's", func(rec *core.ThreadRecord) bool {
				clock.Advance(time.Second)
				return rec.Status == tt.status && rec.SentSeq == 1
			})
			if got := u.suffixes(); len(got) != 1 {
				t.Errorf("typed with the keys %q", got)
			}
		})
	}
}

// TestTurnOutlivesService has the turn of a message run while the service is down and up again: the message does not wait any
// more, and is not typed again.
func TestTurnOutlivesService(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock)
	asked := make(chan struct{}, 100)
	u := &unsureSends{r: r, asked: func() { asked <- struct{}{} }}
	r.agents.send = u.send
	r.open()
	s := shellSpec("one")
	s.Policy.IdleTimeoutMs = (24 * time.Hour).Milliseconds()
	id := r.spawn(s).ID
	<-asked
	r.Close()
	r.agents.do("", func(a *scripted) {
		a.f.taken[u.first] = "one"
		a.busy()
	})
	r.open()
	r.until(id, "the message to have been taken while its turn runs", func(rec *core.ThreadRecord) bool {
		clock.Advance(time.Second)
		return rec.Status == core.ThreadRunning && rec.SentSeq == 1 && rec.QueuedInputs == 0
	})
	r.agents.do("", func(a *scripted) { a.turn("done", wire.TurnOutcome{}) })
	r.until(id, "the turn to be the message's", func(rec *core.ThreadRecord) bool {
		return rec.Status == core.ThreadReady && rec.TurnCount == 1 && rec.Work == nil
	})
	if got := u.suffixes(); !slices.Equal(got, []string{""}) {
		t.Errorf("typed with the keys %q", got)
	}
}

// TestUnsureThenBlocked has the turn of such a message begin late, and ask something: the agent refuses the second typing
// because of the first.
func TestUnsureThenBlocked(t *testing.T) {
	for name, told := range map[string]func(a *scripted){
		"begun":             func(a *scripted) { a.busy() },
		"not seen to begin": func(*scripted) {},
		"not in the record": func(a *scripted) { a.f.held = make(chan struct{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := coretest.NewClock()
			r := newRig(t, clock)
			var taken []string
			asked := false
			r.agents.send = func(in core.ManagedAgentInput) error {
				switch {
				case !strings.Contains(in.Key, "."):
					return runtimeError(core.CodeConflict, "DELIVERY_UNKNOWN")
				case !asked:
					asked = true
					a := &scripted{f: r.agents, r: r.agents.records[0]}
					told(a)
					a.ask("p-1", "approval", "Bash", "Run make?")
					return runtimeError(core.CodeConflict, "BLOCKED")
				}
				taken = append(taken, in.Key)
				return nil
			}
			r.open()
			s := shellSpec("one")
			s.Policy.IdleTimeoutMs = (24 * time.Hour).Milliseconds()
			id := r.spawn(s).ID
			r.until(id, "the prompt", func(rec *core.ThreadRecord) bool {
				clock.Advance(time.Second)
				return rec.Status == core.ThreadBlocked
			})
			r.agents.do("", func(a *scripted) {
				a.turn("done", wire.TurnOutcome{})
				if a.f.held != nil {
					close(a.f.held)
				}
			})
			r.until(id, "the turn to be the message's", func(rec *core.ThreadRecord) bool {
				clock.Advance(time.Second)
				return rec.TurnCount == 1 && rec.SentSeq == 1 && rec.Status == core.ThreadReady
			})
			r.agents.mu.Lock()
			defer r.agents.mu.Unlock()
			if len(taken) > 0 {
				t.Errorf("it was typed again, as %q", taken)
			}
		})
	}
}

// TestRefusedIsNotTaken has another's turn run while an agent takes no message, and then the agent be lost: its message is given
// to it, and not a word to go on with the work of that turn.
func TestRefusedIsNotTaken(t *testing.T) {
	for name, after := range map[string]func(a *scripted){
		"lost": func(a *scripted) { a.lose() },
		"restarted": func(a *scripted) {
			a.tell(core.EventManagedStarted, core.AgentSignal{})
			a.tell(core.EventManagedReady, core.AgentSignal{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, core.SystemClock{})
			refused := make(chan struct{}, 1)
			first := true
			r.agents.send = func(core.ManagedAgentInput) error {
				if !first {
					return nil
				}
				first = false
				refused <- struct{}{}
				return runtimeError(core.CodeConflict, "BLOCKED")
			}
			r.open()
			id := r.spawn(shellSpec("one")).ID
			<-refused
			r.until(id, "the refusal", func(rec *core.ThreadRecord) bool { return rec.Work != nil && rec.Work.Refused })
			r.agents.do("", func(a *scripted) { a.busy() })
			r.untilStatus(id, core.ThreadRunning)
			r.agents.do("", after)
			r.until(id, "the turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 && rec.QueuedInputs == 0 })
			if got := r.agents.messages(); !slices.Equal(got, []string{"one"}) {
				t.Errorf("the agent got %q", got)
			}
		})
	}
}
