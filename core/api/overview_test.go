package api_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/sdk/wire"
)

// fakeOverview is a core.OverviewService made of values.
type fakeOverview struct {
	filter  core.InboxFilter
	items   []*core.InboxItem
	managed map[string]int // by status and reason
}

func (f *fakeOverview) FindInbox(_ context.Context, filter core.InboxFilter) ([]*core.InboxItem, core.PageInfo, error) {
	f.filter = filter
	return f.items, core.PageInfo{Total: len(f.items)}, nil
}

func (f *fakeOverview) Overview(context.Context) (*core.Overview, error) {
	counts := someCounts()
	counts.Managed = f.managed
	return &core.Overview{OverviewCounts: counts, Minutes: []core.ThroughputSpan{}, Hours: []core.ThroughputSpan{}, Ranges: []core.ThroughputRange{}}, nil
}

func (f *fakeOverview) Counts(context.Context) (*core.OverviewCounts, error) {
	counts := someCounts()
	return &counts, nil
}

func someCounts() core.OverviewCounts {
	return core.OverviewCounts{At: epoch, Executions: map[string]int{"running": 1}}
}

// What is in the inbox is shown to those who may read what it is of.
func TestInbox(t *testing.T) {
	items := []*core.InboxItem{
		{ID: "q_1", Source: core.InboxExecution, Kind: core.QuestionApproval, Text: "May I?", Since: epoch, ExpiresAt: &epoch, Tool: "Bash", Input: []byte(`{"command":"ls"}`)},
		{ID: "thread_1", Source: core.InboxThread, Kind: core.QuestionDialog, Since: epoch},
		{ID: "magent_1", Source: core.InboxManagedAgent, Kind: core.QuestionLogin, Since: epoch},
	}
	asked := map[string]string{}
	r := newRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			asked[a.ID] = a.Action + " " + a.Resource + " " + a.Scope
			if a.ID == "thread_1" {
				return core.Forbidden(a.Action, a.Scope, "no")
			}
			return nil
		}
	})
	r.overview.items = items
	p := r.do("GET", "/api/inbox?limit=5&source=thread,execution", "")
	p.wants(t, 200, "")
	if want := (core.InboxFilter{Sources: []core.InboxSource{core.InboxThread, core.InboxExecution}, Page: core.Page{Limit: core.MaxPageLimit}}); !reflect.DeepEqual(r.overview.filter, want) {
		t.Errorf("filter %+v", r.overview.filter)
	}
	rows := p.at("items").([]any)
	if len(rows) != 2 || rows[0].(map[string]any)["tool"] != "Bash" || rows[1].(map[string]any)["id"] != "magent_1" || p.at("total") != 2.0 {
		t.Errorf("body %s", p.text)
	}
	want := map[string]string{
		"": "inbox.read inbox any", "q_1": "executions.read executions executions:read", "thread_1": "threads.read threads executions:read",
		"magent_1": "agents.read agents agents:read",
	}
	delete(asked, "")
	delete(want, "")
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %v", asked)
	}
	r.do("GET", "/api/inbox?source=thread,nobody", "").wants(t, 400, core.CodeValidation)
	r.do("GET", "/api/overview", "").wants(t, 200, "")
}

func TestListExecutionsBy(t *testing.T) {
	r := newRig(t)
	var got core.ExecutionFilter
	r.executions.findAll = func(f core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		got = f
		e := someExecution(execID, core.ExecutionFailed)
		e.BatchID, e.CreatedBy, e.OpenQuestions, e.Options.Metadata = "batch_1", "ann", 2, core.Metadata{"team": "core", "deep": []any{}}
		return []*core.Execution{e}, core.PageInfo{Total: 1, AtLeast: true}, nil
	}
	p := r.do("GET", "/api/executions?status=failed,running&batchId=batch_1&errorCode=TIMEOUT&createdBy=ann&metadata.team=core&metadata.a.b=x%20y", "")
	p.wants(t, 200, "")
	want := core.ExecutionFilter{
		Statuses: []core.ExecutionStatus{core.ExecutionFailed, core.ExecutionRunning}, BatchID: "batch_1", ErrorCode: core.CodeTimeout, CreatedBy: "ann",
		Metadata: map[string]string{"team": "core", "a.b": "x y"}, Page: core.Page{Limit: 20},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("filter %+v", got)
	}
	row := p.at("executions").([]any)[0].(map[string]any)
	if row["batchId"] != "batch_1" || row["createdBy"] != "ann" || row["openQuestions"] != 2.0 || p.at("totalAtLeast") != true ||
		!reflect.DeepEqual(row["metadata"], map[string]any{"team": "core"}) {
		t.Errorf("body %s", p.text)
	}
	for name, query := range map[string]string{
		"status": "status=failed,nope", "twice": "metadata.a=1&metadata.a=2", "no key": "metadata.=1", "no dot": "metadata=a", "long": "metadata.a=" + strings.Repeat("x", 257),
		"other": "label.a=1", "many": strings.Repeat("metadata.a", 1) + "=1" + manyKeys(),
	} {
		t.Run(name, func(t *testing.T) { r.do("GET", "/api/executions?"+query, "").wants(t, 400, core.CodeValidation) })
	}
}

func manyKeys() string {
	var b strings.Builder
	for i := range 40 {
		b.WriteString("&metadata.k" + strings.Repeat("x", i) + "=1")
	}
	return b.String()
}

func TestDeleteExecution(t *testing.T) {
	r := newRig(t)
	var got string
	r.executions.delete = func(id string) error { got = id; return nil }
	if p := r.do("DELETE", "/api/executions/"+execID, ""); p.status != 204 || got != execID {
		t.Errorf("%d, deleted %q", p.status, got)
	}
	r.executions.delete = func(id string) error { return core.Conflict("execution", id, "running", "it runs") }
	r.do("DELETE", "/api/executions/"+execID, "").wants(t, 409, core.CodeConflict)
}

func TestListBatches(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/batches?status=running&pattern=classify&createdBy=ann&limit=3", "")
	p.wants(t, 200, "")
	want := core.BatchFilter{Status: core.BatchRunning, Pattern: "classify", CreatedBy: "ann", Page: core.Page{Limit: 3}}
	if r.batches.filter != want || len(p.at("batches").([]any)) != 1 {
		t.Errorf("filter %+v, body %s", r.batches.filter, p.text)
	}
	r.do("GET", "/api/batches?status=paused", "").wants(t, 400, core.CodeValidation)
}

// A delivery is shown with each attempt, a task as it is, and the events of a thread backwards.
func TestDetails(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/webhooks/wh_1/deliveries/dlv_1", "")
	p.wants(t, 200, "")
	if log := p.at("attemptLog").([]any); len(log) != 2 || log[0].(map[string]any)["statusCode"] != 500.0 || p.at("request").(map[string]any)["url"] != "https://x" {
		t.Errorf("body %s", p.text)
	}
	r.do("GET", "/api/executions/"+execID+"/tasks/task_1", "").wants(t, 200, "")
	r.journal.events = nil
	for i := range 9 {
		kind := core.EventThreadOutput
		if i%2 == 0 {
			kind = core.EventThreadIdle
		}
		r.journal.events = append(r.journal.events, core.Event{Seq: uint64(i + 1), Type: kind, Time: epoch, Subject: "thread_1"})
	}
	const path = "/api/managed-threads/thread_01JGFJJZ8N4Q1W0000000000AB/events"
	p = r.do("GET", path+"?before=9&limit=2", "")
	p.wants(t, 200, "")
	rows := p.at("events").([]any)
	if len(rows) != 2 || rows[0].(map[string]any)["sequence"] != 5.0 || rows[1].(map[string]any)["sequence"] != 7.0 || p.at("hasMore") != true {
		t.Fatalf("body %s", p.text)
	}
	p = r.do("GET", path+"?limit=9&before=4", "")
	if rows := p.at("events").([]any); len(rows) != 2 || p.at("hasMore") != false {
		t.Fatalf("body %s", p.text)
	}
	r.do("GET", path+"?before=9&since=1", "").wants(t, 400, core.CodeValidation)
}

// What was made is counted in steps of time, by the same filters as lists; of failures alone there are no others.
func TestExecutionHistogram(t *testing.T) {
	r := newRig(t)
	var asked []core.ExecutionFilter
	r.executions.findAll = func(f core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		asked = append(asked, f)
		minutes := int(f.Until.Sub(f.Since).Minutes())
		if slices.Equal(f.Statuses, []core.ExecutionStatus{core.ExecutionFailed}) {
			return nil, core.PageInfo{Total: 1}, nil
		}
		return nil, core.PageInfo{Total: minutes}, nil
	}
	var got wire.ExecutionHistogram
	get := func(query string) int {
		t.Helper()
		asked = nil
		res := r.do("GET", "/api/executions/histogram?"+query, "")
		got = wire.ExecutionHistogram{}
		_ = json.Unmarshal([]byte(res.text), &got)
		return res.status
	}
	if status := get("since=2026-01-01T00:00:00Z&until=2026-01-01T00:25:00Z&steps=3&pattern=p&metadata.team=blue"); status != 200 {
		t.Fatal(status)
	}
	if got.StepMs != 500_000 || len(got.Steps) != 3 || got.Steps[0].Count != 8 || got.Steps[2].Failed != 1 || got.Total != 24 {
		t.Errorf("counted %+v", got)
	}
	for _, f := range asked {
		if f.Pattern != "p" || f.Metadata["team"] != "blue" || f.Limit != 1 {
			t.Errorf("asked for %+v", f)
		}
	}
	if get("since=2026-01-01T00:00:00Z&until=2026-01-01T00:10:00Z&steps=1&status=completed"); len(asked) != 2 || got.Steps[0].Failed != 0 {
		t.Errorf("of those that completed: %+v after %d questions", got, len(asked))
	}
	if get("until=2026-01-31T00:00:00Z"); got.Since.Format("2006-01-02") != "2026-01-01" || len(asked) == 0 {
		t.Errorf("without since: %+v", got)
	}
	for _, query := range []string{"since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "steps=0", "steps=121", "status=odd"} {
		if status := get(query); status != 400 {
			t.Errorf("%s: %d", query, status)
		}
	}
}

// What was made within the millisecond of a bound between two steps is of one of them alone: ids know times no better.
func TestHistogramBetweenMilliseconds(t *testing.T) {
	r := newRig(t)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	made := []time.Time{start, start.Add(5 * time.Second), start.Add(8 * time.Second)}
	r.executions.findAll = func(f core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		n := 0
		from, to := core.IDBound("", f.Since), core.IDBound("", f.Until.Add(time.Millisecond-1))
		for _, at := range made {
			if id := core.IDBound("", at); from <= id && id < to {
				n++
			}
		}
		return nil, core.PageInfo{Total: n}, nil
	}
	for query, want := range map[string][]time.Duration{
		"since=2026-01-01T00:00:00.0005Z&until=2026-01-01T00:00:10.0005Z&steps=10": {0, 4004 * time.Millisecond, 7007 * time.Millisecond},
		"since=2026-01-01T00:00:00.0009Z&until=2026-01-01T00:00:10Z&steps=10":      {0, 5 * time.Second, 8 * time.Second},
	} {
		var got wire.ExecutionHistogram
		_ = json.Unmarshal([]byte(r.do("GET", "/api/executions/histogram?status=completed&"+query, "").text), &got)
		var at []time.Duration
		for _, step := range got.Steps {
			at = append(at, step.At.Sub(start))
			if step.Count != 1 {
				t.Errorf("%s: %d at %s", query, step.Count, step.At)
			}
		}
		if got.Total != len(made) || !slices.Equal(at, want) {
			t.Errorf("%s: %d in steps at %v", query, got.Total, at)
		}
	}
}

// However long a range is, its histogram takes no more steps than were asked for.
func TestLongHistogram(t *testing.T) {
	r := newRig(t)
	asked := 0
	r.executions.findAll = func(f core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		if asked++; asked == 1 {
			return nil, core.PageInfo{Total: 1}, nil
		}
		if asked > 1000 {
			return nil, core.PageInfo{}, core.Unavailable("endless", "it goes on for ever")
		}
		return nil, core.PageInfo{}, nil
	}
	for query, want := range map[string]int{
		"since=1900-01-01T00:00:00Z&until=1999-12-01T00:00:00Z&steps=1": 200,
		"since=1900-01-01T00:00:00Z&until=1999-12-01T00:00:00Z":         200,
		"since=0002-01-01T00:00:00Z&steps=1":                            400,
		"since=0002-01-01T00:00:00Z":                                    400,
		"until=9999-12-31T23:59:59Z&since=1970-01-01T00:00:00Z&steps=1": 400,
	} {
		asked = 0
		if got := r.do("GET", "/api/executions/histogram?"+query, ""); got.status != want || asked > 121 {
			t.Errorf("%s: %d after %d questions, %s", query, got.status, asked, got.text)
		}
	}
}
