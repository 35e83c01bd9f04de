package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// nobody is a dispatcher without agents.
type nobody struct {
	core.TaskDispatcher
	asked int
	takes int // reservations that succeed from now on
	last  []core.TaskNeed
}

func (n *nobody) Reserve(need core.TaskNeed, _ int) []string {
	n.asked++
	if n.takes == 0 {
		return nil
	}
	n.takes--
	n.last = append(n.last, need)
	return []string{"a"}
}
func (n *nobody) CountCapable(core.TaskNeed) int { return 1 }

func (n *nobody) Slots(core.TaskNeed) map[string]int { return nil }

func lineOf(tb testing.TB, agents *nobody) (*Engine, *coretest.Clock) {
	clock := coretest.NewClock()
	return New(Options{Agents: agents, Clock: clock, Logger: hclog.NewNullLogger(), Config: DefaultConfig()}), clock
}

func (e *Engine) lineUp(id, pattern string, level int, since time.Time, slot bool) *run {
	r := e.newRun(&core.Execution{ID: id, Pattern: core.PatternRef{Name: pattern}}, nil)
	e.waiters.add(&waiter{run: r, ticket: 1, count: 1, needsSlot: slot, since: since, level: level})
	return r
}

// One that waits for very long does not keep what came and went behind it.
func TestLineForgetsThoseWhoLeft(t *testing.T) {
	e, clock := lineOf(t, &nobody{})
	e.lineUp("first", "p", 1, clock.Now(), true)
	for i := range 10000 {
		e.waiters.remove(e.lineUp(fmt.Sprint(i), "p", 1, clock.Now(), true))
	}
	for _, b := range e.waiters.buckets {
		if n := len(b.queues[1].list); n > 200 {
			t.Errorf("the line of 1 keeps %d entries", n)
		}
	}
	if e.waiters.len() != 1 {
		t.Errorf("%d wait, want 1", e.waiters.len())
	}
}

// A pass over thousands that wait each for agents of their own asks for each once.
func TestPassOverThousands(t *testing.T) {
	agents := &nobody{}
	e, clock := lineOf(t, agents)
	const n = 5000
	for i := range n {
		e.lineUp(fmt.Sprint(i), "p", i%4, clock.Now().Add(time.Duration(i)), false)
	}
	began := coretest.CPU(t)
	e.waiters.pass()
	if agents.asked != n {
		t.Errorf("%d reservations for %d waiters", agents.asked, n)
	}
	if took := coretest.CPU(t) - began; took > time.Second {
		t.Errorf("a pass over %d waiters took %v", n, took)
	}
	agents.takes = 10
	e.waiters.pass()
	if e.waiters.len() != n-10 {
		t.Errorf("%d wait after 10 were served, want %d", e.waiters.len(), n-10)
	}
}

// Priority comes first, and waiting makes up for it: low is served before critical that came much later.
func TestLineIsByPriorityAndAge(t *testing.T) {
	agents := &nobody{}
	e, clock := lineOf(t, agents)
	aging := e.config.Load().PriorityAging
	start := clock.Now()
	runs := map[string]*run{}
	for _, w := range []struct {
		id    string
		level int
		at    time.Duration
	}{
		{"normal later", 1, 2 * time.Second}, {"normal", 1, time.Second}, {"high", 2, time.Second},
		{"critical late", 3, 3*aging + time.Second}, {"low", 0, 0},
	} {
		runs[w.id] = e.lineUp(w.id, "p", w.level, start.Add(w.at), true)
	}
	clock.Advance(4 * aging)
	for _, want := range []string{"high", "normal", "normal later", "low", "critical late"} {
		agents.takes = 1
		e.waiters.pass()
		if got, _ := runs[want].inbox.take(); len(got) != 1 || len(got[0].agents) != 1 || !got[0].slot {
			t.Fatalf("%q was not the next to be served", want)
		}
		e.limits.give("p")
	}
	if e.limits.active() != 0 || len(e.waiters.buckets) != 0 {
		t.Errorf("%d slots and %d buckets are left", e.limits.active(), len(e.waiters.buckets))
	}
}

// Progress that nobody reads is dropped, and nothing else is.
func TestProgressIsBounded(t *testing.T) {
	b := newInbox()
	for range 10000 {
		b.put(message{kind: msgProgress})
	}
	b.put(message{kind: msgCancel})
	list, _ := b.take()
	if len(list) != maxProgress+1 || list[maxProgress].kind != msgCancel {
		t.Errorf("%d messages wait, want %d of progress and a cancel", len(list), maxProgress)
	}
}

// A run that is launched when the engine is closed already answers those who wait for it.
func TestLaunchAfterClose(t *testing.T) {
	e, clock := lineOf(t, &nobody{})
	r := e.newRun(&core.Execution{ID: "x"}, nil)
	reply := make(chan cancelReply, 1)
	r.inbox.put(message{kind: msgCancel, reply: reply})
	r.timer = clock.AfterFunc(time.Minute, func() {})
	e.Close()
	e.launch(r, nil)
	if out := <-reply; !core.AsError(out.err).Unavailable {
		t.Errorf("got %v, want unavailable", out.err)
	}
	if clock.Pending() != 0 || r.inbox.fire() {
		t.Error("the run is not left behind")
	}
}

// BenchmarkPass is a pass that serves one of 10,000 waiters, of 10 patterns.
func BenchmarkPass(b *testing.B) {
	agents := &nobody{}
	e, clock := lineOf(b, agents)
	config := DefaultConfig()
	config.MaxActive = 1 << 30
	e.ApplyConfig(config)
	next := 0
	add := func() {
		e.lineUp(fmt.Sprint(next), fmt.Sprint("p", next%10), 1, clock.Now(), true)
		next++
	}
	for range 10_000 {
		add()
	}
	b.ReportAllocs()
	for b.Loop() {
		agents.takes, agents.last = 1, agents.last[:0]
		e.waiters.pass()
		add()
	}
}
