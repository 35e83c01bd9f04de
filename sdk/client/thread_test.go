package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestThreadRequests(t *testing.T) {
	s := newServer(t, answer(200, `{"metadata":{}}`))
	c := newClient(t, s.URL, client.Options{})
	restarts := 0
	spec := client.ThreadSpec{
		ExecutionID: client.NewExecution, AgentType: "claude", Objective: "o", Provision: true, IdempotencyKey: "k",
		Preparation: client.ThreadPreparation{
			Workspace:    &client.WorkspaceSpec{Repo: "app", Depth: 1},
			ContextFiles: []client.ContextFile{{Path: "a", Content: ""}}, Env: map[string]string{"A": "b"},
		},
		Policy: client.ThreadPolicy{IdleTimeoutMs: 5, MaxRestarts: &restarts, Finish: &client.ThreadFinish{Push: true},
			AutoAnswer: []client.AutoAnswerRule{{Tool: "T", Answer: "allow"}}},
	}
	const body = `{"executionId":"new","agentType":"claude","objective":"o","preparation":{"workspace":{"repo":"app","depth":1},` +
		`"contextFiles":[{"path":"a","content":""}],"env":{"A":"b"}},"policy":{"idleTimeoutMs":5,"maxRestarts":0,"finish":{"push":true},` +
		`"autoAnswer":[{"tool":"T","answer":"allow"}]}`
	for _, tt := range []struct {
		name string
		call func(ctx context.Context) error
		want string // method, URI, key and body
	}{
		{"Spawn", func(ctx context.Context) error { _, err := c.SpawnThread(ctx, spec); return err },
			`POST /api/managed-threads k ` + body + `}`},
		{"Prepare", func(ctx context.Context) error { _, err := c.PrepareThread(ctx, spec); return err },
			`POST /api/managed-threads/prepare  ` + body + `,"provision":true}`},
		{"List", func(ctx context.Context) error {
			_, err := c.ListThreads(ctx, client.ThreadFilter{Status: client.ThreadIdle, Role: "r", AgentType: "a", Page: client.Page{Limit: 2}})
			return err
		}, `GET /api/managed-threads?agentType=a&limit=2&role=r&status=idle  `},
		{"ListOfExecution", func(ctx context.Context) error {
			_, err := c.ListThreads(ctx, client.ThreadFilter{ExecutionID: "a/b"})
			return err
		}, `GET /api/managed-threads/executions/a%2Fb  `},
		{"Get", func(ctx context.Context) error { _, err := c.GetThread(ctx, "t/1"); return err }, `GET /api/managed-threads/t%2F1  `},
		{"Stop", func(ctx context.Context) error { return c.StopThread(ctx, "t", true, 2*time.Second) },
			`DELETE /api/managed-threads/t?force=true&timeout=2000  `},
		{"StopPlain", func(ctx context.Context) error { return c.StopThread(ctx, "t", false, 0) }, `DELETE /api/managed-threads/t  `},
		{"Send", func(ctx context.Context) error {
			_, err := c.SendThread(ctx, "t", client.ThreadInput{Message: "hi", IdempotencyKey: "k"})
			return err
		}, `POST /api/managed-threads/t/send k {"message":"hi"}`},
		{"SendAndWait", func(ctx context.Context) error {
			_, err := c.SendThread(ctx, "t", client.ThreadInput{Message: "hi", ExpectResponse: true, Timeout: time.Second, IdempotencyKey: "k"})
			return err
		}, `POST /api/managed-threads/t/send k {"message":"hi","expectResponse":true,"timeout":1000}`},
		{"SendKeys", func(ctx context.Context) error {
			_, err := c.SendThread(ctx, "t", client.ThreadInput{Keys: []string{"ESC"}})
			return err
		}, `POST /api/managed-threads/t/send  {"keys":["ESC"]}`},
		{"Answer", func(ctx context.Context) error {
			_, err := c.AnswerThread(ctx, "t", client.ThreadAnswer{Choice: "allow"})
			return err
		}, `POST /api/managed-threads/t/answer  {"choice":"allow"}`},
		{"Complete", func(ctx context.Context) error {
			_, err := c.CompleteThread(ctx, "t", client.ThreadClose{State: "partial"})
			return err
		}, `POST /api/managed-threads/t/complete  {"state":"partial"}`},
		{"Events", func(ctx context.Context) error {
			_, err := c.ListThreadEvents(ctx, "t", client.ThreadEventFilter{Since: 7, Limit: 3, Types: []string{client.EventThreadIdle, client.EventThreadOutput}})
			return err
		}, `GET /api/managed-threads/t/events?limit=3&since=7&type=thread_idle%2Cthread_output  `},
		{"Decisions", func(ctx context.Context) error {
			_, err := c.ListDecisions(ctx, client.DecisionFilter{ThreadID: "t", Category: "finding"})
			return err
		}, `GET /api/managed-threads/t/shared-decisions?category=finding  `},
		{"DecisionsOfExecution", func(ctx context.Context) error {
			_, err := c.ListDecisions(ctx, client.DecisionFilter{ExecutionID: "e", Page: client.Page{Cursor: "c"}})
			return err
		}, `GET /api/managed-threads/executions/e/shared-decisions?cursor=c  `},
		{"AddDecision", func(ctx context.Context) error {
			_, err := c.AddDecision(ctx, "t", client.NewDecision{Category: "a", Summary: "b", Details: json.RawMessage(`{"x":1}`), IdempotencyKey: "k"})
			return err
		}, `POST /api/managed-threads/t/shared-decisions k {"category":"a","summary":"b","details":{"x":1}}`},
		{"Experiences", func(ctx context.Context) error {
			_, err := c.ListExperiences(ctx, client.ExperienceFilter{Query: "a b", Repo: "app", Role: "r", Outcome: "failed", ExecutionID: "e", Page: client.Page{Offset: 3}})
			return err
		}, `GET /api/managed-threads/experiences?executionId=e&offset=3&outcome=failed&q=a+b&repo=app&role=r  `},
		{"Workspaces", func(ctx context.Context) error {
			_, err := c.ListWorkspaces(ctx, client.WorkspaceFilter{Status: client.WorkspaceReady, ExecutionID: "e"})
			return err
		}, `GET /api/workspaces?executionId=e&status=ready  `},
		{"Changes", func(ctx context.Context) error { _, err := c.WorkspaceChanges(ctx, "w/1", "", 0); return err }, `GET /api/workspaces/w%2F1/changes  `},
		{"FileChanges", func(ctx context.Context) error { _, err := c.WorkspaceChanges(ctx, "w/1", "a/b", 7); return err }, `GET /api/workspaces/w%2F1/changes/a%2Fb?maxBytes=7  `},
		{"Workspace", func(ctx context.Context) error { _, err := c.GetWorkspace(ctx, "w/1"); return err }, `GET /api/workspaces/w%2F1  `},
		{"Prune", func(ctx context.Context) error {
			_, err := c.PruneWorkspaces(ctx, client.WorkspacePrune{IDs: []string{"w"}, Force: true, DryRun: true, Mirrors: true})
			return err
		}, `POST /api/workspaces/prune  {"ids":["w"],"force":true,"dryRun":true,"mirrors":true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := s.last(t)
			if got := r.Method + " " + r.URI + " " + r.Header.Get("Idempotency-Key") + " " + r.Body; got != tt.want {
				t.Errorf("sent %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestThreadAnswer(t *testing.T) {
	s := newServer(t, answer(200, `{"id":"thread_1","executionId":"exec_1","status":"failed","runtime":null,"managedAgentId":null,"workspace":null,`+
		`"preparation":{"contextFiles":[{"path":"a","bytes":9},{"path":"b","bytes":2,"content":"xy"}],"approvalPreset":"standard","envNames":["T"]},`+
		`"policy":{"idleTimeoutMs":5,"maxRestarts":2},"metadata":{"a":1},"error":{"code":"AGENT_ERROR","message":"m"},"prompt":{"id":"p","options":[{"id":"allow","label":"Yes"}]},`+
		`"completion":{"state":"failed","summary":"s","artifacts":[{"type":"commit","value":"abc"}],"changes":{"commitCount":1,"commits":[{"hash":"abc","time":"2026-01-02T03:04:05.000Z"}]}},`+
		`"createdAt":"2026-01-02T03:04:05.000Z"}`))
	thread, err := newClient(t, s.URL, client.Options{}).GetThread(t.Context(), "thread_1")
	if err != nil {
		t.Fatal(err)
	}
	files := thread.Preparation.ContextFiles
	if !thread.Over() || thread.Runtime != "" || thread.Workspace != nil || len(files) != 2 || files[0].Bytes != 9 || *files[1].Content != "xy" ||
		thread.Error.Code != "AGENT_ERROR" || thread.Prompt.Options[0].ID != "allow" || thread.Completion.Changes.Commits[0].Hash != "abc" ||
		*thread.Policy.MaxRestarts != 2 || len(thread.Body) == 0 {
		t.Errorf("thread %+v", thread)
	}
	if (&client.Thread{Thread: wire.Thread{Status: client.ThreadBlocked}}).Over() {
		t.Error("a blocked thread is not over")
	}
}

// A plan is a spec: what prepare answers can be spawned.
func TestThreadPlan(t *testing.T) {
	const plan = `{"executionId":"new","name":"n","agentType":"claude","objective":"o","role":"r","preparation":{"workspace":{"workspaceId":"ws_1","path":"/p"},` +
		`"contextFiles":[{"path":"a","content":"b"}],"approvalPreset":"standard"},"policy":{},"metadata":{"memoryContext":{"sharedDecisionCount":2,"episodicExperienceCount":1}}}`
	s := newServer(t, answer(200, plan))
	c := newClient(t, s.URL, client.Options{})
	got, err := c.PrepareThread(t.Context(), client.ThreadSpec{ExecutionID: "new"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := got.MemoryContext(); err != nil || m.SharedDecisionCount != 2 || m.EpisodicExperienceCount != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	var spec client.ThreadSpec
	if err := json.Unmarshal(got.Body, &spec); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SpawnThread(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	var sent, want map[string]any
	if json.Unmarshal([]byte(s.last(t).Body), &sent) != nil || json.Unmarshal([]byte(plan), &want) != nil || fmt.Sprint(sent) != fmt.Sprint(want) {
		t.Errorf("sent %v\nwant %v", sent, want)
	}
}

func TestThreadWalks(t *testing.T) {
	pages := func(name string) *client.Client {
		s := newServer(t, answer(200, `{"`+name+`":[{},{}],"total":3,"hasMore":true,"nextCursor":"c"}`), answer(200, `{"`+name+`":[{}],"total":3}`))
		return newClient(t, s.URL, client.Options{})
	}
	walked := map[string]int{}
	note := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		walked[name]++
	}
	for _, err := range pages("threads").Threads(t.Context(), client.ThreadFilter{}) {
		note("threads", err)
	}
	for _, err := range pages("workspaces").Workspaces(t.Context(), client.WorkspaceFilter{}) {
		note("workspaces", err)
	}
	for _, err := range pages("decisions").Decisions(t.Context(), client.DecisionFilter{ThreadID: "t"}) {
		note("decisions", err)
	}
	for _, err := range pages("experiences").Experiences(t.Context(), client.ExperienceFilter{}) {
		note("experiences", err)
	}
	for _, name := range []string{"threads", "workspaces", "decisions", "experiences"} {
		if walked[name] != 3 {
			t.Errorf("walked %d %s, want 3", walked[name], name)
		}
	}
}

func threadFrame(id int, kind, data string) string {
	quoted, _ := json.Marshal(data)
	return fmt.Sprintf("id: %d\nevent: thread_%s\ndata: {\"executionId\":\"exec_1\",\"threadId\":\"thread_1\",\"type\":\"gateway_thread_%s\","+
		"\"data\":{\"thread_id\":\"thread_1\",\"event_type\":\"%s\",\"data_json\":%s,\"timestamp_ms\":5,\"sequence\":%d},\"timestamp\":\"2026-01-02T03:04:05.678Z\"}\n\n",
		id, kind, kind, kind, quoted, id)
}

func connected(at int) string {
	return fmt.Sprintf("event: connected\ndata: {\"executionId\":\"exec_1\",\"threadIds\":[]}\nid: %d\nretry: 1000\n\n", at)
}

// nextNames names the next events of a stream.
func nextNames(t *testing.T, s *client.Stream, n int) string {
	t.Helper()
	var names []string
	for range n {
		event, err := s.Next()
		if err != nil {
			t.Fatalf("after %v: %v", names, err)
		}
		names = append(names, event.Type+":"+event.ID)
	}
	return strings.Join(names, " ")
}

func TestWatchThreads(t *testing.T) {
	s := newServer(t,
		cut(connected(4)), // lost before the first event: nothing may be missed
		cut(connected(4)+threadFrame(5, "output", `{"text":"a","turn":2}`)),
		answer(503, unavailable),
		cut(connected(5)+threadFrame(5, "output", `{"text":"a"}`)+threadFrame(9, "status", `{"status":"idle","idleMs":7}`)),
		events(connected(9)+threadFrame(12, "completed", `{"completion":{"state":"complete"}}`)),
	)
	opts, _ := noWait(client.Options{HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	stream, err := newClient(t, s.URL, opts).WatchThreads(t.Context(), "exec_1", []string{"thread_1", "thread_2"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if got := nextNames(t, stream, 4); got != "connected:4 thread_output:5 thread_status:9 thread_completed:12" {
		t.Errorf("events %s", got)
	}
	var lasts []string
	for _, r := range s.seen()[:5] {
		if r.Method+" "+r.URI != "GET /api/executions/exec_1/threads/stream?threadIds=thread_1%2Cthread_2" || r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("asked %s %s", r.Method, r.URI)
		}
		lasts = append(lasts, r.Header.Get("Last-Event-ID"))
	}
	if got := strings.Join(lasts, ","); got != ",4,5,5,9" {
		t.Errorf("resumed after %s", got)
	}
}

// A gap is reported, and the stream goes on behind it although its ids are lower than what was seen.
func TestWatchThreadsGap(t *testing.T) {
	s := newServer(t,
		cut(connected(90)+threadFrame(95, "started", `{}`)),
		cut(connected(50)+"id: 50\nevent: gap\ndata: {\"from\":95,\"to\":50,\"reason\":\"future\"}\n\n"+threadFrame(51, "output", `{}`)),
		events(connected(51)+threadFrame(52, "output", `{}`)),
	)
	opts, _ := noWait(client.Options{})
	stream, err := newClient(t, s.URL, opts).WatchThreads(t.Context(), "exec_1", nil, "90")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if got := nextNames(t, stream, 2); got != "connected:90 thread_started:95" {
		t.Errorf("events %s", got)
	}
	event, err := stream.Next()
	if err != nil || event.Type != client.EventGap {
		t.Fatalf("%+v, %v", event, err)
	}
	if gap, err := event.Gap(); err != nil || *gap != (client.StreamGap{From: 95, To: 50, Reason: "future"}) {
		t.Errorf("%+v, %v", gap, err)
	}
	if got := nextNames(t, stream, 2); got != "thread_output:51 thread_output:52" {
		t.Errorf("events %s", got)
	}
	if got := s.seen()[2].Header.Get("Last-Event-ID"); got != "51" {
		t.Errorf("resumed after %s", got)
	}
}

func TestThreadEventData(t *testing.T) {
	reader := client.NewEventReader(strings.NewReader(threadFrame(5, "status", `{"status":"idle","idleMs":7}`)), 0)
	event, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	told, err := event.Thread()
	if err != nil || told.ThreadID != "thread_1" || told.Data.Sequence != 5 || told.Data.TimestampMs != 5 || told.Type != "gateway_thread_status" {
		t.Fatalf("%+v, %v", told, err)
	}
	if d, err := told.Decode(); err != nil || d.Status != "idle" || d.IdleMs != 7 {
		t.Errorf("%+v, %v", d, err)
	}
	stored := client.ThreadEvent{ThreadEvent: wire.ThreadEvent{Type: client.EventThreadBlocked, Data: json.RawMessage(`{"prompt":{"id":"p","kind":"approval"},"autoAnswered":true,"answer":"allow"}`)}}
	if d, err := stored.Decode(); err != nil || d.Prompt.ID != "p" || !d.AutoAnswered || d.Answer != "allow" {
		t.Errorf("%+v, %v", d, err)
	}
	for _, bad := range []client.Event{{Data: json.RawMessage(`[]`)}, {Data: json.RawMessage(`"x"`)}} {
		if _, err := bad.Thread(); err == nil {
			t.Errorf("%s is no event of a thread", bad.Data)
		}
		if _, err := bad.Gap(); err == nil {
			t.Errorf("%s is no gap", bad.Data)
		}
	}
	if _, err := (&client.ThreadStreamEvent{}).Decode(); err == nil {
		t.Error("no data is no JSON")
	}
}

// The metadata of a thread has the numbers that it was given, also in a spec that is read from a plan and sent.
func TestThreadMetadataKeepsNumbers(t *testing.T) {
	const metadata = `{"far":0.1000000000000000055,"id":12345678901234567891}`
	var spec client.ThreadSpec
	var thread client.Thread
	for _, v := range []any{&spec, &thread} {
		if err := json.Unmarshal([]byte(`{"metadata":`+metadata+`}`), v); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(v)
		if err != nil || !strings.Contains(string(raw), `"metadata":`+metadata) {
			t.Errorf("got %s, %v", raw, err)
		}
	}
}
