package api_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

const smallWebhook = `{"url":"https://a.example.com/x","events":["*"]}`

func TestCreateWebhook(t *testing.T) {
	r := newRig(t)
	var got core.WebhookSpec
	r.webhooks.create = func(ctx context.Context, spec core.WebhookSpec) (*core.Webhook, error) {
		if ctx.Done() != nil {
			t.Error("what was asked for ends with its client")
		}
		got = spec
		w := someWebhook(webhookID)
		w.Secret = "whsec_new"
		return w, nil
	}
	for _, c := range []struct {
		name, body string
		want       core.WebhookSpec
	}{
		{"least", smallWebhook, core.WebhookSpec{URL: "https://a.example.com/x", Events: []core.EventType{"*"}}},
		{"nulls", `{"url":"u","events":["*"],"secret":null,"enabled":null,"retries":null,"timeout":null,"filters":null,"headers":null}`,
			core.WebhookSpec{URL: "u", Events: []core.EventType{"*"}}},
		{"most", `{"url":"u","events":["system.alert","agent.connected"],"secret":"s","headers":{"X-A":"b"},"enabled":false,"retries":0,` +
			`"timeout":1500,"filters":{"pattern":["p","q"],"metadata":{"k":"v"}},"ordered":true,"clientCertificate":"c","clientKey":"k","ca":"a"}`,
			core.WebhookSpec{
				URL: "u", Events: []core.EventType{core.EventSystemAlert, core.EventAgentConnected}, Secret: "s",
				Headers: map[string]string{"X-A": "b"}, Enabled: new(false), Retries: new(0), TimeoutMs: new(int64(1500)),
				Filters: core.WebhookFilters{Pattern: []string{"p", "q"}, Metadata: map[string]string{"k": "v"}},
				Ordered: true, ClientCert: "c", ClientKey: "k", CA: "a",
			}},
	} {
		p := r.do("POST", "/api/webhooks", c.body)
		p.wants(t, 201, "")
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: spec %+v\nwant %+v", c.name, got, c.want)
		}
		if p.header.Get("Location") != webhookPath || p.at("id") != webhookID || p.at("secret") != "whsec_new" {
			t.Errorf("%s: %s %s", c.name, p.header.Get("Location"), p.text)
		}
	}
}

func TestCreateWebhookRefuses(t *testing.T) {
	r := newRig(t)
	r.webhooks.create = func(context.Context, core.WebhookSpec) (*core.Webhook, error) {
		t.Error("a refused request reached the service")
		return someWebhook(webhookID), nil
	}
	for body, field := range map[string]string{
		``: "body", `{}`: "url", `{"url":"u"}`: "events", `{"url":"","events":["*"]}`: "url", `{"url":1,"events":["*"]}`: "url",
		`{"url":"u","events":[]}`: "events", `{"url":"u","events":"*"}`: "events", `{"url":"u","events":["*",2]}`: "events[1]",
		`{"url":"u","events":["*"],"secret":""}`: "secret", `{"url":"u","events":["*"],"secret":"` + strings.Repeat("s", 10_000) + `"}`: "secret",
		`{"url":"u","events":["*"],"secret":"whsec_***"}`: "secret", `{"url":"u","events":["*"],"retries":5}`: "retries",
		`{"url":"u","events":["*"],"retries":-1}`: "retries", `{"url":"u","events":["*"],"timeout":0}`: "timeout",
		`{"url":"u","events":["*"],"timeout":300001}`: "timeout", `{"url":"u","events":["*"],"timeout":"1s"}`: "timeout",
		`{"url":"u","events":["*"],"headers":{"X":1}}`: "headers.X", `{"url":"u","events":["*"],"filters":{"pattern":[1]}}`: "filters.pattern[0]",
		`{"url":"u","events":["*"],"filters":{"metadata":{"k":{}}}}`: "filters.metadata.k", `{"url":"u","events":["*"],"filters":{"name":1}}`: "filters.name",
		`{"url":"u","events":["*"],"enabeld":true}`: "enabeld", `{"url":"u","events":["*"],"id":"wh_1"}`: "id", `{"url":"u"`: "body",
	} {
		p := r.do("POST", "/api/webhooks", body)
		p.wants(t, 400, core.CodeValidation)
		if p.at("error", "details", "field") != field {
			t.Errorf("%.80s: %s", body, p.text)
		}
	}
	r.webhooks.create = func(context.Context, core.WebhookSpec) (*core.Webhook, error) {
		return nil, core.InvalidAll("invalid webhook", []core.Problem{{Path: "events[2]", Reason: "no such type"}, {Path: "headers.Host", Reason: "is made"}})
	}
	p := r.do("POST", "/api/webhooks", smallWebhook)
	p.wants(t, 400, core.CodeValidation)
	if list, _ := p.at("error", "details", "errors").([]any); len(list) != 2 {
		t.Errorf("%s", p.text)
	}
}

// TestWebhookSecretIsNotKept: the stored answer of a key has no secret, and neither has an answer from the record.
func TestWebhookSecretIsNotKept(t *testing.T) {
	r := newRig(t)
	r.webhooks.create = func(ctx context.Context, _ core.WebhookSpec) (*core.Webhook, error) {
		r.keys.claim(ctx, webhookID)
		w := someWebhook(webhookID)
		w.Secret = "whsec_new"
		return w, nil
	}
	first := r.do("POST", "/api/webhooks", smallWebhook, "Idempotency-Key: k")
	first.wants(t, 201, "")
	if first.at("secret") != "whsec_new" {
		t.Errorf("first %s", first.text)
	}
	replay := func(what, key string) {
		again := r.do("POST", "/api/webhooks", smallWebhook, "Idempotency-Key: "+key)
		again.wants(t, 201, "")
		if again.text != strings.Replace(first.text, "whsec_new", "whsec_***", 1) || again.header.Get("Location") != webhookPath ||
			again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %s", what, again.text)
		}
	}
	replay("kept answer", "k")
	for _, rec := range r.keys.records() {
		if strings.Contains(string(rec.Body), "whsec_new") {
			t.Errorf("the store has the secret: %s", rec.Body)
		}
	}
	r.keys.dying(0, func() reply { return r.do("POST", "/api/webhooks", smallWebhook, "Idempotency-Key: lost") })
	replay("from the record", "lost")
	r.do("POST", "/api/webhooks", smallWebhook+" ", "Idempotency-Key: k").wants(t, 409, core.CodeConflict)
}

func TestGetWebhook(t *testing.T) {
	r := newRig(t)
	want := `{"id":"` + webhookID + `","url":"https://hooks.example.com/x","events":["execution.completed","system.alert"],"secret":"whsec_***",` +
		`"headers":{"X-Team":"a"},"enabled":false,"disabledReason":"failing","disabledAt":"2026-01-02T04:04:05.678Z","retries":3,"timeout":30000,` +
		`"filters":{"pattern":["triage"],"metadata":{"team":"a"}},"ordered":true,"clientCertificate":"-----BEGIN CERTIFICATE-----","ca":"-----BEGIN",` +
		`"declared":true,"secretRotatesAt":"2026-01-03T03:04:05.678Z","createdBy":"mira","createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"2026-01-02T03:04:06.678Z",` +
		`"statistics":{"deliveriesTotal":7,"deliveriesSucceeded":5,"deliveriesFailed":2,"deliveriesPending":1,"averageLatency":12.5}}`
	p := r.do("GET", webhookPath, "")
	p.wants(t, 200, "")
	if p.text != want {
		t.Errorf("%s\nwant\n%s", p.text, want)
	}
	r.webhooks.find = func(id string) (*core.Webhook, error) { return nil, core.NotFound("webhook", id) }
	r.do("GET", webhookPath, "").wants(t, 404, core.CodeNotFound)
}

func TestListWebhooks(t *testing.T) {
	r := newRig(t)
	var got core.Page
	r.webhooks.findAll = func(page core.Page) ([]*core.Webhook, core.PageInfo, error) {
		got = page
		return []*core.Webhook{{ID: "wh_2", URL: "https://b.example.com", CreatedAt: epoch}}, core.PageInfo{Total: 9, HasMore: true, NextCursor: "c"}, nil
	}
	p := r.do("GET", "/api/webhooks?limit=1&offset=4", "")
	p.wants(t, 200, "")
	want := `{"webhooks":[{"id":"wh_2","url":"https://b.example.com","events":[],"secret":"whsec_***","headers":{},"enabled":false,"retries":0,"timeout":0,"filters":{},` +
		`"ordered":false,"declared":false,"createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"0001-01-01T00:00:00.000Z"}],"total":9,"limit":1,"offset":4,"hasMore":true,"nextCursor":"c"}`
	if p.text != want || got != (core.Page{Limit: 1, Offset: 4}) {
		t.Errorf("%+v %s\nwant\n%s", got, p.text, want)
	}
	r.webhooks.findAll = func(core.Page) ([]*core.Webhook, core.PageInfo, error) { return nil, core.PageInfo{}, nil }
	if p := r.do("GET", "/api/webhooks", ""); !strings.Contains(p.text, `"webhooks":[]`) {
		t.Errorf("an empty list is %s", p.text)
	}
	for _, query := range []string{"?limit=101", "?limit=0", "?offset=1&cursor=a", "?enabled=true"} {
		r.do("GET", "/api/webhooks"+query, "").wants(t, 400, core.CodeValidation)
	}
}

func TestUpdateWebhook(t *testing.T) {
	r := newRig(t)
	var got core.WebhookPatch
	r.webhooks.update = func(_ context.Context, id string, patch core.WebhookPatch) (*core.Webhook, error) {
		got = patch
		w := someWebhook(id)
		if patch.Secret != nil {
			w.Secret = "whsec_next"
		}
		return w, nil
	}
	for _, c := range []struct {
		name, body string
		want       core.WebhookPatch
	}{
		{"nothing", `{}`, core.WebhookPatch{}},
		{"some", `{"url":"u","events":["*"],"enabled":true,"retries":0,"timeout":5,"ordered":false}`, core.WebhookPatch{
			URL: new("u"), Events: &[]core.EventType{"*"}, Enabled: new(true), Retries: new(0), TimeoutMs: new(int64(5)), Ordered: new(false)}},
		{"whole", `{"headers":{"X":"y"},"filters":{"pattern":["p"]},"clientCertificate":"c","clientKey":"k","ca":"a"}`, core.WebhookPatch{
			Headers: &map[string]string{"X": "y"}, Filters: &core.WebhookFilters{Pattern: []string{"p"}},
			ClientCert: new("c"), ClientKey: new("k"), CA: new("a")}},
		{"empty", `{"headers":{},"filters":{}}`, core.WebhookPatch{Headers: &map[string]string{}, Filters: &core.WebhookFilters{}}},
		{"nulls", `{"headers":null,"enabled":null,"retries":null,"timeout":null,"filters":null,"ordered":null,"clientCertificate":null,"ca":null}`, core.WebhookPatch{
			Headers: &map[string]string{}, Enabled: new(true), Retries: new(3), TimeoutMs: new(int64(30000)), Filters: &core.WebhookFilters{},
			Ordered: new(false), ClientCert: new(""), ClientKey: new(""), CA: new("")}},
		{"secret", `{"secret":"mine"}`, core.WebhookPatch{Secret: new("mine")}},
		{"rotate", `{"rotateSecret":true}`, core.WebhookPatch{Secret: new("")}},
		{"rotate to", `{"rotateSecret":true,"secret":"mine","overlap":0}`, core.WebhookPatch{Secret: new("mine"), Overlap: new(time.Duration(0))}},
		{"overlap", `{"rotateSecret":true,"overlap":86400000}`, core.WebhookPatch{Secret: new(""), Overlap: new(24 * time.Hour)}},
		{"no rotation", `{"rotateSecret":false}`, core.WebhookPatch{}},
	} {
		p := r.do("PATCH", webhookPath, c.body)
		p.wants(t, 200, "")
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: patch %+v\nwant %+v", c.name, got, c.want)
		}
		want := "whsec_***"
		if c.want.Secret != nil {
			want = "whsec_next"
		}
		if p.at("secret") != want {
			t.Errorf("%s: %s", c.name, p.text)
		}
	}
	got = core.WebhookPatch{URL: new("untouched")}
	for body, field := range map[string]string{
		``: "body", `{"url":null}`: "url", `{"events":null}`: "events", `{"events":[]}`: "events", `{"secret":null}`: "secret", `{"secret":""}`: "secret",
		`{"secret":"whsec_***"}`: "secret", `{"overlap":5}`: "overlap", `{"rotateSecret":false,"overlap":5}`: "overlap",
		`{"rotateSecret":true,"overlap":604800001}`: "overlap", `{"rotateSecret":"yes"}`: "rotateSecret", `{"id":"wh_2"}`: "id",
		`{"statistics":{}}`: "statistics", `{"clientCertificate":null,"clientKey":"k"}`: "clientKey", `{"retries":9}`: "retries", `[]`: "body",
	} {
		p := r.do("PATCH", webhookPath, body)
		p.wants(t, 400, core.CodeValidation)
		if p.at("error", "details", "field") != field {
			t.Errorf("%s: %s", body, p.text)
		}
	}
	if got.URL == nil || *got.URL != "untouched" {
		t.Error("a refused request reached the service")
	}
	r.webhooks.update = func(_ context.Context, id string, _ core.WebhookPatch) (*core.Webhook, error) {
		return nil, core.Conflict("webhook", id, "declared", "it is in the configuration")
	}
	r.do("PATCH", webhookPath, `{"enabled":true}`).wants(t, 409, core.CodeConflict)
}

func TestDeleteWebhook(t *testing.T) {
	r := newRig(t)
	p := r.do("DELETE", webhookPath, "")
	p.wants(t, 204, "")
	if p.text != "" {
		t.Errorf("body %s", p.text)
	}
	for _, c := range []struct {
		err    error
		status int
		code   core.Code
	}{
		{core.NotFound("webhook", webhookID), 404, core.CodeNotFound},
		{core.Conflict("webhook", webhookID, "declared", "it is in the configuration"), 409, core.CodeConflict},
	} {
		r.webhooks.remove = func(context.Context, string) error { return c.err }
		r.do("DELETE", webhookPath, "").wants(t, c.status, c.code)
	}
}

func TestWebhookScopes(t *testing.T) {
	var asked []string
	r := newRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			asked = append(asked, strings.TrimSpace(a.Action+" "+a.Scope+" "+a.ID))
			return nil
		}
	})
	for _, c := range [][3]string{
		{"POST", "/api/webhooks", smallWebhook}, {"GET", "/api/webhooks"}, {"GET", webhookPath}, {"PATCH", webhookPath, `{}`}, {"DELETE", webhookPath},
		{"POST", webhookPath + "/test", `{"event":"system.alert"}`}, {"GET", webhookPath + "/deliveries"},
		{"POST", webhookPath + "/deliveries/" + deliveryID + "/retry"}, {"POST", webhookPath + "/deliveries/retry"},
	} {
		r.do(c[0], c[1], c[2])
	}
	of := " admin " + webhookID
	want := []string{
		"webhooks.create admin", "webhooks.read admin", "webhooks.read" + of, "webhooks.update" + of, "webhooks.delete" + of,
		"webhooks.test" + of, "webhooks.read" + of, "webhooks.retry" + of, "webhooks.retry" + of,
	}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked\n%s\nwant\n%s", strings.Join(asked, "\n"), strings.Join(want, "\n"))
	}
}

func TestNoWebhooks(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Parts = nil })
	r.do("GET", "/api/webhooks", "").wants(t, 404, core.CodeNotFound)
	r.do("POST", webhookPath+"/test", `{"event":"system.alert"}`).wants(t, 404, core.CodeNotFound)
}
