package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// fakeHealth answers with fixed states.
type fakeHealth struct {
	verdict, phase string
	live, ready    bool
	storeStatus    string
}

func (f *fakeHealth) Inspect(
	_ context.Context, visit func(name, severity, status, message, hint string, since time.Time),
) (verdict, phase string, live, ready bool) {
	if visit != nil {
		visit("store", "required", f.storeStatus, "disk is low", "free some space", epoch)
	}
	return f.verdict, f.phase, f.live, f.ready
}

type fakeTotals struct{}

func (fakeTotals) Totals() (total, active int64, mean time.Duration) {
	return 10, 2, 1500 * time.Microsecond
}

func TestHealth(t *testing.T) {
	h := &fakeHealth{verdict: "unhealthy", phase: "ready", live: true, storeStatus: "failed"}
	r := newRig(t, func(o *api.Options) { o.Health, o.Totals = h, fakeTotals{} })
	r.clock.Advance(90 * time.Second)
	p := r.do("GET", "/api/health", "")
	p.wants(t, 200, "")
	if p.text != `{"status":"unhealthy","version":"1.2.3","uptime":90}` {
		t.Errorf("body %s", p.text)
	}
	p = r.do("GET", "/api/health?detailed=true", "")
	p.wants(t, 200, "")
	want := `{"status":"unhealthy","version":"1.2.3","uptime":90,` +
		`"components":{"database":"unhealthy","redis":"disabled","agents":{"connected":1,"healthy":1}},` +
		`"metrics":{"executionsTotal":10,"executionsActive":2,"avgExecutionTime":1.5},` +
		`"checks":[{"name":"store","severity":"required","status":"failed","message":"disk is low",` +
		`"hint":"free some space","since":"2026-01-02T03:04:05.678Z"}]}`
	if p.text != want {
		t.Errorf("body\n%s\nwant\n%s", p.text, want)
	}
	for status, database := range map[string]string{"ok": "healthy", "degraded": "degraded"} {
		h.storeStatus = status
		p = r.do("GET", "/api/health?detailed=true", "")
		if p.at("components", "database") != database {
			t.Errorf("store %s: %s", status, p.text)
		}
	}
}

func TestProbes(t *testing.T) {
	h := &fakeHealth{phase: "ready", storeStatus: "failed"}
	r := newRig(t, func(o *api.Options) {
		o.Health = h
		o.Authorize = func(context.Context, core.Principal, api.Access) error {
			t.Error("a probe asked for authorization")
			return nil
		}
	})
	p := r.do("GET", "/api/health/ready", "")
	p.wants(t, 503, "")
	if p.text != `{"status":"unavailable","reasons":["check store failed"]}` {
		t.Errorf("body %s", p.text)
	}
	r.do("GET", "/api/health/live", "").wants(t, 503, "")
	h.live, h.ready, h.storeStatus = true, true, "ok"
	r.do("GET", "/api/health/ready", "").wants(t, 200, "")
	if p := r.do("GET", "/api/health/live", ""); p.text != `{"status":"ok"}` {
		t.Errorf("body %s", p.text)
	}
	h.ready, h.phase = false, "starting"
	if p := r.do("GET", "/api/health/ready", ""); p.status != 503 || !strings.Contains(p.text, "the service is starting") {
		t.Errorf("%d %s", p.status, p.text)
	}
	h.ready, h.phase = true, "ready"
	r.server.Drain()
	if p := r.do("GET", "/api/health/ready", ""); p.status != 503 || !strings.Contains(p.text, "stopping") {
		t.Errorf("%d %s", p.status, p.text)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "service_things_total", Help: "Things."})
	reg.MustRegister(c)
	c.Add(3)
	r := newRig(t, func(o *api.Options) { o.Gatherer = reg })
	p := r.do("GET", "/api/metrics", "")
	p.wants(t, 200, "")
	if !strings.Contains(p.text, "service_things_total 3\n") || !strings.HasPrefix(p.header.Get("Content-Type"), "text/plain") {
		t.Errorf("%s %s", p.header.Get("Content-Type"), p.text)
	}
}
