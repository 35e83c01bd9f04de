package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// A turn that failed has no text, one that was stopped or refused says so, and the document knows all of it.
func TestManagedAgentTurnOutcomes(t *testing.T) {
	r := newRig(t)
	var outcome wire.TurnResponse
	var got core.ManagedAgentInput
	r.managed.send = func(_ context.Context, _ string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		got = in
		return core.ManagedAgentReply{Sent: true, Response: &outcome}, nil
	}
	for want, is := range map[string]wire.TurnResponse{
		`{"sent":true,"response":{"turn":2,"durationMs":5,"error":{"code":"MODEL_ERROR","message":"400 <no>","retryable":false}}}`: {
			Text: "never", Turn: 2, DurationMs: 5,
			TurnOutcome: wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnModelError, Message: "400 <no>"}},
		},
		`{"sent":true,"response":{"text":"","turn":2,"durationMs":0,"interrupted":true}}`: {
			Turn: 2, TurnOutcome: wire.TurnOutcome{Interrupted: true},
		},
		`{"sent":true,"response":{"text":"no","turn":2,"durationMs":0,"refused":true,"usage":{"inputTokens":3,"outputTokens":1}}}`: {
			Text: "no", Turn: 2, TurnOutcome: wire.TurnOutcome{Refused: true, Usage: &wire.Usage{InputTokens: 3, OutputTokens: 1}},
		},
	} {
		outcome = is
		p := r.do("POST", magentPath+"/send", `{"message":"m","expectResponse":true}`)
		p.wants(t, 200, "")
		if p.text != want {
			t.Errorf("answered %s\nwant %s", p.text, want)
		}
	}
	r.do("POST", magentPath+"/send", `{"interrupt":true}`).wants(t, 200, "")
	if !got.Interrupt || got.Message != "" {
		t.Errorf("given %+v", got)
	}
	r.keys.full = core.Unavailable("store_read_only", "the store is read-only")
	got = core.ManagedAgentInput{}
	r.do("POST", magentPath+"/send", `{"interrupt":true}`, "Idempotency-Key: k").wants(t, 200, "")
	if !got.Interrupt || got.Key == "" {
		t.Errorf("on a full disk given %+v", got)
	}
	r.do("POST", magentPath+"/send", `{"raw":"x"}`, "Idempotency-Key: k2").wants(t, 503, core.CodeInternal)
	r.keys.full = nil
	r.do("POST", magentPath+"/send", `{"interrupt":true,"message":"m"}`).wants(t, 400, core.CodeValidation)
	r.do("POST", magentPath+"/send", `{"interrupt":false}`).wants(t, 400, core.CodeValidation)

	var doc struct {
		Components struct {
			Schemas map[string]struct{ Required []string }
		}
	}
	if err := json.Unmarshal([]byte(r.do("GET", "/api/openapi.json", "").text), &doc); err != nil {
		t.Fatal(err)
	}
	if required := strings.Join(doc.Components.Schemas["TurnResponse"].Required, " "); required != "turn durationMs" {
		t.Errorf("of a response are required: %s", required)
	}
}

// Agents are found by their labels, which are shown; what was stored escaped for the sake of HTML is shown as it is.
func TestManagedAgentLabels(t *testing.T) {
	r := newRig(t)
	var got core.ManagedAgentFilter
	r.managed.findAll = func(filter core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
		got = filter
		a := someManaged(magentID, core.ManagedUnreachable)
		a.Labels = map[string]string{"team": "core"}
		a.Prompt = json.RawMessage(`{"id":"q","input":{"command":"echo a \u003e b \u0026\u0026 ls"}}`)
		return []*core.ManagedAgent{a}, core.PageInfo{Total: 1}, nil
	}
	p := r.do("GET", "/api/managed-agents?status=unreachable&label=team%3Dcore&label=k%3Da%2Cb%3Dc", "")
	p.wants(t, 200, "")
	if len(got.Labels) != 2 || got.Labels["team"] != "core" || got.Labels["k"] != "a,b=c" || got.Status != core.ManagedUnreachable {
		t.Errorf("asked for %+v", got)
	}
	for _, want := range []string{`"labels":{"team":"core"}`, `"command":"echo a > b && ls"`, `"status":"unreachable"`} {
		if !strings.Contains(p.text, want) {
			t.Errorf("no %s in %s", want, p.text)
		}
	}
	for _, query := range []string{"label=team", "label=%3Dx", "status=ready&status=busy"} {
		r.do("GET", "/api/managed-agents?"+query, "").wants(t, 400, core.CodeValidation)
	}
}
