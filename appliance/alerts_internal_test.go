package appliance

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/store"
)

// raised keeps what is raised.
type raised struct {
	list []core.Alert
	by   []string
}

func (r *raised) raise(subject string, what core.Alert) {
	r.list, r.by = append(r.list, what), append(r.by, subject)
}

func (r *raised) expect(t *testing.T, when string, messages ...string) {
	t.Helper()
	if len(r.list) != len(messages) {
		t.Fatalf("%s: %d alerts, want %d: %+v", when, len(r.list), len(messages), r.list)
	}
	for i, want := range messages {
		if !strings.Contains(r.list[i].Message, want) || len(r.list[i].Details) == 0 || r.by[i] == "" {
			t.Errorf("%s: alert %d is %+v by %q, want %q", when, i, r.list[i], r.by[i], want)
		}
	}
}

func TestSpaceWatch(t *testing.T) {
	var got raised
	var free uint64
	w := &spaceWatch{raise: got.raise, measure: func() (string, uint64, uint64) { return "/store", free << 20, 100 << 20 }}
	for _, step := range []struct {
		free  uint64
		total int
	}{{1000, 0}, {200, 0}, {199, 1}, {150, 1}, {250, 1}, {199, 1}, {300, 1}, {199, 2}, {50, 2}} {
		free = step.free
		w.look()
		if len(got.list) != step.total {
			t.Errorf("with %d MiB: %d alerts, want %d", step.free, len(got.list), step.total)
		}
	}
	got.expect(t, "at the end", "199 MiB are free; with less than 100 MiB it takes no writes", "199 MiB")
}

func TestRecordWatch(t *testing.T) {
	var got raised
	var broken []store.BrokenRecord
	var failures []store.RetentionFailure
	var steps []store.ClockStep
	w := &recordWatch{
		raise: got.raise, broken: func() []store.BrokenRecord { return broken }, failures: func() []store.RetentionFailure { return failures },
		steps: func() []store.ClockStep { return steps },
	}
	w.look()
	got.expect(t, "while all is well")
	broken = []store.BrokenRecord{{Key: "x/1", Kind: "execution", ID: "exec_1"}, {Key: "x/2", Kind: "execution", ID: "exec_2"}}
	failures = []store.RetentionFailure{{Kind: "events", Count: 1, Since: time.Unix(1, 0), Reason: "disk"}, {Kind: "batches", Count: 3}}
	w.look()
	w.look()
	want := []string{"2 stored records cannot be read and are passed over, among them execution exec_1", "go through events: disk"}
	got.expect(t, "once", want...)
	broken, failures = append(broken[1:], store.BrokenRecord{Key: "b/3", Kind: "batch", ID: "batch_3"}), nil
	w.look()
	got.expect(t, "one more", append(want, "1 stored records cannot be read and are passed over, among them batch batch_3")...)
	broken = append(broken, store.BrokenRecord{Key: "x/1", Kind: "execution", ID: "exec_1"})
	failures = []store.RetentionFailure{{Kind: "events", Since: time.Unix(9, 0), Reason: "disk"}}
	w.look()
	if len(got.list) != 5 {
		t.Errorf("what begins anew is raised again: %+v", got.list)
	}
	steps = []store.ClockStep{{From: time.Unix(0, 0), By: 40 * 24 * time.Hour, Until: time.Hour}}
	w.look()
	w.look()
	if last := got.list[len(got.list)-1]; len(got.list) != 6 || !strings.Contains(last.Message, "went forward by 960h0m0s from 1970-01-01T00:00:00Z") ||
		!strings.Contains(last.Message, "another 1h0m0s") {
		t.Errorf("a step of the clock: %+v", got.list)
	}
}

func TestPluginWatch(t *testing.T) {
	var got raised
	var recorded []string
	w := &pluginWatch{
		Plugins: metrics.New(prometheus.NewRegistry(), metrics.Build{}).Plugins, raise: got.raise, last: map[string]string{},
		why:   func(plugin string) (string, string) { return plugin + " crashed", "look" },
		state: func(plugin, state string) { recorded = append(recorded, plugin+" "+state) },
	}
	for _, state := range []core.PluginState{core.PluginReady, core.PluginFailed, core.PluginQuarantined, core.PluginQuarantined, core.PluginReady} {
		w.State("local", "runtime", string(state))
	}
	got.expect(t, "the first time", "Plugin local is in quarantine: local crashed")
	if fmt.Sprint(recorded) != "[local ready local quarantined local ready]" {
		t.Errorf("recorded %v", recorded)
	}
	w.State("local", "runtime", string(core.PluginQuarantined))
	w.State("other", "runtime", string(core.PluginQuarantined))
	got.expect(t, "later", "local", "local", "other")
	if d := got.list[0].Details; got.list[0].Severity != core.SeverityCritical || d["kind"] != "runtime" || d["hint"] != "look" {
		t.Errorf("alert %+v", got.list[0])
	}
}

// A path that keeps plugins from starting is one alert with what to do.
func TestUnsafePluginsAlert(t *testing.T) {
	l, _, _ := newTestAlerts()
	a := &App{alerts: l}
	a.unsafePlugins("/opt/plugins", "/opt/plugins is writable by everyone", "nobody else")
	var got core.Alert
	if len(l.waiting) != 1 || json.Unmarshal(l.waiting[0].Data, &got) != nil || got.Severity != core.SeverityCritical ||
		!strings.Contains(got.Message, "/opt/plugins is writable") || got.Details["path"] != "/opt/plugins" || got.Details["hint"] != "nobody else" {
		t.Errorf("waiting %+v, %+v", l.waiting, got)
	}
}

func certificate(t *testing.T, end time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "c"}, NotBefore: end.Add(-1000 * time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestCertificateWatch(t *testing.T) {
	const day = 24 * time.Hour
	clock := coretest.NewClock()
	now := clock.Now()
	hooks := []*core.WebhookRecord{
		{Webhook: core.Webhook{ID: "wh_1", Enabled: true, ClientCert: certificate(t, now.Add(20*day)), CA: certificate(t, now.Add(100*day)) + certificate(t, now.Add(10*day))}},
		{Webhook: core.Webhook{ID: "wh_2", Enabled: true, ClientCert: certificate(t, now.Add(-day)), CA: "no PEM"}},
		{Webhook: core.Webhook{ID: "wh_3", ClientCert: certificate(t, now.Add(-day))}}, // nothing is sent with it
		{Webhook: core.Webhook{ID: "wh_4", Enabled: true}},
	}
	var got raised
	var broken error
	w := &certificateWatch{raise: got.raise, clock: clock, list: func(context.Context) ([]*core.WebhookRecord, error) { return hooks, broken }}
	look := func() { w.look(t.Context()) }
	look()
	look()
	want := []string{"certificate of its authority of webhook wh_1 ends at 2026-01-12T03:04:05Z", "client certificate of webhook wh_2 ended at"}
	got.expect(t, "at first", want...)
	clock.Advance(7 * day)
	look()
	want = append(want, "client certificate of webhook wh_1 ends at")
	got.expect(t, "a week later", want...)
	broken = errors.New("no store")
	clock.Advance(4 * day)
	look()
	broken = nil
	look()
	want = append(want, "certificate of its authority of webhook wh_1 ended at")
	got.expect(t, "after its end", want...)
	if got.list[3].Severity != core.SeverityCritical || got.list[2].Severity != core.SeverityWarning {
		t.Errorf("severities %s, %s", got.list[3].Severity, got.list[2].Severity)
	}
}

// pile is a log of events that can be told to refuse.
type pile struct {
	mu     sync.Mutex // guards all below
	refuse bool
	events []core.Event
}

func (p *pile) append(_ context.Context, e core.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		return core.Unavailable("store_read_only", "the disk is full")
	}
	p.events = append(p.events, e)
	return nil
}

func (p *pile) set(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

func (p *pile) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.events)
}

func newTestAlerts() (*alerts, *coretest.Clock, *pile) {
	clock, store := coretest.NewClock(), &pile{}
	return &alerts{
		clock: clock, ids: core.NewIDs(clock), log: hclog.NewNullLogger(), append: store.append, wake: make(chan struct{}, 1),
	}, clock, store
}

// What is raised is written at once, or once the store takes it, and in order.
func TestAlerts(t *testing.T) {
	l, clock, store := newTestAlerts()
	var looks int
	l.looks = []*look{{every: time.Hour, run: func(context.Context) { looks++ }}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(ctx)
	}()
	l.raise("a", core.Alert{Severity: core.SeverityWarning, Message: "first", Details: map[string]any{"n": 1}})
	coretest.WaitFor(t, "the first alert", func() bool { return store.len() == 1 })
	store.set(true)
	l.raise("b", core.Alert{Message: "second"})
	l.raise("c", core.Alert{Message: "third"})
	coretest.WaitFor(t, "the clock to be waited for", func() bool { return clock.Pending() == 1 })
	store.set(false)
	coretest.WaitFor(t, "all alerts", func() bool {
		clock.Advance(alertLook)
		return store.len() == 3
	})
	cancel()
	<-done
	e := store.events[0]
	var data core.Alert
	if err := json.Unmarshal(e.Data, &data); err != nil || e.Type != core.EventSystemAlert || e.Subject != "a" || !strings.HasPrefix(e.ID, core.PrefixEvent) ||
		!e.Time.Equal(coretest.NewClock().Now()) || data.Message != "first" || data.Details["n"] != 1.0 {
		t.Errorf("event %+v, %v", e, err)
	}
	if store.events[1].Subject != "b" || store.events[2].Subject != "c" || looks != 1 {
		t.Errorf("events %+v after %d looks", store.events, looks)
	}
}

// What waits when the appliance ends is written while the store is open.
func TestAlertsAtTheEnd(t *testing.T) {
	l, _, store := newTestAlerts()
	store.set(true)
	l.raise("a", core.Alert{Message: "late"})
	l.write(t.Context())
	store.set(false)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	l.append = func(ctx context.Context, e core.Event) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return store.append(ctx, e)
	}
	l.run(ended)
	if store.len() != 1 {
		t.Errorf("%d alerts are written", store.len())
	}
}

// A store that takes nothing for long costs a bounded number of alerts, the oldest ones.
func TestTooManyAlerts(t *testing.T) {
	l, _, store := newTestAlerts()
	for i := range maxAlerts + 3 {
		l.raise(string(rune('a'+i%26)), core.Alert{Message: "m"})
	}
	l.write(t.Context())
	if store.len() != maxAlerts || store.events[0].Subject != "d" {
		t.Errorf("%d alerts from %q on, want %d from %q on", store.len(), store.events[0].Subject, maxAlerts, "d")
	}
}
