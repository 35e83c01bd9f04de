package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestTriggers(t *testing.T) {
	r := newRig(t)
	const create = `{"name":"on-push","scheme":"github","secret":"0123456789abcdef","events":["push"],"mapping":{"repo":"$.repository.full_name"},` +
		`"ratePerMinute":5,"disabled":true,"target":{"execution":{"pattern":"review"}}}`
	p := r.do("POST", "/api/triggers", create)
	p.wants(t, 201, "")
	got := r.triggers.spec
	if got.Name != "on-push" || got.Scheme != wire.SchemeGitHub || got.Secret != "0123456789abcdef" || got.Mapping["repo"] == "" || got.RatePerMinute != 5 || !got.Disabled {
		t.Errorf("%+v", got)
	}
	if p.at("secret") != "trgsec_canary" || p.at("path") != "/api/hooks/"+triggerID || p.header.Get("Location") != "/api/triggers/"+triggerID {
		t.Errorf("%s", p.text)
	}
	for _, path := range []string{"/api/triggers", "/api/triggers/" + triggerID} {
		if p = r.do("GET", path, ""); p.status != 200 || !strings.Contains(p.text, "trgsec_***") {
			t.Errorf("%d %s", p.status, p.text)
		}
	}
	r.do("PATCH", "/api/triggers/"+triggerID, `{"enabled":false,"events":[],"mapping":{}}`).wants(t, 200, "")
	if got := r.triggers.patch; *got.Enabled || got.Events == nil || len(*got.Events) != 0 || got.Mapping == nil || got.Target != nil || got.Name != nil {
		t.Errorf("%+v", got)
	}
	if p = r.do("POST", "/api/triggers/"+triggerID+"/rotate", `{"secret":"a-secret-of-mine-1","overlap":3600000}`); p.at("secret") != "a-secret-of-mine-1" || r.triggers.overlap != time.Hour {
		t.Errorf("%s, %s", p.text, r.triggers.overlap)
	}
	if p = r.do("POST", "/api/triggers/"+triggerID+"/test", `{"body":{"n":12345678901234567890}}`); p.status != 200 || r.triggers.body != `{"n":12345678901234567890}` {
		t.Errorf("%s, %s", p.text, r.triggers.body)
	}
	if p = r.do("DELETE", "/api/triggers/"+triggerID, ""); p.status != 204 {
		t.Errorf("%d %s", p.status, p.text)
	}
	r.do("GET", "/api/triggers/trig_none", "").wants(t, 404, core.CodeNotFound)
	r.do("POST", "/api/triggers", `{"name":"n","target":{"execution":{"pattern":"p"}},"secret":"short"}`).wants(t, 400, core.CodeValidation)
	if strings.Contains(r.log.String(), "canary") || strings.Contains(r.log.String(), "0123456789abcdef") {
		t.Error("a secret is in the log")
	}
}

// Requests to triggers need no credential, and their bodies reach the service as they came.
func TestReceiveHook(t *testing.T) {
	r := guarded(t)
	r.triggers.receipt = core.TriggerReceipt{Outcome: wire.TriggerStarted, RunRef: core.RunRef{ExecutionID: execID}}
	const body = "{ \"b\": 1.0,\n\"a\":\"<\\u00e9>\" }"
	send := func(more ...string) reply { return r.do("POST", "/api/hooks/"+triggerID, body, more...) }
	p := send("X-Service-Signature: sha256=x", "X-GitHub-Delivery: d", "Idempotency-Key: of-the-sender")
	p.wants(t, 202, "")
	if r.triggers.body != body || r.triggers.headers["X-Github-Delivery"] != "d" || p.at("executionId") != execID {
		t.Errorf("%q, %v, %s", r.triggers.body, r.triggers.headers, p.text)
	}
	r.triggers.receipt.Outcome = wire.TriggerDuplicate
	send().wants(t, 200, "")
	r.triggers.err = &core.Error{Code: core.CodeUnauthorized, Message: "no", Details: map[string]any{"reason": "invalid"}}
	send().wants(t, 401, core.CodeUnauthorized)
	r.triggers.err = nil
	r.do("POST", "/api/hooks/"+triggerID, `{"a":"`+strings.Repeat("x", 1<<20)+`"}`).wants(t, 413, core.CodeValidation)
	r.do("POST", "/api/hooks/"+triggerID, "payload=%7B%7D", "Content-Type: application/x-www-form-urlencoded").wants(t, 415, core.CodeValidation)
	r.do("POST", "/api/hooks/"+triggerID, "").wants(t, 400, core.CodeValidation)
	// A header that comes twice is none.
	req, err := http.NewRequest("POST", r.http.URL+"/api/hooks/"+triggerID, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Twice": {"a", "b"}}
	if r.send(req); r.triggers.headers["X-Twice"] != "" {
		t.Errorf("%v", r.triggers.headers)
	}
}
