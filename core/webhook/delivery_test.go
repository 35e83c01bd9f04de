package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/webhook"
)

type data = map[string]any

func TestRequest(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	w := r.create(core.WebhookSpec{URL: in.URL + "/hook?a=1", Secret: "a secret", Headers: map[string]string{"Authorization": "Bearer x"}})
	e := r.emit(core.EventPatternCreated, "p", data{"name": "p", "version": "1.0.0"})
	r.wait(1, core.DeliverySucceeded)
	got := in.all()[0]
	verify(t, got, "a secret")
	d := r.store.rows()[0]
	for name, want := range map[string]string{
		"Content-Type": "application/json", "X-Service-Event": "pattern.created", "X-Service-Delivery": d.ID,
		"X-Service-Timestamp": strconv.FormatInt(r.clock.Now().Unix(), 10), "Authorization": "Bearer x", "User-Agent": "Wardroom/1.2.3",
		"X-Service-Retry-Count": "", "X-Service-Original-Timestamp": "",
	} {
		if have := got.header.Get(name); have != want {
			t.Errorf("header %s is %q, want %q", name, have, want)
		}
	}
	want := fmt.Sprintf(`{"id":%q,"type":"pattern.created","timestamp":"2026-01-02T03:04:05.000Z","data":{"name":"p","version":"1.0.0"}}`, e.ID)
	if string(got.body) != want {
		t.Errorf("body is %s\nwant    %s", got.body, want)
	}
	if d.WebhookID != w.ID || d.EventID != e.ID || d.Event != e.Type || d.Attempts != 1 || d.StatusCode != 200 || d.NextAt != nil || d.LastError != "" {
		t.Errorf("the delivery is %+v", d)
	}
	read, err := r.FindWebhook(ctx, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	if st := read.Statistics; st.Total != 1 || st.Succeeded != 1 || st.Failed != 0 || st.Pending != 0 {
		t.Errorf("statistics are %+v", st)
	}
	if read.Secret != "" || w.Secret != "a secret" {
		t.Errorf("the secret is %q on create and %q later; it is shown once", w.Secret, read.Secret)
	}
}

// TestFaults is what becomes of a delivery whose receiver misbehaves.
func TestFaults(t *testing.T) {
	hijack := func(w http.ResponseWriter) {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			conn.Close()
		}
	}
	rows := []struct {
		name    string
		answer  http.HandlerFunc
		ok      bool
		code    int
		problem string
		body    string
		timeout int64
	}{
		{name: "500", answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", 500) }, code: 500, problem: "answered 500", body: "broken\n"},
		{name: "301", code: 301, problem: "redirects are not followed", answer: func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(301)
		}},
		{name: "204 with a body", ok: true, code: 204, answer: func(w http.ResponseWriter, _ *http.Request) {
			if conn, rw, err := w.(http.Hijacker).Hijack(); err == nil {
				_, _ = rw.WriteString("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")
				_ = rw.Flush()
				conn.Close()
			}
		}},
		{name: "never answers", problem: "no answer within", timeout: 200, answer: func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }},
		{name: "one byte at a time", ok: true, code: 200, timeout: 300, answer: func(w http.ResponseWriter, q *http.Request) {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				if _, err := w.Write([]byte("x")); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-tick.C:
				case <-q.Context().Done():
					return
				}
			}
		}},
		{name: "a body of 1 GB", ok: true, code: 200, body: strings.Repeat("x", 4096), answer: func(w http.ResponseWriter, _ *http.Request) {
			chunk := []byte(strings.Repeat("x", 1<<20))
			for range 1 << 10 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}},
		{name: "closes at once", problem: "closed without an answer", answer: func(w http.ResponseWriter, _ *http.Request) { hijack(w) }},
		{name: "not HTTP", problem: "no answer", answer: func(w http.ResponseWriter, _ *http.Request) {
			if conn, rw, err := w.(http.Hijacker).Hijack(); err == nil {
				_, _ = rw.WriteString("hello\r\n\r\n")
				_ = rw.Flush()
				conn.Close()
			}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t, nil)
			in := r.receive(row.answer)
			spec := core.WebhookSpec{URL: in.URL}
			if row.timeout > 0 {
				spec.TimeoutMs = &row.timeout
			}
			r.create(spec)
			r.emit(core.EventSystemAlert, "", data{})
			d := r.attempts(1)
			want := core.DeliveryPending
			if row.ok {
				want = core.DeliverySucceeded
			}
			if d.Status != want || d.StatusCode != row.code || !strings.Contains(d.LastError, row.problem) || row.ok && d.LastError != "" {
				t.Errorf("got %s, code %d, error %q", d.Status, d.StatusCode, d.LastError)
			}
			if row.body != "" && d.ResponseBody != row.body {
				t.Errorf("the body that is kept has %d bytes: %.40q", len(d.ResponseBody), d.ResponseBody)
			}
			if n := len(in.all()); n != 1 {
				t.Errorf("%d requests were made", n)
			}
		})
	}
}

func TestSchedule(t *testing.T) {
	waits := []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}
	for retries := range 5 {
		t.Run(fmt.Sprint(retries), func(t *testing.T) {
			r := newRig(t, func(o *webhook.Options) { o.Jitter = func() float64 { return 0.5 } })
			in := r.receive(status(503))
			r.create(core.WebhookSpec{URL: in.URL, Retries: &retries, Secret: "s"})
			r.emit(core.EventPatternDeleted, "p", data{"name": "p"})
			first := r.attempts(1)
			for n, nominal := range waits[:retries] {
				r.restart()
				r.step(nominal)
				if got := len(in.all()); got != n+1 {
					t.Fatalf("%d attempts after %s, which is too early", got, nominal)
				}
				r.step(nominal / 10)
				r.attempts(n + 2)
			}
			r.wait(1, core.DeliveryFailed)
			r.restart()
			r.step(48 * time.Hour)
			list := in.all()
			if len(list) != retries+1 {
				t.Fatalf("%d attempts, want %d", len(list), retries+1)
			}
			for n, got := range list {
				verify(t, got, "s")
				if string(got.body) != string(list[0].body) || got.header.Get("X-Service-Delivery") != first.ID {
					t.Errorf("attempt %d is of another delivery, or has another body", n)
				}
				if have, want := got.header.Get("X-Service-Timestamp"), fmt.Sprint(got.at.Unix()); have != want {
					t.Errorf("attempt %d has timestamp %s, want %s", n, have, want)
				}
				if n > 0 && (got.header.Get("X-Service-Retry-Count") != fmt.Sprint(n) ||
					got.header.Get("X-Service-Original-Timestamp") != list[0].header.Get("X-Service-Timestamp")) {
					t.Errorf("attempt %d has headers %v", n, got.header)
				}
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(429)
	})
	r.create(core.WebhookSpec{URL: in.URL})
	r.emit(core.EventSystemAlert, "", data{})
	d := r.attempts(1)
	if wait := d.NextAt.Sub(r.clock.Now()); wait != 2*time.Hour {
		t.Errorf("the next attempt is in %s, want the two hours that the receiver asked for", wait)
	}
}

func TestGone(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(status(410))
	other := r.receive(nil)
	w := r.create(core.WebhookSpec{URL: in.URL})
	r.create(core.WebhookSpec{URL: other.URL, Events: []core.EventType{core.EventSystemAlert}})
	r.emit(core.EventPatternCreated, "p", data{})
	r.wait(1, core.DeliveryFailed)
	r.wait(1, core.DeliverySucceeded)
	got, err := r.FindWebhook(ctx, w.ID)
	if err != nil || got.Enabled || !strings.Contains(got.DisabledReason, "410") || got.DisabledAt == nil {
		t.Fatalf("the endpoint is %+v, %v", got, err)
	}
	alert := other.all()[0].event
	if alert.Type != "system.alert" || alert.Data["severity"] != "warning" || alert.Data["details"].(data)["webhookId"] != w.ID {
		t.Errorf("the alert is %+v", alert)
	}
}

// TestSustainedFailure: nothing but failures for long enough disables an endpoint, and what waits goes on once it is
// enabled again.
func TestSustainedFailure(t *testing.T) {
	r := newRig(t, func(o *webhook.Options) { o.Config.DisableAfter = 2 * time.Hour })
	in := r.receive(status(500))
	w := r.create(core.WebhookSpec{URL: in.URL, Retries: ptr(4), Events: []core.EventType{core.EventPatternCreated}})
	for n := range 3 {
		r.emit(core.EventPatternCreated, fmt.Sprint(n), data{"name": "p"})
	}
	coretest.WaitFor(t, "the first attempts to be stored", func() bool {
		return !slices.ContainsFunc(r.store.rows(), func(d *core.Delivery) bool { return d.Attempts != 1 }) && len(r.store.rows()) == 3
	})
	for _, d := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute} {
		n := len(in.all())
		r.step(d)
		coretest.WaitFor(t, "the next attempts", func() bool {
			if len(in.all()) == n+3 {
				return true
			}
			r.step(time.Second) // a timer may have been set while the clock was stepped, and be late by as much
			return false
		})
		coretest.WaitFor(t, "their outcome", func() bool {
			return !slices.ContainsFunc(r.store.rows(), func(d *core.Delivery) bool { return !d.NextAt.After(r.clock.Now()) })
		})
	}
	r.emit(core.EventPatternCreated, "late", data{"name": "p"}) // has an attempt left when the endpoint is disabled
	coretest.WaitFor(t, "the late one to fail", func() bool { return len(in.all()) == 13 })
	coretest.WaitFor(t, "its outcome", func() bool { rows := r.store.rows(); return rows[len(rows)-1].Attempts == 1 })
	r.step(2 * time.Hour)
	coretest.WaitFor(t, "the endpoint to be disabled", func() bool { got, _ := r.FindWebhook(ctx, w.ID); return !got.Enabled })
	got, _ := r.FindWebhook(ctx, w.ID)
	if !strings.Contains(got.DisabledReason, "every attempt failed since") {
		t.Errorf("the reason is %q", got.DisabledReason)
	}
	r.emit(core.EventPatternCreated, "meanwhile", data{"name": "p"})
	r.restart()
	n := len(in.all())
	in.set(nil)
	if _, err := r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Enabled: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "what waited to be delivered", func() bool { return r.store.count(core.DeliveryPending) == 0 })
	if r.store.count(core.DeliverySucceeded) == 0 || len(in.all()) == n {
		t.Error("nothing was delivered")
	}
	for _, got := range in.all() {
		if got.header.Get("X-Service-Event") == "pattern.created" && strings.Contains(string(got.body), "meanwhile") {
			t.Error("an event that was written while the endpoint was disabled was delivered")
		}
	}
}

func TestRetryDelivery(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(status(500))
	w := r.create(core.WebhookSpec{URL: in.URL, Retries: ptr(0)})
	r.emit(core.EventPatternCreated, "p", data{})
	r.wait(1, core.DeliveryFailed)
	d := r.store.rows()[0]
	_, first, err := r.FindDelivery(ctx, w.ID, d.ID)
	if err != nil || first.Headers["X-Service-Delivery"] != d.ID || first.Headers["X-Service-Retry-Count"]+first.Headers["X-Service-Original-Timestamp"] != "" {
		t.Errorf("the request of the first attempt is %+v, %v", first, err)
	}
	in.set(nil)
	made, err := r.RetryDelivery(ctx, w.ID, d.ID)
	if err != nil || made.Status != core.DeliveryPending {
		t.Fatal(made, err)
	}
	r.wait(1, core.DeliverySucceeded)
	got, _ := r.FindWebhook(ctx, w.ID)
	if st := got.Statistics; st.Total != 1 || st.Succeeded != 1 || st.Failed != 0 {
		t.Errorf("statistics are %+v", st)
	}
	last := in.all()[1]
	if last.header.Get("X-Service-Retry-Count") != "1" || last.header.Get("X-Service-Original-Timestamp") == "" {
		t.Errorf("the retry has headers %v", last.header)
	}
	whole, request, err := r.FindDelivery(ctx, w.ID, d.ID)
	if err != nil || len(whole.Former) != 1 || whole.Former[0].StatusCode != 500 || whole.Former[0].Error == "" || whole.StatusCode != 200 {
		t.Errorf("the delivery is %+v, %v", whole, err)
	}
	if request == nil || request.URL != in.URL || string(request.Body) != string(last.body) || request.Headers["X-Service-Delivery"] != d.ID ||
		request.Headers["X-Service-Signature"] != "" || request.Headers["X-Service-Retry-Count"] != "1" {
		t.Errorf("the request is %+v", request)
	}
	_, _, err = r.FindDelivery(ctx, "wh_none", d.ID)
	wantCode(t, err, core.CodeNotFound)
	_, _, err = r.FindDelivery(ctx, w.ID, "dlv_none")
	wantCode(t, err, core.CodeNotFound)
	_, err = r.RetryDelivery(ctx, w.ID, d.ID)
	wantCode(t, err, core.CodeConflict)
	_, err = r.RetryDelivery(ctx, w.ID, "dlv_none")
	wantCode(t, err, core.CodeNotFound)
	_, err = r.RetryDelivery(ctx, "wh_none", d.ID)
	wantCode(t, err, core.CodeNotFound)
}

// A delivery that waits for its next attempt is sent now when somebody asks for it, and goes on with its schedule after that.
func TestRetryDeliveryThatWaits(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(status(500))
	w := r.create(core.WebhookSpec{URL: in.URL, Retries: ptr(2)})
	r.emit(core.EventPatternCreated, "p", data{})
	d := r.attempts(1)
	if d.Status != core.DeliveryPending || !d.NextAt.After(r.clock.Now()) {
		t.Fatalf("delivery %+v", d)
	}
	if _, err := r.RetryDelivery(ctx, w.ID, d.ID); err != nil {
		t.Fatal(err)
	}
	if d = r.attempts(2); d.Status != core.DeliveryPending || !d.NextAt.After(r.clock.Now()) {
		t.Fatalf("after the retry: %+v", d)
	}
	in.set(nil)
	if _, err := r.RetryDelivery(ctx, w.ID, d.ID); err != nil {
		t.Fatal(err)
	}
	r.wait(1, core.DeliverySucceeded)
	got, _ := r.FindWebhook(ctx, w.ID)
	if st := got.Statistics; st.Total != 1 || st.Succeeded != 1 || st.Failed != 0 {
		t.Errorf("statistics are %+v", st)
	}
}

func TestTestWebhook(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(status(500))
	w := r.create(core.WebhookSpec{URL: in.URL, Enabled: ptr(false), Secret: "s"})
	for i, kind := range core.PublicEvents {
		d, err := r.TestWebhook(ctx, w.ID, kind)
		if err != nil {
			t.Fatal(err)
		}
		if d.Status != core.DeliveryFailed || d.StatusCode != 500 || !d.Test || d.LastError == "" {
			t.Errorf("the delivery is %+v", d)
		}
		got := in.all()[i]
		verify(t, got, "s")
		if got.event.Type != string(kind) || got.event.Data["test"] != true || len(got.event.Data) < 3 {
			t.Errorf("the event is %s", got.body)
		}
	}
	r.step(time.Hour)
	if n := len(in.all()); n != len(core.PublicEvents) {
		t.Errorf("%d requests: a test was made again", n)
	}
	_, err := r.TestWebhook(ctx, w.ID, "nothing.happened")
	wantCode(t, err, core.CodeValidation)
	_, err = r.TestWebhook(ctx, "wh_none", core.EventSystemAlert)
	wantCode(t, err, core.CodeNotFound)
	got, _ := r.FindWebhook(ctx, w.ID)
	if got.Statistics != (core.WebhookStatistics{}) {
		t.Errorf("tests count: %+v", got.Statistics)
	}
}

// TestDeleteUnderWay: an endpoint that is deleted gets nothing any more, and nothing is left of it.
func TestDeleteUnderWay(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	w := r.create(core.WebhookSpec{URL: in.URL})
	for n := range 50 {
		r.emit(core.EventPatternCreated, fmt.Sprint(n), data{})
	}
	coretest.WaitFor(t, "attempts under way", func() bool { return r.Stats().Active > 0 && len(in.all()) > 0 })
	if err := r.DeleteWebhook(ctx, w.ID); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the attempts to end", func() bool { return r.Stats().Active == 0 })
	wantCode(t, r.DeleteWebhook(ctx, w.ID), core.CodeNotFound)
	_, _, err := r.FindDeliveries(ctx, core.DeliveryFilter{WebhookID: w.ID})
	wantCode(t, err, core.CodeNotFound)
	if n := len(r.store.rows()); n != 0 {
		t.Errorf("%d deliveries are left", n)
	}
}

// TestOnlyLaterEvents: an endpoint gets what is written after it was made, and nothing else, also over a restart.
func TestOnlyLaterEvents(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	r.emit(core.EventPatternCreated, "before", data{"name": "before"})
	r.create(core.WebhookSpec{URL: in.URL})
	r.emit(core.EventPatternCreated, "after", data{"name": "after"})
	r.wait(1, core.DeliverySucceeded)
	r.Close()
	r.emit(core.EventPatternCreated, "away", data{"name": "away"})
	r.open()
	r.wait(2, core.DeliverySucceeded)
	var names []string
	for _, got := range in.all() {
		names = append(names, fmt.Sprint(got.event.Data["name"]))
	}
	if want := []string{"after", "away"}; !slices.Equal(names, want) {
		t.Errorf("received %v, want %v", names, want)
	}
}

func TestClockGoesBack(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(status(500))
	r.create(core.WebhookSpec{URL: in.URL})
	r.emit(core.EventPatternCreated, "p", data{})
	r.attempts(1)
	r.Close()
	r.clock = coretest.NewClock()
	r.clock.Advance(-365 * 24 * time.Hour)
	r.opts.Clock = r.clock
	r.open()
	coretest.WaitFor(t, "the wait to be judged anew", func() bool {
		return r.store.rows()[0].NextAt.Sub(r.clock.Now()) == time.Minute
	})
	coretest.WaitFor(t, "the second attempt", func() bool { r.step(time.Second); return len(in.all()) == 2 })
}

func TestEnvelopeIsJSON(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	r.create(core.WebhookSpec{URL: in.URL})
	r.emit(core.EventExecutionCompleted, "exec_1", data{"result": strings.Repeat("<&> \u2028 ä", 100_000)})
	r.wait(1, core.DeliverySucceeded)
	if got := in.all()[0]; !json.Valid(got.body) || len(got.event.Data["result"].(string)) < 1_000_000 {
		t.Errorf("the body has %d bytes: %.100s", len(got.body), got.body)
	}
}

// TestLoadIsFaster: a load finds deliveries that were just stored, and they are over before who stored them offers them
// to the window. They are not made again.
func TestLoadIsFaster(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(status(500))
	w := r.create(core.WebhookSpec{URL: in.URL, Retries: ptr(0)})
	r.emit(core.EventPatternCreated, "first", data{})
	r.wait(1, core.DeliveryFailed)
	first := r.store.rows()[0].ID
	in.set(nil)
	stored, offer := r.holdReader()
	r.emit(core.EventPatternCreated, "second", data{})
	<-stored
	if _, err := r.RetryDelivery(ctx, w.ID, first); err != nil {
		t.Error(err)
	}
	coretest.WaitFor(t, "both to be delivered", func() bool {
		return r.store.count(core.DeliverySucceeded) == 2 && r.Stats().Waiting == 0
	})
	offer()
	r.wait(2, core.DeliverySucceeded)
	coretest.WaitFor(t, "the log to be read", func() bool { return r.Stats().Behind == 0 })
	r.emit(core.EventPatternCreated, "third", data{})
	r.wait(3, core.DeliverySucceeded)
	if n := len(in.all()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

// TestRetryWhileOthersAreStored: a delivery that is retried while others are stored goes out, although what was read of it before
// must not.
func TestRetryWhileOthersAreStored(t *testing.T) {
	r := newRig(t, nil)
	var stored <-chan struct{}
	var offer func()
	failure := func() { // stored, and not taken over yet
		stored, offer = r.holdReader()
		r.emit(core.EventPatternCreated, "second", data{})
		<-stored
	}
	in := r.receive(func(w http.ResponseWriter, _ *http.Request) {
		r.store.committed.Store(&failure)
		w.WriteHeader(500)
	})
	w := r.create(core.WebhookSpec{URL: in.URL, Retries: ptr(0)})
	r.emit(core.EventPatternCreated, "first", data{})
	r.wait(1, core.DeliveryFailed)
	in.set(nil)
	if _, err := r.RetryDelivery(ctx, w.ID, r.store.rows()[0].ID); err != nil {
		t.Error(err)
	}
	r.wait(1, core.DeliverySucceeded) // the second one: a load found it
	offer()
	r.wait(2, core.DeliverySucceeded)
	if n := len(in.all()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}
