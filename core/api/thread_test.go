package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

func TestThreadRecord(t *testing.T) {
	r := newRig(t)
	for _, status := range core.ThreadStatuses {
		r.threads.find = func(id string) (*core.Thread, error) { return someThread(id, status), nil }
		p := r.do("GET", onePath, "")
		p.wants(t, 200, "")
		if p.at("status") != string(status) || strings.Contains(p.text, "hunter2") {
			t.Errorf("%s: %s", status, p.text)
		}
		for _, key := range []string{
			"id", "executionId", "name", "agentType", "role", "objective", "status", "runtime", "managedAgentId", "workspace",
			"preparation", "policy", "metadata", "summary", "turnCount", "eventCount", "createdAt", "updatedAt", "lastActivityAt",
		} {
			if _, ok := p.json[key]; !ok {
				t.Errorf("%s: there is no %s", status, key)
			}
		}
		files, _ := p.at("preparation", "contextFiles").([]any)
		if len(files) != 2 || files[0].(map[string]any)["content"] != "# Memory\n" || files[0].(map[string]any)["bytes"] != 9.0 ||
			files[1].(map[string]any)["content"] != "" {
			t.Errorf("%s: files %v", status, files)
		}
	}
	r.threads.find = func(string) (*core.Thread, error) { return &core.Thread{Status: core.ThreadPending}, nil }
	p := r.do("GET", onePath, "")
	p.wants(t, 200, "")
	for _, want := range []string{`"metadata":{}`, `"contextFiles":[]`, `"runtime":null`, `"managedAgentId":null`, `"workspace":null`, `"envNames":[]`} {
		if !strings.Contains(p.text, want) {
			t.Errorf("no %s in %s", want, p.text)
		}
	}
	r.threads.find = func(id string) (*core.Thread, error) { return someThread(id, core.ThreadCompleted), nil }
	p = r.do("GET", onePath, "")
	if p.at("completion", "state") != "partial" || p.at("completion", "changes", "unpushed") != 1.0 || p.at("completion", "tests", "passed") != 2.0 {
		t.Error(p.text)
	}
	r.threads.find = func(id string) (*core.Thread, error) { return nil, core.NotFound("thread", id) }
	r.do("GET", onePath, "").wants(t, 404, core.CodeNotFound)
	r.do("GET", threadsPath+"/executions", "").wants(t, 404, core.CodeNotFound) // a thread of that id
}

func TestListThreads(t *testing.T) {
	r := newRig(t)
	var got core.ThreadFilter
	r.threads.findAll = func(filter core.ThreadFilter) ([]*core.Thread, core.PageInfo, error) {
		got = filter
		return (&fakeThreads{}).FindThreads(context.Background(), filter)
	}
	for _, c := range []struct {
		path string
		want core.ThreadFilter
	}{
		{threadsPath, core.ThreadFilter{Page: core.Page{Limit: 20}}},
		{threadsPath + "?status=blocked&role=r&agentType=claude&executionId=" + execID + "&limit=2&offset=3", core.ThreadFilter{
			Status: core.ThreadBlocked, Role: "r", AgentType: "claude", ExecutionID: execID, Page: core.Page{Limit: 2, Offset: 3}}},
		{threadsPath + "/executions/" + execID + "?status=idle&cursor=abc", core.ThreadFilter{
			ExecutionID: execID, Status: core.ThreadIdle, Page: core.Page{Limit: 20, Cursor: "abc"}}},
	} {
		p := r.do("GET", c.path, "")
		p.wants(t, 200, "")
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: filter %+v, want %+v", c.path, got, c.want)
		}
		rows, _ := p.at("threads").([]any)
		if len(rows) != 2 || p.at("total") != 7.0 || p.at("hasMore") != true || p.at("nextCursor") != "abc" {
			t.Errorf("%s: %s", c.path, p.text)
		}
		if strings.Contains(p.text, "# Memory") || strings.Contains(p.text, "hunter2") || !strings.Contains(p.text, `"bytes":9`) {
			t.Errorf("%s: contents are in the list: %s", c.path, p.text)
		}
	}
	for _, query := range []string{"?status=gone", "?limit=101", "?limit=0", "?offset=1&cursor=a", "?state=open"} {
		r.do("GET", threadsPath+query, "").wants(t, 400, core.CodeValidation)
		r.do("GET", threadsPath+"/executions/"+execID+query, "").wants(t, 400, core.CodeValidation)
	}
	r.threads.findAll = func(f core.ThreadFilter) ([]*core.Thread, core.PageInfo, error) {
		if f.ExecutionID != "" {
			return nil, core.PageInfo{}, core.NotFound("execution", f.ExecutionID)
		}
		return nil, core.PageInfo{}, nil
	}
	r.do("GET", threadsPath+"/executions/"+execID, "").wants(t, 404, core.CodeNotFound)
	if p := r.do("GET", threadsPath, ""); !strings.Contains(p.text, `"threads":[]`) {
		t.Errorf("an empty list is %s", p.text)
	}
}

func TestThreadActs(t *testing.T) {
	r := newRig(t)
	var how core.ThreadStop
	r.threads.stop = func(_ string, h core.ThreadStop) error { how = h; return nil }
	p := r.do("DELETE", onePath+"?force=true&timeout=2500", "")
	p.wants(t, 204, "")
	if !how.Force || how.Grace != 2500*time.Millisecond || p.text != "" {
		t.Errorf("%+v %q", how, p.text)
	}
	r.do("DELETE", onePath, "").wants(t, 204, "")
	if how.Force || how.Grace != 0 {
		t.Errorf("%+v", how)
	}
	r.do("DELETE", onePath+"?timeout=0", "").wants(t, 400, core.CodeValidation)
	r.do("DELETE", onePath+"?force=1", "").wants(t, 400, core.CodeValidation)

	var given core.ThreadAnswer
	r.threads.answer = func(id string, a core.ThreadAnswer) (*core.Thread, error) {
		given = a
		return someThread(id, core.ThreadRunning), nil
	}
	r.do("POST", onePath+"/answer", `{"promptId":"p","choice":"deny","text":"no"}`).wants(t, 200, "")
	if given != (core.ThreadAnswer{PromptID: "p", Choice: "deny", Text: "no"}) {
		t.Errorf("%+v", given)
	}
	r.do("POST", onePath+"/answer", `{"promptId":"p"}`).wants(t, 400, core.CodeValidation)
	r.do("POST", onePath+"/answer", `{"option":"p"}`).wants(t, 400, core.CodeValidation)

	var end core.ThreadClose
	r.threads.closing = func(id string, in core.ThreadClose) (*core.Thread, error) {
		end = in
		return someThread(id, core.ThreadCompleted), nil
	}
	r.do("POST", onePath+"/complete", `{"state":"partial","summary":"s"}`).wants(t, 200, "")
	if end != (core.ThreadClose{State: core.CompletionPartial, Summary: "s"}) {
		t.Errorf("%+v", end)
	}
	r.do("POST", onePath+"/complete", "").wants(t, 200, "")
	if end != (core.ThreadClose{}) {
		t.Errorf("%+v", end)
	}
	r.do("POST", onePath+"/complete", `{"state":"done"}`).wants(t, 400, core.CodeValidation)
	r.threads.closing = func(id string, _ core.ThreadClose) (*core.Thread, error) {
		return nil, core.Conflict("thread", id, "completed", "it is over")
	}
	if p := r.do("POST", onePath+"/complete", ""); p.status != 409 || p.at("error", "details", "status") != "completed" {
		t.Error(p.text)
	}
}

func TestSendThread(t *testing.T) {
	r := newRig(t)
	var got core.ThreadInput
	r.threads.send = func(_ context.Context, id string, in core.ThreadInput) (core.ThreadReceipt, error) {
		got = in
		return core.ThreadReceipt{ThreadID: id, InputID: "in_1", Sent: true}, nil
	}
	for body, want := range map[string]core.ThreadInput{
		`{"message":"hi"}`:                                      {Message: "hi"},
		`{"raw":"\u0003"}`:                                      {Raw: "\x03"},
		`{"keys":["ESC","ENTER"]}`:                              {Keys: []string{"ESC", "ENTER"}},
		`{"message":"hi","raw":"","keys":null}`:                 {Message: "hi"},
		`{"message":"hi","expectResponse":true,"timeout":1500}`: {Message: "hi", ExpectResponse: true, Timeout: 1500 * time.Millisecond},
	} {
		p := r.do("POST", onePath+"/send", body)
		p.wants(t, 200, "")
		if !reflect.DeepEqual(got, want) || p.at("threadId") != threadID || p.at("inputId") != "in_1" || p.at("sent") != true || p.at("queued") != 0.0 {
			t.Errorf("%s: %+v %s", body, got, p.text)
		}
	}
	r.threads.send = func(context.Context, string, core.ThreadInput) (core.ThreadReceipt, error) {
		t.Error("sent")
		return core.ThreadReceipt{}, nil
	}
	for _, body := range []string{
		``, `{}`, `{"message":""}`, `{"message":"a","raw":"b"}`, `{"message":"a","keys":["ESC"]}`, `{"raw":"a","keys":["ESC"]}`,
		`{"keys":[]}`, `{"keys":"ESC"}`, `{"keys":[1]}`, `{"message":1}`, `{"text":"a"}`, `{"message":"a","expectResponse":1}`,
	} {
		r.do("POST", onePath+"/send", body).wants(t, 400, core.CodeValidation)
	}
	for err, status := range map[*core.Error]int{
		core.Conflict("thread", threadID, "completed", "it is over"): 409,
		core.NotFound("thread", threadID):                            404,
		core.Invalid("keys[0]", "is not a key"):                      400,
		{Code: core.CodeRateLimited, Message: "too much waits"}:      429,
	} {
		r.threads.send = func(context.Context, string, core.ThreadInput) (core.ThreadReceipt, error) {
			return core.ThreadReceipt{}, err
		}
		r.do("POST", onePath+"/send", `{"keys":["X"]}`).wants(t, status, err.Code)
	}
}

// TestSendThreadOnce: a key sends once, and its claim is the service's. A repeat of a send that failed behind the claim goes to
// the service under the id that the key was claimed for.
func TestSendThreadOnce(t *testing.T) {
	r := newRig(t)
	for i, body := range []string{`{"raw":"y"}`, `{"keys":["ESC"]}`, `{"message":"hi"}`} {
		for _, broken := range []bool{true, false} {
			var sent []string
			r.threads.send = func(ctx context.Context, id string, in core.ThreadInput) (core.ThreadReceipt, error) {
				if sent = append(sent, in.InputID); in.InputID == "" {
					r.keys.claim(ctx, "in_7")
				}
				if broken && len(sent) == 1 {
					return core.ThreadReceipt{}, core.Unavailable("store", "it broke after the claim")
				}
				return core.ThreadReceipt{ThreadID: id, InputID: "in_7", Sent: true, Queued: 2}, nil
			}
			key, want := fmt.Sprintf("Idempotency-Key: %d %v", i, broken), []string{""}
			if broken {
				r.do("POST", onePath+"/send", body, key).wants(t, 503, core.CodeInternal)
				want = append(want, "in_7")
			}
			for range 2 {
				p := r.do("POST", onePath+"/send", body, key)
				p.wants(t, 200, "")
				if p.at("inputId") != "in_7" || p.at("queued") != 2.0 || p.at("sent") != true {
					t.Error(p.text)
				}
			}
			if !slices.Equal(sent, want) {
				t.Errorf("%s: sent under %q, want %q", body, sent, want)
			}
		}
	}
	// An earlier version claimed what was typed for the thread, and gave the agent no id.
	r.threads.send = func(ctx context.Context, _ string, _ core.ThreadInput) (core.ThreadReceipt, error) {
		r.keys.claim(ctx, threadID)
		return core.ThreadReceipt{}, core.Unavailable("store", "it broke after the claim")
	}
	r.do("POST", onePath+"/send", `{"raw":"y"}`, "Idempotency-Key: e").wants(t, 503, core.CodeInternal)
	r.do("POST", onePath+"/send", `{"raw":"y"}`, "Idempotency-Key: e").wants(t, 409, core.CodeConflict)
}

// threadJournal is the stored events of a thread: one of each persisted kind, with outputs between.
func threadJournal() []core.Event {
	var list []core.Event
	for _, kind := range core.PersistedThreadEvents {
		for range 40 {
			list = append(list, core.Event{Type: core.EventThreadOutput, Data: json.RawMessage(`{"text":"x"}`)})
		}
		list = append(list, core.Event{Type: kind, Data: json.RawMessage(`{"k":"` + string(kind) + `"}`)})
	}
	for i := range list {
		list[i].Seq, list[i].Time, list[i].Subject = uint64(10+3*i), epoch.Add(time.Duration(i)*time.Millisecond), threadID
	}
	return list
}

func TestThreadEvents(t *testing.T) {
	r := newRig(t)
	r.journal.events = threadJournal()
	last := r.journal.events[len(r.journal.events)-1]
	p := r.do("GET", onePath+"/events", "")
	p.wants(t, 200, "")
	rows, _ := p.at("events").([]any)
	if len(rows) != 10 || p.at("hasMore") != false || p.at("nextSince") != float64(last.Seq) || p.at("limit") != 100.0 {
		t.Fatalf("%d rows: %s", len(rows), p.text)
	}
	before := ""
	for i, row := range rows {
		row := row.(map[string]any)
		if row["type"] != string(core.PersistedThreadEvents[i]) || row["threadId"] != threadID || row["executionId"] != execID ||
			row["data"].(map[string]any)["k"] != row["type"] {
			t.Errorf("row %v", row)
		}
		id, _ := row["id"].(string)
		if !core.ValidID(core.PrefixEvent, id) || id <= before {
			t.Errorf("id %q after %q", id, before)
		}
		if at, ok := core.IDTime(id); !ok || at.Format("2006-01-02T15:04:05.000Z") != row["timestamp"] {
			t.Errorf("id %q is of %s, want %s", id, at, row["timestamp"])
		}
		before = id
	}
	if again := r.do("GET", onePath+"/events", ""); again.text != p.text {
		t.Error("a second look tells something else")
	}

	// Pages are filled across what the filter leaves out, and walk without loss.
	var types []string
	since := "0"
	for pages := 0; pages < 20; pages++ {
		p := r.do("GET", onePath+"/events?limit=3&since="+since, "")
		p.wants(t, 200, "")
		for _, row := range p.at("events").([]any) {
			types = append(types, row.(map[string]any)["type"].(string))
		}
		next, _ := json.Marshal(p.at("nextSince"))
		if since = string(next); p.at("hasMore") != true {
			break
		}
		if n := len(p.at("events").([]any)); n != 3 {
			t.Errorf("a page of %d in the middle", n)
		}
	}
	if len(types) != 10 || types[9] != "thread_stopped" {
		t.Errorf("walked %v", types)
	}
	count := func(query string) int {
		p := r.do("GET", onePath+"/events"+query, "")
		p.wants(t, 200, "")
		return len(p.at("events").([]any))
	}
	for query, want := range map[string]int{
		"?type=thread_output": 100, "?type=thread_idle": 1, "?type=thread_idle,thread_failed": 2, "?type=thread_status": 0,
		"?type=thread_output&since=1150": 28, "?since=99999": 0, "?type=thread_idle%2C%20thread_output&limit=1": 1,
	} {
		if got := count(query); got != want {
			t.Errorf("%s: %d events, want %d", query, got, want)
		}
	}
	for _, query := range []string{"?type=idle", "?type=", "?type=,", "?since=-1", "?since=x", "?limit=0", "?limit=101", "?kind=a"} {
		r.do("GET", onePath+"/events"+query, "").wants(t, 400, core.CodeValidation)
	}
	r.threads.find = func(id string) (*core.Thread, error) { return nil, core.NotFound("thread", id) }
	r.do("GET", onePath+"/events", "").wants(t, 404, core.CodeNotFound)
}

// An answer holds so many bytes only, and the next one begins with what it left out.
func TestThreadEventsLarge(t *testing.T) {
	r := newRig(t)
	large := json.RawMessage(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	for i := range 10 {
		r.journal.events = append(r.journal.events, core.Event{Seq: uint64(i + 1), Type: core.EventThreadIdle, Time: epoch, Data: large})
	}
	since, got := "0", 0
	for more := true; more; {
		p := r.do("GET", onePath+"/events?since="+since, "")
		p.wants(t, 200, "")
		n := len(p.at("events").([]any))
		if n == 0 || len(p.text) > core.MaxPageBytes+2*len(large) {
			t.Fatalf("%d events in %d bytes", n, len(p.text))
		}
		next, _ := json.Marshal(p.at("nextSince"))
		since, got, more = string(next), got+n, p.at("hasMore") == true
	}
	if got != 10 {
		t.Errorf("%d events, want 10", got)
	}
}

// An answer reads so much of a long journal only, and says where to go on.
func TestThreadEventsLong(t *testing.T) {
	r := newRig(t)
	for i := range 60_000 {
		r.journal.events = append(r.journal.events, core.Event{Seq: uint64(i + 1), Type: core.EventThreadOutput, Time: epoch})
	}
	r.journal.events = append(r.journal.events, core.Event{Seq: 60_001, Type: core.EventThreadCompleted, Time: epoch})
	p := r.do("GET", onePath+"/events", "")
	p.wants(t, 200, "")
	next, _ := p.at("nextSince").(float64)
	if len(p.at("events").([]any)) != 0 || p.at("hasMore") != true || next < 50_000 || next > 60_000 {
		t.Fatal(p.text)
	}
	text, _ := json.Marshal(next)
	p = r.do("GET", onePath+"/events?since="+string(text), "")
	if len(p.at("events").([]any)) != 1 || p.at("hasMore") != false {
		t.Error(p.text)
	}
}

// Without threads there are no operations of them.
func TestNoThreads(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Threads, o.Memory, o.Parts = nil, nil, nil })
	doc := r.do("GET", "/api/openapi.json", "")
	for _, path := range []string{threadsPath, onePath, threadsPath + "/experiences", "/api/workspaces", "/api/executions/" + execID + "/threads/stream"} {
		resp, err := http.Get(r.http.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 404 || !strings.Contains(string(text), `"route"`) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
	if strings.Contains(doc.text, `"/api/managed-threads`) || strings.Contains(doc.text, `"/api/workspaces`) {
		t.Error("operations that are not there are documented")
	}
}
