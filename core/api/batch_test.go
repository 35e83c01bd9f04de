package api_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

func TestExecuteBatch(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.MaxBatchInputs = 3 })
	var got core.BatchRequest
	r.batches.start = func(_ context.Context, req core.BatchRequest) (*core.Batch, error) {
		got = req
		return someBatch(core.BatchRunning), nil
	}
	p := r.do("POST", "/api/batch/execute", `{"pattern":"classify","version":"1","inputs":[{"a":1},{}],
		"options":{"concurrency":50,"stopOnError":true,"timeout":9,"priority":"low","metadata":{"m":1}}}`)
	p.wants(t, 202, "")
	want := core.BatchRequest{
		Pattern: "classify", Version: "1", Concurrency: 50, StopOnError: true,
		Inputs:  []json.RawMessage{json.RawMessage(`{"a":1}`), json.RawMessage(`{}`)},
		Options: core.ExecuteOptions{TimeoutMs: 9, Priority: "low", Metadata: map[string]any{"m": json.Number("1")}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("request %+v\nwant    %+v", got, want)
	}
	body := `{"id":"` + batchID + `","batchId":"` + batchID + `","pattern":{"name":"classify","version":"1.0.0"},"status":"running",` +
		`"total":3,"completed":1,"failed":1,"cancelled":1,"statusUrl":"/api/batch/` + batchID + `"}`
	if p.text != body || p.header.Get("Location") != "/api/batch/"+batchID {
		t.Errorf("body %s, Location %q", p.text, p.header.Get("Location"))
	}

	for _, c := range []struct{ name, body, field string }{
		{"no pattern", `{"inputs":[{}]}`, "pattern"},
		{"no inputs", `{"pattern":"a"}`, "inputs"},
		{"empty inputs", `{"pattern":"a","inputs":[]}`, "inputs"},
		{"too many inputs", `{"pattern":"a","inputs":[{},{},{},{}]}`, "inputs"},
		{"no object", `{"pattern":"a","inputs":[{},3]}`, "inputs[1]"},
		{"concurrency 0", `{"pattern":"a","inputs":[{}],"options":{"concurrency":0}}`, "options.concurrency"},
		{"concurrency 51", `{"pattern":"a","inputs":[{}],"options":{"concurrency":51}}`, "options.concurrency"},
		{"unknown priority", `{"pattern":"a","inputs":[{}],"options":{"priority":"urgent"}}`, "options.priority"},
		{"no body", ``, "body"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := r.do("POST", "/api/batch/execute", c.body)
			p.wants(t, 400, core.CodeValidation)
			if p.at("error", "details", "field") != c.field {
				t.Errorf("details %v", p.at("error", "details"))
			}
		})
	}
}

func TestGetBatch(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/batch/"+batchID, "")
	p.wants(t, 200, "")
	results := p.at("results").([]any)
	if len(results) != 2 || p.at("total") != 3.0 || p.at("completedAt") == nil {
		t.Fatalf("body %s", p.text)
	}
	if first := results[0].(map[string]any); first["index"] != 0.0 || first["executionId"] != execID || first["status"] != "completed" {
		t.Errorf("first result %v", first)
	}
	if !strings.Contains(p.text, `{"index":1,"status":"failed","error":{"code":"VALIDATION_ERROR","message":"text: is required"}}`) {
		t.Errorf("body %s", p.text)
	}
	if p.at("hasMore") != true || p.at("nextCursor") != "2" || p.at("limit") != 100.0 || r.batches.page != (core.Page{Limit: 100}) {
		t.Errorf("body %s of the page %+v", p.text, r.batches.page)
	}
	r.do("GET", "/api/batch/"+batchID+"?limit=7&cursor=2", "").wants(t, 200, "")
	if r.batches.page != (core.Page{Limit: 7, Cursor: "2"}) {
		t.Errorf("page %+v", r.batches.page)
	}
	r.do("GET", "/api/batch/"+batchID+"?limit=101", "").wants(t, 400, core.CodeValidation)
	r.batches.find = func(id string) (*core.Batch, error) { return nil, core.NotFound("batch", id) }
	r.do("GET", "/api/batch/x", "").wants(t, 404, core.CodeNotFound)
}

func TestCancelBatch(t *testing.T) {
	r := newRig(t)
	p := r.do("POST", "/api/batch/"+batchID+"/cancel", "")
	p.wants(t, 200, "")
	if p.at("status") != "cancelled" {
		t.Errorf("body %s", p.text)
	}
	r.batches.cancel = func(id string) (*core.Batch, error) {
		return nil, core.Conflict("batch", id, "completed", "the batch is completed")
	}
	r.do("POST", "/api/batch/"+batchID+"/cancel", "{}").wants(t, 409, core.CodeConflict)
}
