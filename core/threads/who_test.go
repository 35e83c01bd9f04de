package threads_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// Events of a thread say who caused them: who sent the message that the agent works on, and who ended the thread.
func TestWhoDidIt(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	as := func(id string) func(core.EventType) string {
		return func(kind core.EventType) string {
			by := "no such event"
			page, _, _ := r.store.Events(r.ctx, id, 0, 1000)
			for _, e := range page {
				if e.Type == kind {
					by = e.By
				}
			}
			return by
		}
	}
	r.agents.script = func(a *scripted, _ string) { a.busy(); a.end("done") }
	id := r.readied(spec())
	by := as(id)
	ann := core.WithPrincipal(r.ctx, core.Principal{Kind: core.PrincipalUser, ID: "ann"})
	if _, err := r.SendThread(ann, id, core.ThreadInput{Message: "go on"}); err != nil {
		t.Fatal(err)
	}
	r.until(id, "a turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 2 && rec.Status == core.ThreadReady })
	if got := by(core.EventThreadTurnComplete); got != "ann" {
		t.Errorf("the turn is by %q", got)
	}
	bob := core.WithPrincipal(r.ctx, core.Principal{Kind: core.PrincipalUser, ID: "bob"})
	if err := r.StopThread(bob, id, core.ThreadStop{}); err != nil {
		t.Fatal(err)
	}
	r.untilStatus(id, core.ThreadStopped)
	if got := by(core.EventThreadStopped); got != "bob" {
		t.Errorf("the stop is by %q", got)
	}
	if got := by(core.EventThreadStarted); got != core.System.ID {
		t.Errorf("the start of the agent is by %q", got)
	}
}

// Messages that are stored together are put down to who sent each.
func TestSendsOfTwoAtOnce(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, _ string) { a.busy() }
	r.open()
	id := r.spawn(shellSpec("one")).ID
	r.until(id, "the first to be taken", func(rec *core.ThreadRecord) bool { return rec.SentSeq == 1 && rec.Work != nil && rec.Work.Begun })
	const rounds = 50
	people := []string{"ann", "bob", "cid", "dan"}
	var sent sync.WaitGroup
	for i := range rounds {
		sent.Go(func() {
			who := core.WithPrincipal(r.ctx, core.Principal{Kind: core.PrincipalUser, ID: people[i%len(people)]})
			if _, err := r.SendThread(who, id, core.ThreadInput{Message: fmt.Sprint("m", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	sent.Wait()
	page, _, err := r.store.Events(r.ctx, id, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page {
		if by := field(e, "createdBy"); e.Type == core.EventThreadInput && e.By != by {
			t.Errorf("a message of %q is put down to %q", by, e.By)
		}
	}
}
