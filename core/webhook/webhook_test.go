package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/webhook"
	"github.com/wardroom/wardroom/core/webhook/target"
)

func TestCreateRefuses(t *testing.T) {
	r := newRig(t, func(o *webhook.Options) { o.Config.Guard = &target.Guard{} })
	good := func() core.WebhookSpec {
		return core.WebhookSpec{URL: "https://example.com/hook", Events: []core.EventType{core.EventSystemAlert}}
	}
	many := map[string]string{}
	for n := range 33 {
		many[fmt.Sprint("X-A", n)] = "v"
	}
	for name, row := range map[string]struct {
		change func(s *core.WebhookSpec)
		field  string
	}{
		"no url":               {func(s *core.WebhookSpec) { s.URL = "" }, "url"},
		"http":                 {func(s *core.WebhookSpec) { s.URL = "http://example.com" }, "url"},
		"credentials":          {func(s *core.WebhookSpec) { s.URL = "https://a:b@example.com" }, "url"},
		"loopback":             {func(s *core.WebhookSpec) { s.URL = "https://127.0.0.1/" }, "url"},
		"metadata service":     {func(s *core.WebhookSpec) { s.URL = "https://169.254.169.254/" }, "url"},
		"no events":            {func(s *core.WebhookSpec) { s.Events = nil }, "events"},
		"unknown event":        {func(s *core.WebhookSpec) { s.Events = append(s.Events, "a", "b") }, "events[1]"},
		"event twice":          {func(s *core.WebhookSpec) { s.Events = append(s.Events, s.Events[0]) }, "events[1]"},
		"internal event":       {func(s *core.WebhookSpec) { s.Events[0] = core.EventTaskAssigned }, "events[0]"},
		"secret of 10000":      {func(s *core.WebhookSpec) { s.Secret = strings.Repeat("x", 10_000) }, "secret"},
		"secret with newline":  {func(s *core.WebhookSpec) { s.Secret = "a\nb" }, "secret"},
		"retries -1":           {func(s *core.WebhookSpec) { s.Retries = ptr(-1) }, "retries"},
		"retries 5":            {func(s *core.WebhookSpec) { s.Retries = ptr(5) }, "retries"},
		"timeout 0":            {func(s *core.WebhookSpec) { s.TimeoutMs = ptr(int64(0)) }, "timeout"},
		"timeout of a day":     {func(s *core.WebhookSpec) { s.TimeoutMs = ptr(int64(86_400_000)) }, "timeout"},
		"empty pattern":        {func(s *core.WebhookSpec) { s.Filters.Pattern = []string{"a", ""} }, "filters.pattern[1]"},
		"empty metadata key":   {func(s *core.WebhookSpec) { s.Filters.Metadata = map[string]string{"": "a"} }, "filters.metadata."},
		"key without cert":     {func(s *core.WebhookSpec) { s.ClientKey = "x" }, "clientCertificate"},
		"bad ca":               {func(s *core.WebhookSpec) { s.CA = "x" }, "ca"},
		"header Host":          {func(s *core.WebhookSpec) { s.Headers = map[string]string{"host": "x"} }, "headers.host"},
		"header Connection":    {func(s *core.WebhookSpec) { s.Headers = map[string]string{"Connection": "x"} }, "headers.Connection"},
		"header length":        {func(s *core.WebhookSpec) { s.Headers = map[string]string{"Content-Length": "1"} }, "headers.Content-Length"},
		"header of ours":       {func(s *core.WebhookSpec) { s.Headers = map[string]string{"x-service-event": "1"} }, "headers.x-service-event"},
		"header injection":     {func(s *core.WebhookSpec) { s.Headers = map[string]string{"X-A": "b\r\nX-C: d"} }, "headers.X-A"},
		"header name":          {func(s *core.WebhookSpec) { s.Headers = map[string]string{"X A": "b"} }, "headers.X A"},
		"header twice":         {func(s *core.WebhookSpec) { s.Headers = map[string]string{"X-A": "1", "x-a": "2"} }, "headers.x-a"},
		"too many headers":     {func(s *core.WebhookSpec) { s.Headers = many }, "headers"},
		"too long a header":    {func(s *core.WebhookSpec) { s.Headers = map[string]string{"X-A": strings.Repeat("x", 9000)} }, "headers"},
		"several, first named": {func(s *core.WebhookSpec) { s.Events, s.Retries = nil, ptr(9) }, "events"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := good()
			row.change(&spec)
			_, err := r.CreateWebhook(ctx, spec)
			wantCode(t, err, core.CodeValidation)
			if field := core.AsError(err).Details["field"]; field != row.field {
				t.Errorf("the error names %v, want %s: %v", field, row.field, err)
			}
		})
	}
	if _, err := r.CreateWebhook(ctx, good()); err != nil {
		t.Errorf("a good one is refused: %v", err)
	}
}

// The key is claimed with the endpoint that it made, in one transaction.
func TestCreateClaims(t *testing.T) {
	r := newRig(t, nil)
	ctx := core.WithIdempotency(t.Context(), &core.IdempotencyClaim{Scope: "s", Key: "k", BodyHash: "h"})
	spec := core.WebhookSpec{URL: "https://example.com/hook", Events: []core.EventType{core.EventSystemAlert}}
	made, err := r.CreateWebhook(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.CreateWebhook(ctx, spec); core.ErrorCode(err) != core.CodeConflict {
		t.Fatalf("the second use of the key: %v", err)
	}
	if got, err := r.store.FindIdempotency(ctx, "s", "k", r.clock.Now()); err != nil || got == nil || got.ResourceID != made.ID {
		t.Fatalf("the key is claimed by %+v, %v, not for %q", got, err, made.ID)
	}
}

func TestWebhookLife(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	w := r.create(core.WebhookSpec{URL: in.URL})
	if !strings.HasPrefix(w.Secret, "whsec_") || len(w.Secret) < 40 || !w.Enabled || w.Retries != 3 || w.TimeoutMs != 30000 {
		t.Errorf("made with defaults: %+v", w)
	}
	stored, err := r.store.AllWebhooks(ctx)
	if err != nil || len(stored) != 1 {
		t.Fatalf("stored: %v, %v", stored, err)
	}
	for _, rec := range stored {
		if strings.Contains(fmt.Sprintf("%+v %s", rec, rec.Sealed), w.Secret) {
			t.Error("the secret is stored as it is")
		}
	}
	for range 4 {
		r.create(core.WebhookSpec{URL: in.URL})
	}
	var seen []string
	for page := (core.Page{Limit: 2}); ; {
		list, info, err := r.FindWebhooks(ctx, core.WebhookFilter{Page: page})
		if err != nil || info.Total != 5 {
			t.Fatal(info, err)
		}
		for _, w := range list {
			seen = append(seen, w.ID)
		}
		if !info.HasMore {
			break
		}
		page.Cursor = info.NextCursor
	}
	if len(seen) != 5 || seen[4] != w.ID {
		t.Errorf("pages hold %v, want five with %s as the last", seen, w.ID)
	}
	_, _, err = r.FindWebhooks(ctx, core.WebhookFilter{Page: core.Page{Limit: 101}})
	wantCode(t, err, core.CodeValidation)
	_, err = r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Events: &[]core.EventType{"x"}})
	wantCode(t, err, core.CodeValidation)
	_, err = r.UpdateWebhook(ctx, "wh_none", core.WebhookPatch{})
	wantCode(t, err, core.CodeNotFound)
	got, err := r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Enabled: ptr(false), Retries: ptr(1)})
	if err != nil || got.Enabled || got.Retries != 1 || got.Secret != "" {
		t.Fatal(got, err)
	}
	r.restart()
	if got, err = r.FindWebhook(ctx, w.ID); err != nil || got.Enabled || got.Retries != 1 {
		t.Fatal(got, err)
	}
}

// TestRotation: both secrets sign until the former one ends, and then it is forgotten.
func TestRotation(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	w := r.create(core.WebhookSpec{URL: in.URL, Secret: "first"})
	got, err := r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Secret: ptr(""), Overlap: ptr(time.Hour)})
	if err != nil || got.Secret == "" || got.RotatesAt == nil || got.RotatesAt.Sub(r.clock.Now()) != time.Hour {
		t.Fatal(got, err)
	}
	r.emit(core.EventSystemAlert, "a", data{})
	r.wait(1, core.DeliverySucceeded)
	for _, text := range []string{"first", got.Secret} {
		if n := verify(t, in.all()[0], text); n != 2 {
			t.Errorf("%d signatures, want 2", n)
		}
	}
	if !strings.HasPrefix(in.all()[0].header.Get("X-Service-Signature"), "sha256=") {
		t.Error("the header does not begin with sha256=")
	}
	r.restart()
	r.step(time.Hour)
	r.emit(core.EventSystemAlert, "b", data{})
	r.wait(2, core.DeliverySucceeded)
	if n := verify(t, in.all()[1], got.Secret); n != 1 {
		t.Errorf("%d signatures once the former secret ended, want 1", n)
	}
	coretest.WaitFor(t, "the former secret to be forgotten", func() bool {
		r.step(time.Second)
		got, err := r.FindWebhook(ctx, w.ID)
		return err == nil && got.RotatesAt == nil
	})
	if _, err := r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Secret: ptr("last"), Overlap: ptr(time.Duration(0))}); err != nil {
		t.Fatal(err)
	}
	r.emit(core.EventSystemAlert, "c", data{})
	r.wait(3, core.DeliverySucceeded)
	if n := verify(t, in.all()[2], "last"); n != 1 {
		t.Errorf("%d signatures without an overlap, want 1", n)
	}
	// A change that does not ask for an overlap has none, and 0 ends every former secret, not the last one alone.
	for i, step := range []struct {
		secret  string
		overlap *time.Duration
		want    int
	}{
		{"plain", nil, 1}, {"long", ptr(time.Hour), 2}, {"longer", ptr(2 * time.Hour), 3}, {"leaked", ptr(time.Duration(0)), 1},
		{"long again", ptr(time.Hour), 2}, {"unsaid", nil, 1},
	} {
		if _, err := r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Secret: ptr(step.secret), Overlap: step.overlap}); err != nil {
			t.Fatal(err)
		}
		r.emit(core.EventSystemAlert, step.secret, data{})
		r.wait(4+i, core.DeliverySucceeded)
		if n := verify(t, in.all()[3+i], step.secret); n != step.want {
			t.Errorf("%s: %d signatures, want %d", step.secret, n, step.want)
		}
	}
}

// TestLostKey: with another key to seal with, deliveries wait for a new secret, and say so.
func TestLostKey(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	w := r.create(core.WebhookSpec{URL: in.URL})
	r.opts.SealKey = [32]byte{2}
	r.restart()
	r.emit(core.EventSystemAlert, "a", data{})
	if d := r.attempts(1); !strings.Contains(d.LastError, "new secret") {
		t.Errorf("the error is %q", d.LastError)
	}
	if _, err := r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Secret: ptr("new")}); err != nil {
		t.Fatal(err)
	}
	r.step(time.Minute)
	r.wait(1, core.DeliverySucceeded)
	verify(t, in.all()[0], "new")
}

func TestDeclared(t *testing.T) {
	specs := []core.WebhookSpec{
		{Events: []core.EventType{core.AllEvents}, Secret: "one"},
		{Events: []core.EventType{core.EventSystemAlert}, Secret: "two"},
	}
	r := newRig(t, nil)
	in := r.receive(nil)
	specs[0].URL, specs[1].URL = in.URL+"/a", in.URL+"/b"
	config := r.opts.Config
	config.Declared = specs
	if err := r.Reload(ctx, config); err != nil {
		t.Fatal(err)
	}
	list, _, err := r.FindWebhooks(ctx, core.WebhookFilter{})
	if err != nil || len(list) != 2 || !list[0].Declared {
		t.Fatal(list, err)
	}
	for _, w := range list {
		if !core.ValidID(core.PrefixWebhook, w.ID) {
			t.Errorf("%q is no id", w.ID)
		}
		_, err := r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Enabled: ptr(false)})
		wantCode(t, err, core.CodeConflict)
		wantCode(t, r.DeleteWebhook(ctx, w.ID), core.CodeConflict)
	}
	r.emit(core.EventSystemAlert, "a", data{})
	r.wait(2, core.DeliverySucceeded)

	// The same URL and events keep their id, whatever else changes; the former secret signs for as long as the configuration asks for.
	r.opts.Config.RotationOverlap = time.Hour
	specs[0].Secret, specs[0].Headers = "three", map[string]string{"X-A": "1"}
	r.opts.Config.Declared = specs[:1]
	r.restart()
	after, _, err := r.FindWebhooks(ctx, core.WebhookFilter{})
	if err != nil || len(after) != 1 || after[0].ID != list[0].ID && after[0].ID != list[1].ID || after[0].Statistics.Succeeded != 1 {
		t.Fatal(after, err)
	}
	r.emit(core.EventSystemAlert, "b", data{})
	coretest.WaitFor(t, "the third request", func() bool { return len(in.all()) == 3 })
	last := in.all()[2]
	verify(t, last, "three")
	if n := verify(t, last, "one"); n != 2 || last.header.Get("X-A") != "1" {
		t.Errorf("%d signatures, headers %v", n, last.header)
	}
	config.Declared = []core.WebhookSpec{{URL: in.URL, Events: []core.EventType{"x"}, Secret: "s"}}
	err = r.Reload(ctx, config)
	wantCode(t, err, core.CodeValidation)
	if field := core.AsError(err).Details["field"]; field != "webhooks.endpoints[0].events[0]" {
		t.Errorf("the error names %v", field)
	}
}

func TestFilters(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	r.store.Put(func(tx core.Tx) error {
		return errors.Join(
			tx.PutExecution(&core.Execution{ID: "exec_a", Status: core.ExecutionRunning, Options: core.ExecuteOptions{Metadata: data{"team": "red", "size": 3}}}),
			tx.PutExecution(&core.Execution{ID: "exec_b", Status: core.ExecutionRunning, Options: core.ExecuteOptions{Metadata: data{"team": "blue"}}}))
	})
	for _, f := range []core.WebhookFilters{
		{Pattern: []string{"p", "q"}},
		{Metadata: map[string]string{"team": "red", "size": "3"}},
		{Pattern: []string{"p"}, Metadata: map[string]string{"team": "red"}},
	} {
		r.create(core.WebhookSpec{URL: in.URL, Filters: f})
	}
	ref := func(name string) data { return data{"name": name, "version": "1.0.0"} }
	r.emit(core.EventExecutionStarted, "exec_a", data{"pattern": ref("p"), "metadata": data{"team": "red", "size": 3}}) // 3
	r.emit(core.EventExecutionCompleted, "exec_a", data{"pattern": ref("p")})                                           // 3
	r.emit(core.EventExecutionCompleted, "exec_b", data{"pattern": ref("p")})                                           // 1
	r.emit(core.EventExecutionFailed, "exec_a", data{"pattern": ref("other")})                                          // 1
	r.emit(core.EventExecutionFailed, "exec_gone", data{"pattern": ref("q")})                                           // 1
	r.emit(core.EventPatternCreated, "other", data{"name": "other"})                                                    // 1
	r.emit(core.EventPatternCreated, "q", data{"name": "q"})                                                            // 2
	r.emit(core.EventAgentConnected, "agent_1", data{"name": "other"})                                                  // 3
	r.wait(15, core.DeliverySucceeded)
	coretest.WaitFor(t, "the log to be read", func() bool { return r.Stats().Behind == 0 })
	if n := len(in.all()); n != 15 {
		t.Errorf("%d requests, want 15", n)
	}
}

// An execution that cannot be read costs the endpoints that filter by its metadata its events, and nobody else anything.
func TestFilterOfBrokenExecution(t *testing.T) {
	r := newRig(t, func(o *webhook.Options) { o.Store = brokenExecution{o.Store} })
	in := r.receive(nil)
	r.store.Put(func(tx core.Tx) error {
		return tx.PutExecution(&core.Execution{ID: "exec_b", Status: core.ExecutionRunning, Options: core.ExecuteOptions{Metadata: data{"team": "red"}}})
	})
	r.create(core.WebhookSpec{URL: in.URL, Filters: core.WebhookFilters{Metadata: map[string]string{"team": "red"}}})
	r.create(core.WebhookSpec{URL: in.URL})
	r.emit(core.EventExecutionCompleted, "exec_broken", data{}) // 1
	r.emit(core.EventExecutionCompleted, "exec_b", data{})      // 2
	r.wait(3, core.DeliverySucceeded)
	coretest.WaitFor(t, "the log to be read", func() bool { return r.Stats().Behind == 0 })
}

// brokenExecution is a store with an execution that cannot be read.
type brokenExecution struct{ core.Store }

func (s brokenExecution) FindExecution(ctx context.Context, id string) (*core.Execution, error) {
	if id == "exec_broken" {
		return nil, core.Errorf(core.CodeInternal, "the stored execution cannot be read").WithCause(core.ErrUnreadable)
	}
	return s.Store.FindExecution(ctx, id)
}

// What is kept of metadata for filters is bounded in bytes, and holds nothing that no filter could name.
func TestFilterMetadataIsBounded(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	r.create(core.WebhookSpec{URL: in.URL, Filters: core.WebhookFilters{Metadata: map[string]string{"team": "red"}}})
	many := data{"team": "red", "long": strings.Repeat("x", 1<<10)}
	for i := range 10_000 {
		many[fmt.Sprintf("key %d", i)] = strings.Repeat("y", 100)
	}
	for i := range 12 {
		r.emit(core.EventExecutionStarted, fmt.Sprintf("exec_%d", i), data{"metadata": many})
	}
	r.wait(12, core.DeliverySucceeded)
	if n := r.MetadataBytes(); n == 0 || n > 8<<20 {
		t.Errorf("%d bytes are kept", n)
	}
}

// TestStoreAway: while the store takes nothing, little is attempted, and nothing is lost.
func TestStoreAway(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	r.create(core.WebhookSpec{URL: in.URL})
	for n := range 600 {
		r.emit(core.EventPatternCreated, fmt.Sprint(n), data{})
	}
	r.store.Break(1, errGone)
	coretest.WaitFor(t, "a write to be refused", r.store.broken)
	r.store.Heal()
	coretest.WaitFor(t, "all to be delivered", func() bool {
		r.step(time.Second)
		return r.store.count(core.DeliverySucceeded) == 600
	})
	if n := len(in.all()); n != 600 {
		t.Errorf("%d requests for 600 deliveries", n)
	}
}

func TestDrain(t *testing.T) {
	r := newRig(t, nil)
	release := make(chan struct{})
	in := r.receive(func(http.ResponseWriter, *http.Request) { <-release })
	r.create(core.WebhookSpec{URL: in.URL})
	r.emit(core.EventPatternCreated, "a", data{})
	coretest.WaitFor(t, "an attempt", func() bool { return len(in.all()) == 1 })
	done := make(chan error, 1)
	go func() { done <- r.Drain(ctx) }()
	close(release)
	coretest.WaitFor(t, "the end of the attempt", func() bool {
		r.step(time.Second)
		select {
		case err := <-done:
			return err == nil
		default:
			return false
		}
	})
	if r.store.count(core.DeliverySucceeded) != 1 {
		t.Error("what came of the attempt is not stored")
	}
}

// An endpoint that was stored before data was kept in a region gets nothing from the reload on, what waits included, and gets it
// again once its host is declared to be there.
func TestRegionIsEnforcedAtDelivery(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	w := r.create(core.WebhookSpec{URL: in.URL})
	r.emit(core.EventPatternCreated, "p", data{"name": "p"})
	r.wait(1, core.DeliverySucceeded) // over a connection that is kept
	reload := func(elsewhere string) {
		t.Helper()
		config := r.opts.Config
		config.Guard = &target.Guard{Development: true, Elsewhere: func(string) string { return elsewhere }}
		if err := r.Reload(ctx, config); err != nil {
			t.Fatal(err)
		}
	}
	reload("it is elsewhere")
	r.emit(core.EventPatternCreated, "p", data{"name": "p"})
	var d *core.Delivery
	coretest.WaitFor(t, "an attempt that is refused", func() bool {
		rows := r.store.rows()
		if len(rows) == 2 && rows[1].Attempts == 1 {
			d = rows[1]
		}
		return d != nil
	})
	if !strings.Contains(d.LastError, "elsewhere") || len(in.all()) != 1 {
		t.Errorf("the delivery says %q, and the receiver got %d", d.LastError, len(in.all()))
	}
	if d, err := r.TestWebhook(ctx, w.ID, ""); err != nil || d.Status != core.DeliveryFailed || len(in.all()) != 1 {
		t.Errorf("a test: %+v, %v", d, err)
	}
	_, err := r.CreateWebhook(ctx, core.WebhookSpec{URL: in.URL, Events: []core.EventType{core.AllEvents}})
	wantCode(t, err, core.CodeValidation)
	url := in.URL + "/other"
	_, err = r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{URL: &url})
	wantCode(t, err, core.CodeValidation)
	r.restart() // with the configuration of the rig, which keeps nothing anywhere
	reload("")
	r.step(70e9)
	r.wait(2, core.DeliverySucceeded)
}
