package threads_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func idleSpec() core.ThreadSpec {
	s := spec()
	s.Policy.IdleTimeoutMs = 60_000
	return s
}

// readied is a thread whose objective was done and that waits.
func (r *rig) readied(s core.ThreadSpec) string {
	r.t.Helper()
	id := r.spawn(s).ID
	r.until(id, "the first turn", func(rec *core.ThreadRecord) bool {
		return rec.TurnCount == 1 && rec.Status == core.ThreadReady && rec.SentSeq == rec.InputSeq
	})
	return id
}

func TestIdle(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock).open()
	id := r.readied(idleSpec())
	advance(clock, 59*time.Second)
	if rec := r.record(id); rec.Status != core.ThreadReady {
		t.Fatalf("it is %s before its time", rec.Status)
	}
	r.advanceUntil(clock, id, core.ThreadIdle, 2*time.Second)
	r.reopen() // the time goes on
	advance(clock, 100*time.Second)
	if rec := r.record(id); rec.Status != core.ThreadIdle {
		t.Fatalf("it is %s before three times the time", rec.Status)
	}
	rec := r.advanceUntil(clock, id, core.ThreadStopped, 60*time.Second)
	if rec.StatusReason != core.ThreadReasonIdle || rec.Completion.State != core.CompletionPartial {
		t.Errorf("stopped with %q, %+v", rec.StatusReason, rec.Completion)
	}
	if len(r.store.lessons()) != 1 || r.store.lessons()[0].Outcome != core.ExperiencePartial {
		t.Errorf("experiences %+v", r.store.lessons())
	}
}

func TestInputWakes(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock).open()
	id := r.readied(idleSpec())
	advance(clock, 59*time.Second)
	rec := r.advanceUntil(clock, id, core.ThreadIdle, time.Second)
	advance(clock, 110*time.Second-clock.Now().Sub(*rec.IdleSince)) // the clock may have gone on before it was seen
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "more"}); err != nil {
		t.Fatal(err)
	}
	r.until(id, "the second turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 2 && rec.Status == core.ThreadReady })
	advance(clock, 30*time.Second)
	if rec := r.record(id); rec.Status != core.ThreadReady || rec.IdleSince != nil {
		t.Errorf("it is %s since %v", rec.Status, rec.IdleSince)
	}
}

func TestBlockedIsNotIdle(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock)
	r.agents.script = func(a *scripted, _ string) {
		a.busy()
		a.ask("p-1", "approval", "Bash", "Run?")
	}
	r.open()
	id := r.spawn(idleSpec()).ID
	r.untilStatus(id, core.ThreadBlocked)
	for range 10 {
		advance(clock, time.Minute)
	}
	if rec := r.record(id); rec.Status != core.ThreadBlocked {
		t.Errorf("it is %s", rec.Status)
	}
}

func TestTimeout(t *testing.T) {
	for _, stage := range []string{"preparing", "ready", "over a restart"} {
		t.Run(stage, func(t *testing.T) {
			clock := coretest.NewClock()
			r := newRig(t, clock)
			gate := make(chan struct{})
			defer close(gate)
			if stage == "preparing" {
				r.spaces.provision = blockUntil(gate)
			}
			r.open()
			s := spec()
			s.Policy.TimeoutMs = 5000
			id := r.spawn(s).ID
			if stage == "preparing" {
				r.untilStatus(id, core.ThreadPreparing)
			} else {
				r.until(id, "a turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 })
			}
			if stage == "over a restart" {
				r.Close()
				advance(clock, 10*time.Second)
				r.open()
			}
			rec := r.advanceUntil(clock, id, core.ThreadFailed, time.Second)
			if rec.StatusReason != core.ThreadReasonTimeout || rec.Error.Code != core.CodeTimeout {
				t.Errorf("%q %+v", rec.StatusReason, rec.Error)
			}
			if n := r.agents.running(); n != 0 {
				t.Errorf("%d agents run", n)
			}
		})
	}
}

// advance moves the clock in steps, so that who sets a timer after one has it run.
func advance(clock *coretest.Clock, d time.Duration) {
	for ; d > 0; d -= time.Second {
		clock.Advance(min(d, time.Second))
	}
}

// advanceUntil moves the clock on until the thread has a status.
func (r *rig) advanceUntil(clock *coretest.Clock, id string, status core.ThreadStatus, step time.Duration) *core.ThreadRecord {
	r.t.Helper()
	return r.until(id, "the thread to be "+string(status), func(rec *core.ThreadRecord) bool {
		if rec.Status != status {
			clock.Advance(step)
		}
		return rec.Status == status
	})
}
