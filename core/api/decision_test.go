package api_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestListDecisions(t *testing.T) {
	r := newRig(t)
	var got core.DecisionFilter
	r.memory.decisions = func(f core.DecisionFilter) ([]*core.Decision, core.PageInfo, error) {
		got = f
		return []*core.Decision{someDecision(decisionID)}, core.PageInfo{Total: 4, HasMore: true, NextCursor: "c"}, nil
	}
	for path, want := range map[string]core.DecisionFilter{
		onePath + "/shared-decisions": {ThreadID: threadID, Page: core.Page{Limit: 20}},
		onePath + "/shared-decisions?category=finding&limit=2": {
			ThreadID: threadID, Category: "finding", Page: core.Page{Limit: 2}},
		threadsPath + "/executions/" + execID + "/shared-decisions?offset=1": {
			ExecutionID: execID, Page: core.Page{Limit: 20, Offset: 1}},
	} {
		p := r.do("GET", path, "")
		p.wants(t, 200, "")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: filter %+v, want %+v", path, got, want)
		}
		row := p.at("decisions").([]any)[0].(map[string]any)
		if row["count"] != 2.0 || row["createdBy"] != "mira" || p.at("nextCursor") != "c" || strings.Contains(p.text, "internal") {
			t.Error(p.text)
		}
	}
	r.do("GET", onePath+"/shared-decisions?limit=101", "").wants(t, 400, core.CodeValidation)
	r.do("GET", onePath+"/shared-decisions?kind=x", "").wants(t, 400, core.CodeValidation)
	r.memory.decisions = func(core.DecisionFilter) ([]*core.Decision, core.PageInfo, error) {
		return nil, core.PageInfo{}, core.NotFound("execution", "x")
	}
	r.do("GET", threadsPath+"/executions/x/shared-decisions", "").wants(t, 404, core.CodeNotFound)
	r.memory.decisions = nil
	r.do("GET", onePath+"/shared-decisions", "").wants(t, 200, "")
}

func TestAddDecision(t *testing.T) {
	r := newRig(t)
	var got core.Decision
	r.memory.add = func(_ context.Context, d core.Decision) (*core.Decision, error) {
		got = d
		return (&fakeMemory{}).AddDecision(context.Background(), d)
	}
	p := r.do("POST", onePath+"/shared-decisions", `{"category":"architecture","summary":"UTC","details":{"why":[1]}}`)
	p.wants(t, 201, "")
	if p.header.Get("Location") != onePath+"/shared-decisions#"+decisionID || p.at("id") != decisionID || p.at("count") != 1.0 {
		t.Errorf("%v %s", p.header, p.text)
	}
	if got.ExecutionID != execID || got.ThreadID != threadID || got.CreatedBy != "anonymous" || string(got.Details) != `{"why":[1]}` {
		t.Errorf("%+v", got)
	}
	r.do("POST", onePath+"/shared-decisions", `{"category":"a","summary":"b"}`).wants(t, 201, "")
	for body, field := range map[string]string{
		``: "body", `{"summary":"b"}`: "category", `{"category":"a"}`: "summary", `{"category":"","summary":"b"}`: "category",
		`{"category":"a","summary":""}`: "summary", `{"category":"a","summary":"b","details":[1]}`: "details",
		`{"category":"a","summary":"b","detail":{}}`: "detail", `{"category":1,"summary":"b"}`: "category",
		`{"category":"a","summary":"` + strings.Repeat("x", 4001) + `"}`: "summary",
	} {
		p := r.do("POST", onePath+"/shared-decisions", body)
		p.wants(t, 400, core.CodeValidation)
		if got := p.at("error", "details", "field"); got != field {
			t.Errorf("%s: field %v, want %s", body[:min(60, len(body))], got, field)
		}
	}
	r.threads.find = func(id string) (*core.Thread, error) { return nil, core.NotFound("thread", id) }
	r.do("POST", onePath+"/shared-decisions", `{"category":"a","summary":"b"}`).wants(t, 404, core.CodeNotFound)
}

// A key writes one decision; the answer of a request that died is found among those of the execution.
func TestAddDecisionOnce(t *testing.T) {
	r := newRig(t)
	added := 0
	r.memory.add = func(ctx context.Context, _ core.Decision) (*core.Decision, error) {
		added++
		r.keys.claim(ctx, decisionID)
		return nil, core.Unavailable("store", "it broke after the claim")
	}
	pages := 0
	r.memory.decisions = func(f core.DecisionFilter) ([]*core.Decision, core.PageInfo, error) {
		if pages++; f.Cursor == "" {
			return []*core.Decision{{Decision: wire.Decision{ID: "dec_2"}}}, core.PageInfo{HasMore: true, NextCursor: "c"}, nil
		}
		return []*core.Decision{someDecision(decisionID)}, core.PageInfo{}, nil
	}
	const body = `{"category":"a","summary":"b"}`
	r.do("POST", onePath+"/shared-decisions", body, "Idempotency-Key: a").wants(t, 503, core.CodeInternal)
	p := r.do("POST", onePath+"/shared-decisions", body, "Idempotency-Key: a")
	p.wants(t, 201, "")
	if added != 1 || pages != 2 || p.at("id") != decisionID || p.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d added, %d pages, %s", added, pages, p.text)
	}
	r.memory.decisions = func(core.DecisionFilter) ([]*core.Decision, core.PageInfo, error) { return nil, core.PageInfo{}, nil }
	r.do("POST", onePath+"/shared-decisions", body, "Idempotency-Key: b").wants(t, 503, core.CodeInternal)
	r.do("POST", onePath+"/shared-decisions", body, "Idempotency-Key: b").wants(t, 409, core.CodeConflict)
}
