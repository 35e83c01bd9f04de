package threads_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

// fullLife scripts an agent that is asked twice, is lost once, and completes.
func fullLife(a *scripted, text string) {
	switch {
	case strings.HasPrefix(text, "Fix the parser"):
		a.busy()
		a.ask("p-1", "approval", "Bash", "Run make?")
	case text == "answer p-1 allow":
		a.say("It was built.")
		a.end("It was built.")
	case text == "second":
		a.busy()
		a.ask("p-2", "question", "", "Which one?")
	case text == "answer p-2 deny":
		a.end("None.")
		a.lose()
	case text == "third":
		a.busy()
		a.end(block("complete", "The parser is fixed"))
	}
}

func lifeSpec() core.ThreadSpec {
	s := spec()
	s.Preparation.Env = map[string]string{"TOKEN": "secret-value"}
	s.Preparation.Workspace = &core.WorkspaceSpec{Repo: "app"}
	s.Policy.SummarizeAfterTurns = 2
	s.Policy.Finish = &core.ThreadFinish{Commit: true}
	s.Policy.AutoAnswer = []core.AutoAnswerRule{{Tool: "Bash", Answer: "allow"}}
	return s
}

// live does once what people do in that life. It returns what stands in the way of more; nil once the thread is over.
func (r *rig) live() error {
	id := r.store.claimed("spawn")
	if id == "" {
		ctx := core.WithIdempotency(r.ctx, &core.IdempotencyClaim{Key: "spawn"})
		_, err := r.SpawnThread(ctx, lifeSpec())
		return errors.Join(err, errMore)
	}
	for _, text := range []string{"second", "third"} {
		sent := r.store.claimed(text) != ""
		// The agent is lost after the second: what is sent before that is seen is given to it twice, or not.
		if !sent && text == "third" && r.record(id).Restarts == 0 {
			break
		}
		if !sent {
			_, err := r.SendThread(core.WithIdempotency(r.ctx, &core.IdempotencyClaim{Key: text}), id, core.ThreadInput{Message: text})
			return errors.Join(err, errMore)
		}
	}
	rec := r.record(id)
	if rec.Status.Terminal() {
		return nil
	}
	if rec.Status == core.ThreadBlocked && strings.Contains(string(rec.Prompt), "p-2") {
		_, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{PromptID: "p-2", Choice: "deny"})
		return errors.Join(err, errMore)
	}
	return errMore
}

var errMore = errors.New("there is more to do")

// trouble is done once by the store of a life.
type trouble struct {
	after  int  // writes after which it fails; -1: it does not
	goesOn bool // the service lives on while it does, until there is room again
	lose   int  // the write that is stored, and answered as one that is not; 0: none
}

// lifeOf lives a life with a trouble. It returns how many writes there were.
func lifeOf(t *testing.T, with trouble) (events []string, end string, writes int) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = fullLife
	if with.after >= 0 {
		r.store.failAfter(with.after)
	}
	r.store.Lose(with.lose)
	r.open()
	deadline := time.Now().Add(30 * time.Second)
	over := with.after < 0
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for r.live() != nil {
		if time.Now().After(deadline) {
			id := r.store.claimed("spawn")
			t.Fatalf("%+v: the thread does not end: %q, %+v", with, r.kinds(id), r.record(id))
		}
		if !over {
			select {
			case <-r.store.Failed():
				over = true
				if !with.goesOn {
					r.Close()
				}
				r.store.Heal()
				if !with.goesOn {
					r.open()
				}
			default:
			}
		}
		<-tick.C
	}
	rec := r.record(r.store.claimed("spawn"))
	end = fmt.Sprint(rec.Status, rec.StatusReason, rec.TurnCount, rec.EventCount, rec.Restarts, rec.InputSeq, rec.SentSeq,
		*rec.Completion, rec.Error, len(rec.SealedEnv), rec.Ending, r.agents.order[1:], len(r.agents.records), r.agents.revived,
		r.agents.running(), len(r.waiting(rec.ID)), len(r.store.lessons()), r.store.execution(rec.ExecutionID).Status)
	return r.kinds(rec.ID), strings.NewReplacer(fmt.Sprintf("%p", rec.Completion.Tests), "", fmt.Sprintf("%p", rec.Completion.Changes), "").Replace(end), r.store.Stored()
}

// TestCrashes kills the service after each of its transactions: the life goes on as if nothing had happened.
func TestCrashes(t *testing.T) { everyWrite(t, func(n int) trouble { return trouble{after: n} }) }

// TestDiskFull has each transaction fail for want of room, while the service lives on: the life goes on once there is room.
func TestDiskFull(t *testing.T) {
	everyWrite(t, func(n int) trouble { return trouble{after: n, goesOn: true} })
}

// TestLostAnswers has the store answer each transaction of a life in turn as one that failed, though it is stored: the life goes on as
// if nothing had happened.
func TestLostAnswers(t *testing.T) {
	everyWrite(t, func(n int) trouble { return trouble{after: -1, lose: n + 1} })
}

// everyWrite compares a life with those that have trouble at each of its writes.
func everyWrite(t *testing.T, at func(n int) trouble) {
	events, end, writes := lifeOf(t, trouble{after: -1})
	t.Logf("%d writes, %q, %s", writes, events, end)
	for n := range writes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			gotEvents, gotEnd, _ := lifeOf(t, at(n))
			if !slices.Equal(gotEvents, events) {
				t.Errorf("events\n got %q\nwant %q", gotEvents, events)
			}
			if gotEnd != end {
				t.Errorf("end\n got %s\nwant %s", gotEnd, end)
			}
		})
	}
}
