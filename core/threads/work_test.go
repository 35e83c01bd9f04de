package threads_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// agentEnded is the outcome of a turn whose process ended.
var agentEnded = wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnAgentEnded, Message: "the agent ended"}}

const goOn = "(The session broke off and was resumed. Go on with what you were doing.)"

// lossOf has an agent be lost with its first message while another waits, in one of several ways, in a life whose store
// fails once after so many writes; -1: never. It returns what the agent got and what the thread told of that.
func lossOf(t *testing.T, how string, crashAfter int) (messages, told []string, writes int) {
	r := newRig(t, core.SystemClock{})
	lose := true
	r.agents.script = func(a *scripted, text string) {
		if lose {
			lose = false
			switch how {
			case "before its turn":
			case "within its turn", "restarted":
				a.busy()
				a.say("I am at it.")
			case "as its turn began":
				a.busy()
			case "with an error":
				a.busy()
				a.tell(core.EventManagedTurnComplete, core.AgentSignal{TurnOutcome: agentEnded})
			}
			if how == "restarted" { // by hand
				a.tell(core.EventManagedStopped, core.AgentSignal{Reason: "stopped"})
				a.tell(core.EventManagedStarted, core.AgentSignal{})
				a.tell(core.EventManagedReady, core.AgentSignal{})
				return
			}
			a.lose()
			return
		}
		a.busy()
		a.end("did " + text)
	}
	if crashAfter >= 0 {
		r.store.failAfter(crashAfter)
	}
	r.open()
	s := shellSpec("one")
	s.Policy.CompleteAfterTurns = 2
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if crashAfter >= 0 {
			select {
			case <-r.store.Failed():
				crashAfter = -1
				r.Close()
				r.store.Heal()
				r.open()
			default:
			}
		}
		id, sent := r.store.claimed("spawn"), r.store.claimed("two") != ""
		switch {
		case id == "":
			_, _ = r.SpawnThread(core.WithIdempotency(r.ctx, &core.IdempotencyClaim{Key: "spawn"}), s)
		case !sent:
			_, _ = r.SendThread(core.WithIdempotency(r.ctx, &core.IdempotencyClaim{Key: "two"}), id, core.ThreadInput{Message: "two"})
		case r.record(id).Status.Terminal():
			for _, kind := range r.kinds(id) {
				if strings.HasPrefix(kind, "thread_status input_") {
					told = append(told, strings.TrimPrefix(kind, "thread_status "))
				}
			}
			if rec := r.record(id); rec.Status != core.ThreadCompleted || rec.Work != nil || len(r.waiting(id)) > 0 {
				t.Errorf("%s: %s (%s), work %+v, %q wait", how, rec.Status, rec.StatusReason, rec.Work, r.waiting(id))
			}
			return r.agents.messages(), told, r.store.Stored()
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: the thread does not end: %q, %+v, %q", how, r.kinds(id), r.record(id), r.agents.messages())
		}
		<-tick.C
	}
}

// TestLostAfterTurn has an agent take a message, answer it and be lost before it is known that the message was taken: the
// turn is the message's, and there is nothing to go on with.
func TestLostAfterTurn(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	asked := 0
	r.agents.send = func(in core.ManagedAgentInput) error {
		s := &scripted{f: r.agents, r: r.agents.records[0]}
		if asked++; asked == 1 {
			s.busy()
			s.end("done")
		}
		if rec, err := r.store.FindThread(r.ctx, r.store.claimed("spawn")); err != nil || rec.Work == nil || rec.Work.Ended == nil {
			return &core.Error{Code: core.CodeAgentError, Message: "the runtime is away", Unavailable: true}
		}
		r.agents.taken[in.Key], r.agents.order = in.Message, append(r.agents.order, in.Message)
		s.lose()
		r.agents.send = nil
		return runtimeError(core.CodeConflict, "NOT_RUNNING")
	}
	r.open()
	th, err := r.SpawnThread(core.WithIdempotency(r.ctx, &core.IdempotencyClaim{Key: "spawn"}), shellSpec("one"))
	if err != nil {
		t.Fatal(err)
	}
	rec := r.until(th.ID, "the message to be settled", func(rec *core.ThreadRecord) bool {
		return rec.Restarts == 1 && rec.Work == nil && rec.SentSeq == rec.InputSeq
	})
	if got := r.agents.messages(); !slices.Equal(got, []string{"one"}) || rec.TurnCount != 1 {
		t.Errorf("the agent got %q in %d turns", got, rec.TurnCount)
	}
}

// TestLostWithMessage has an agent be lost while it works on a message and others wait: the message, or a word to go on,
// comes before them, and an event tells which. The service is killed after each of its transactions on the way.
func TestLostWithMessage(t *testing.T) {
	for _, tt := range []struct {
		how      string
		messages []string
		told     []string
	}{
		{"before its turn", []string{"one", "one", "two"}, []string{"input_repeated"}},
		{"as its turn began", []string{"one", goOn, "two"}, []string{"input_resumed"}},
		{"within its turn", []string{"one", goOn, "two"}, []string{"input_resumed"}},
		{"with an error", []string{"one", goOn, "two"}, []string{"input_resumed"}},
		{"restarted", []string{"one", goOn, "two"}, []string{"input_resumed"}},
	} {
		t.Run(tt.how, func(t *testing.T) {
			messages, told, writes := lossOf(t, tt.how, -1)
			if !slices.Equal(messages, tt.messages) || !slices.Equal(told, tt.told) {
				t.Fatalf("the agent got %q, the thread told %q", messages, told)
			}
			for n := range writes {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					t.Parallel()
					messages, told, _ := lossOf(t, tt.how, n)
					if !slices.Equal(messages, tt.messages) || !slices.Equal(told, tt.told) {
						t.Errorf("the agent got %q, the thread told %q", messages, told)
					}
				})
			}
		})
	}
}
