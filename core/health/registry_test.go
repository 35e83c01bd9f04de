package health_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/health"
)

func check(name string, severity health.Severity, run func(context.Context) health.Result) health.Check {
	return health.Check{Name: name, Severity: severity, Run: run}
}

func healthy(context.Context) health.Result { return health.OK() }

func TestReport(t *testing.T) {
	clock := coretest.NewClock()
	r := health.New(clock)
	defer r.Close()
	began := clock.Now()
	result := health.OK()
	r.Register(check("store", health.Required, func(context.Context) health.Result { return result }))
	r.Register(check("agents", health.Degraded, healthy))
	if p := r.Report(t.Context()); p.Phase != health.PhaseStarting || p.Ready() {
		t.Errorf("a new registry is %s", p.Phase)
	}
	r.SetPhase(health.PhaseReady)

	clock.Advance(time.Minute)
	p := r.Report(t.Context())
	if len(p.Checks) != 2 || p.Checks[0].Name != "agents" || p.Checks[1].Name != "store" || !p.Ready() {
		t.Fatalf("report %+v", p)
	}
	if !p.Checks[1].Since.Equal(began) {
		t.Errorf("ok since %s, want since it was registered", p.Checks[1].Since)
	}

	result = health.Failed("disk is full", "free some space")
	p = r.Report(t.Context())
	failed := clock.Now()
	if c := p.Checks[1]; c.Result != result || !c.Since.Equal(failed) || p.Ready() || p.Verdict() != health.Unhealthy {
		t.Errorf("after the failure: %+v", c)
	}
	clock.Advance(time.Minute)
	result = health.Failed("disk is still full", "free some space")
	if c := r.Report(t.Context()).Checks[1]; c.Result != result || !c.Since.Equal(failed) {
		t.Errorf("since must stay while the status does: %+v", c)
	}
	result = health.Impaired("disk is low", "")
	if c := r.Report(t.Context()).Checks[1]; c.Status != health.StatusDegraded || !c.Since.Equal(clock.Now()) {
		t.Errorf("after the change: %+v", c)
	}
}

func TestInspect(t *testing.T) {
	clock := coretest.NewClock()
	r := health.New(clock)
	defer r.Close()
	r.Register(check("store", health.Required, func(context.Context) health.Result {
		return health.Failed("m", "h")
	}))
	r.SetPhase(health.PhaseReady)
	var seen []string
	verdict, phase, live, ready := r.Inspect(t.Context(),
		func(name, severity, status, message, hint string, since time.Time) {
			seen = append(seen, name, severity, status, message, hint, since.Sub(clock.Now()).String())
		})
	if verdict != "unhealthy" || phase != "ready" || !live || ready {
		t.Errorf("%s %s %v %v", verdict, phase, live, ready)
	}
	if got := strings.Join(seen, " "); got != "store required failed m h 0s" {
		t.Errorf("visited %q", got)
	}
	if verdict, _, _, _ := r.Inspect(t.Context(), nil); verdict != "unhealthy" {
		t.Errorf("verdict %s without a visitor", verdict)
	}
}

// A check that hangs is failed, is not started again while it runs, and recovers when it comes back.
func TestHangingCheck(t *testing.T) {
	r := health.New(coretest.NewClock())
	release := make(chan struct{})
	var runs atomic.Int32
	r.Register(check("slow", health.Required, func(context.Context) health.Result {
		if runs.Add(1) == 1 {
			<-release
		}
		return health.OK()
	}))
	ctx, cancel := context.WithDeadline(t.Context(), time.Now()) // Timeout would end it too
	defer cancel()
	for range 2 {
		c := r.Report(ctx).Checks[0]
		if c.Status != health.StatusFailed || !strings.Contains(c.Message, "gave no answer within 2s") {
			t.Fatalf("state %+v", c)
		}
	}
	if runs.Load() > 1 {
		t.Errorf("%d runs at once", runs.Load())
	}
	close(release)
	coretest.WaitFor(t, "the check to recover", func() bool {
		return r.Report(t.Context()).Checks[0].Status == health.StatusOK
	})
	r.Close()
	before := runs.Load()
	if c := r.Report(t.Context()).Checks[0]; c.Status != health.StatusOK || runs.Load() != before {
		t.Errorf("a closed registry ran a check: %+v", c)
	}
}

// The context a check gets is its own: one impatient caller must not fail it for the others.
func TestCheckContext(t *testing.T) {
	r := health.New(coretest.NewClock())
	defer r.Close()
	r.Register(check("ctx", health.Required, func(ctx context.Context) health.Result {
		if _, bounded := ctx.Deadline(); !bounded || ctx.Err() != nil {
			return health.Failed("no deadline of its own", "")
		}
		return health.OK()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Report(ctx)
	coretest.WaitFor(t, "a good result", func() bool { return r.Report(t.Context()).Verdict() == health.Healthy })
}

func TestPanickingCheck(t *testing.T) {
	r := health.New(coretest.NewClock())
	defer r.Close()
	r.Register(check("broken", health.Required, func(context.Context) health.Result { panic("nil map") }))
	c := r.Report(t.Context()).Checks[0]
	if c.Status != health.StatusFailed || !strings.Contains(c.Message, "nil map") || c.Hint == "" {
		t.Errorf("state %+v", c)
	}
}

func TestConcurrentReports(t *testing.T) {
	r := health.New(coretest.NewClock())
	defer r.Close()
	var at, most atomic.Int32
	r.Register(check("one", health.Required, func(context.Context) health.Result {
		if n := at.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer at.Add(-1)
		return health.OK()
	}))
	done := make(chan string, 50)
	for range cap(done) {
		go func() { done <- r.Report(t.Context()).Verdict() }()
	}
	for range cap(done) {
		if v := <-done; v != health.Healthy {
			t.Errorf("verdict %s", v)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d runs of one check at once", most.Load())
	}
}

func TestRegisterRefuses(t *testing.T) {
	for name, checks := range map[string][]health.Check{
		"no name":          {{Severity: health.Required, Run: healthy}},
		"no function":      {{Name: "a", Severity: health.Required}},
		"unknown severity": {{Name: "a", Severity: "nice", Run: healthy}},
		"double":           {check("a", health.Required, healthy), check("a", health.Vital, healthy)},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the check was taken")
				}
			}()
			r := health.New(coretest.NewClock())
			for _, c := range checks {
				r.Register(c)
			}
		})
	}
}

// A caller that leaves before the answer does not change the outcome of a check.
func TestCallerWhoLeaves(t *testing.T) {
	clock := coretest.NewClock()
	r := health.New(clock)
	defer r.Close()
	began := clock.Now()
	release := make(chan struct{})
	r.Register(check("slow", health.Required, func(context.Context) health.Result {
		<-release
		return health.OK()
	}))
	clock.Advance(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left := r.Report(ctx).Checks[0]
	close(release)
	if c := r.Report(t.Context()).Checks[0]; left.Status != health.StatusOK || c.Status != health.StatusOK || !c.Since.Equal(began) {
		t.Errorf("%+v, then %+v, want ok since %s", left, c, began)
	}
}
