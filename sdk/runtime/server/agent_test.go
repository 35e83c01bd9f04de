package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
)

func TestSpawnAnswersTheRecord(t *testing.T) {
	r := newRig(t, runtimeserver.Options{NewID: func() string { return "magent_1" }})
	for _, prefix := range []string{"", "/api"} {
		a := r.expect(t, http.StatusCreated, http.MethodPost, prefix+"/agents",
			`{"name":"n","type":"shell","capabilities":["c"],"env":{"KEY":"hunter2"}}`)
		if a.field("id") != "magent_1" || a.field("name") != "n" || a.field("type") != "shell" || a.field("runtime") != "memory" || a.field("createdAt") == nil {
			t.Errorf("the record is %s", a.text)
		}
		if got := a.header.Get("Location"); got != prefix+"/agents/magent_1" {
			t.Errorf("the location is %q", got)
		}
		if strings.Contains(a.text, "hunter2") || strings.Contains(a.text, "handle") || strings.Contains(a.text, "env") {
			t.Errorf("the record tells too much: %s", a.text)
		}
	}
	full := r.expect(t, http.StatusOK, http.MethodGet, "/agents/magent_1?full=true", "")
	if full.field("handle", "id") != "magent_1" || strings.Contains(full.text, "hunter2") {
		t.Errorf("the full agent is %s", full.text)
	}
}

func TestSpawnTakesTheContainerRequest(t *testing.T) {
	var got runtime.Spec
	r := newRig(t, runtimeserver.Options{Runtime: spawner{got: &got}})
	r.expect(t, http.StatusCreated, http.MethodPost, "/agents", `{"name":"worker","type":"claude","image":"agents/claude:1",
		"resources":{"memory":"512m","cpu":0.5},"volumes":[],"env":{"A":"b"},"network":"wardroom-agents"}`)
	if got.Limits.MemoryBytes != 512<<20 || got.Limits.CPU != 0.5 || got.Image != "agents/claude:1" || got.Network != "wardroom-agents" || got.Env["A"] != "b" {
		t.Errorf("the spec is %+v", got)
	}
	if !strings.HasPrefix(got.ID, "magent_") {
		t.Errorf("the id is %q", got.ID)
	}
	r.expect(t, http.StatusCreated, http.MethodPost, "/agents", `{"type":"mine","memory":"1.5g","cpu":2,"command":"mycli","args":["-x"],
		"ready":{"pattern":"> $","timeout":5000},"idle":1000,"exit":"quit"}`)
	d := got.Declared
	if got.Limits.MemoryBytes != 3<<29 || got.Limits.CPU != 2 || d == nil || d.Command != "mycli" || d.Args[0] != "-x" || d.Ready.Pattern != "> $" || d.Exit != "quit" {
		t.Errorf("the spec is %+v with %+v", got, d)
	}
}

// spawner keeps what it should spawn.
type spawner struct {
	runtime.Unimplemented
	got *runtime.Spec
}

func (s spawner) Spawn(_ context.Context, spec runtime.Spec) (runtime.Agent, error) {
	*s.got = spec
	return runtime.Agent{ID: spec.ID, Type: spec.Type}, nil
}

func TestSpawnRefusesBadBodies(t *testing.T) {
	r := newRig(t, runtimeserver.Options{MaxBody: 2000})
	for body, want := range map[string]struct {
		status int
		field  string
	}{
		`{"type":"shell","colour":"red"}`:        {400, "colour"},
		`{"type":"shell","limits":{"memory":1}}`: {400, "memory"},
		`{"type":7}`:                             {400, "type"},
		`{"type":"shell","cols":"80"}`:           {400, "cols"},
		`{"type":"shell","labels":[]}`:           {400, "labels"},
		`{"type":"shell"}{}`:                     {400, "body"},
		`{"type":"shell"`:                        {400, "body"},
		`[]`:                                     {400, "body"},
		`not json`:                               {400, "body"},
		``:                                       {400, "type"},
		`{"name":"x"}`:                           {400, "type"},
		`{"type":"shell","memory":"lots"}`:       {400, "memory"},
		`{"type":"shell","resources":{"memory":"-1m"}}`:               {400, "resources.memory"},
		`{"type":"shell","cpu":-1}`:                                   {400, "cpu"},
		`{"type":"shell","memory":"1g","limits":{"memoryBytes":5}}`:   {400, "memory"},
		`{"type":"shell","cpu":1,"resources":{"cpu":2}}`:              {400, "resources.cpu"},
		`{"type":"shell","volumes":["/a:/b:ro"]}`:                     {400, "volumes"},
		`{"type":"shell","args":["x"]}`:                               {400, "command"},
		`{"type":"shell","command":"x","declared":{"command":"y"}}`:   {400, "command"},
		`{"type":"shell","id":"a/b"}`:                                 {400, "id"},
		`{"type":"shell","workdir":"relative"}`:                       {400, "workdir"},
		`{"type":"nothing"}`:                                          {400, "type"},
		`{"type":"shell","name":"` + strings.Repeat("x", 2000) + `"}`: {413, "body"},
	} {
		a := r.expect(t, want.status, http.MethodPost, "/agents", body)
		field, _ := a.field("error", "details", "field").(string)
		message, _ := a.field("error", "message").(string)
		if field != want.field || a.field("error", "code") != "VALIDATION_ERROR" || !strings.HasPrefix(message, want.field) || message == "" ||
			a.field("error", "details", "code") == nil || a.field("error", "details", "reason") == nil || strings.Contains(message, "invalid character") {
			t.Errorf("%s: %s, want field %q", body, a.text, want.field)
		}
	}
	if a := r.expect(t, 415, http.MethodPost, "/agents", `{"type":"shell"}`, "Content-Type", "text/plain"); a.field("error", "details", "field") != "Content-Type" {
		t.Errorf("another type of body: %s", a.text)
	}
	if a := r.expect(t, 200, http.MethodGet, "/agents", ""); a.field("total") != 0.0 {
		t.Errorf("something was started: %s", a.text)
	}
}

// away is a runtime with one agent that runs, and one that is out of reach.
type away struct{ runtime.Unimplemented }

func (away) Capabilities(context.Context) (runtime.Capabilities, error) {
	return runtime.Capabilities{Name: "far"}, nil
}

func (away) List(context.Context, runtime.ListFilter) ([]runtime.Agent, error) {
	return []runtime.Agent{
		{ID: "a", Status: runtime.StatusReady}, {ID: "b", Status: runtime.StatusUnreachable, Reason: runtime.ReasonUnreachable},
	}, nil
}

// TestListOutOfReach asks for the agents that cannot be reached.
func TestListOutOfReach(t *testing.T) {
	r := newRig(t, runtimeserver.Options{Runtime: away{}})
	a := r.expect(t, http.StatusOK, http.MethodGet, "/agents?status=unreachable", "")
	if a.field("total") != 1.0 || !strings.Contains(a.text, `"id":"b"`) {
		t.Errorf("the list is %s", a.text)
	}
}

func TestListPagesAndFilters(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	if a := r.expect(t, 200, http.MethodGet, "/agents", ""); a.text != `{"agents":[],"total":0,"limit":20,"offset":0,"hasMore":false}`+"\n" {
		t.Errorf("an empty list is %s", a.text)
	}
	for _, id := range []string{"a", "b", "c"} {
		r.spawn(t, id)
	}
	r.expect(t, 204, http.MethodDelete, "/agents/b", "")
	for query, want := range map[string]string{
		"": "abc", "?limit=2": "ab", "?limit=2&offset=2": "c", "?offset=5": "", "?status=ready": "ac", "?status=stopped": "b",
		"?status=ready&status=stopped": "abc", "?type=shell&limit=1": "a", "?type=claude": "", "?installation=x": "", "?label=a=b": "", "?full=true": "abc",
	} {
		a := r.expect(t, 200, http.MethodGet, "/agents"+query, "")
		got := ""
		agents, _ := a.field("agents").([]any)
		for _, agent := range agents {
			id, _ := agent.(map[string]any)["id"].(string)
			got += id
		}
		if got != want {
			t.Errorf("%q lists %q, want %q", query, got, want)
		}
		if limit, _ := a.field("limit").(float64); limit < 1 || limit < float64(len(agents)) {
			t.Errorf("%q has the limit %v, and %d agents", query, a.field("limit"), len(agents))
		}
		if more, want := a.field("hasMore"), query == "?limit=2" || query == "?type=shell&limit=1"; more != want {
			t.Errorf("%q has more: %v", query, more)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=x", "?offset=-1", "?status=odd", "?label=x", "?label==y", "?full=perhaps"} {
		r.expect(t, 400, http.MethodGet, "/agents"+query, "")
	}
}

func TestStopAndRestart(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	r.spawn(t, "a")
	for range 2 {
		r.expect(t, 204, http.MethodDelete, "/agents/a?timeout=1000", "")
	}
	r.until(t, "a", "stopped", runtime.ReasonStopped)
	r.expect(t, 409, http.MethodPost, "/agents/a/send", `{"message":"echo x"}`)
	r.expect(t, 409, http.MethodGet, "/agents/a/metrics", "")
	if a := r.expect(t, 200, http.MethodPost, "/api/agents/a/restart", ""); a.field("id") != "a" {
		t.Errorf("the restarted agent is %s", a.text)
	}
	r.until(t, "a", "ready", "")
	if a := r.expect(t, 200, http.MethodGet, "/agents/a/metrics", ""); a.field("uptimeSeconds") == nil {
		t.Errorf("the metrics are %s", a.text)
	}
	r.expect(t, 204, http.MethodDelete, "/agents/a?force=true", "")
	r.until(t, "a", "stopped", runtime.ReasonKilled)
	for _, query := range []string{"?timeout=-1", "?timeout=x", "?force=x", "?timeout=99999999999"} {
		r.expect(t, 400, http.MethodDelete, "/agents/a"+query, "")
	}
	for _, call := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"POST", "/restart"}, {"GET", "/logs"}, {"GET", "/metrics"}} {
		a := r.expect(t, 404, call[0], "/agents/nobody"+call[1], "")
		if a.field("error", "code") != "NOT_FOUND" {
			t.Errorf("%v: %s", call, a.text)
		}
	}
}

func TestSendAndAnswer(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	r.spawn(t, "a")
	a := r.expect(t, 200, http.MethodPost, "/agents/a/send", `{"message":"echo $((6*7))","expectResponse":true,"timeout":5000}`)
	if a.field("sent") != true || a.field("response", "text") != "42" || a.field("response", "turn") != 1.0 {
		t.Errorf("the answer is %s", a.text)
	}
	first := r.expect(t, 200, http.MethodPost, "/agents/a/send", `{"message":"echo again","expectResponse":true}`, "Idempotency-Key", "k")
	if second := r.expect(t, 200, http.MethodPost, "/agents/a/send", `{"message":"echo again","expectResponse":true}`, "Idempotency-Key", "k"); first.text != second.text {
		t.Errorf("a repeat answers %s after %s", second.text, first.text)
	}
	r.expect(t, 200, http.MethodPost, "/agents/a/send", `{"keys":["CTRL_U"]}`)
	r.expect(t, 408, http.MethodPost, "/agents/a/send", `{"message":"read nothing < /dev/null; sleep 5","expectResponse":true,"timeout":30}`)
	for body, field := range map[string]string{
		`{}`: "message", `{"message":"a","raw":"b"}`: "message", `{"message":"","raw":""}`: "message", `{"raw":"x","expectResponse":true}`: "expectResponse",
		`{"message":"x","timeout":-1}`: "timeout", `{"keys":["NOPE"]}`: "keys", `{"text":"x"}`: "text",
	} {
		if a := r.expect(t, 400, http.MethodPost, "/agents/a/send", body); a.field("error", "details", "field") != field {
			t.Errorf("%s: %s", body, a.text)
		}
	}

	r.spawn(t, "b")
	if a := r.expect(t, 409, http.MethodPost, "/agents/b/answer", `{"choice":"yes"}`); a.field("error", "code") != "CONFLICT" || a.field("error", "details", "code") != "NO_PROMPT" {
		t.Errorf("an answer to nothing: %s", a.text)
	}
	r.expect(t, 200, http.MethodPost, "/agents/b/send", `{"message":"ask may I?"}`)
	blocked := r.until(t, "b", "busy", "blocked")
	if blocked.field("prompt", "text") != "may I?" || blocked.field("prompt", "kind") != "question" {
		t.Errorf("a blocked agent is %s", blocked.text)
	}
	if a := r.expect(t, 409, http.MethodPost, "/agents/b/send", `{"message":"x"}`); a.field("error", "code") != "CONFLICT" || a.field("error", "details", "code") != "BLOCKED" {
		t.Errorf("a message to a blocked agent: %s", a.text)
	}
	r.expect(t, 400, http.MethodPost, "/agents/b/answer", `{}`)
	if a := r.expect(t, 200, http.MethodPost, "/agents/b/answer", `{"choice":"no"}`); a.field("answered") != true {
		t.Errorf("the answer is %s", a.text)
	}
	r.until(t, "b", "ready", "")
}

func TestRecoverAndPrune(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	r.spawn(t, "a")
	a := r.expect(t, 200, http.MethodPost, "/recover", `{"handles":[{"id":"a","data":"eyJ2IjoxLCJpZCI6ImEifQ=="},{"id":"x"}]}`)
	results, _ := a.field("results").([]any)
	if len(results) != 2 || !strings.Contains(a.text, `"INVALID_HANDLE"`) {
		t.Errorf("the results are %s", a.text)
	}
	if a := r.expect(t, 200, http.MethodPost, "/recover", `{}`); a.text != `{"results":[]}`+"\n" {
		t.Errorf("nothing to recover: %s", a.text)
	}
	r.expect(t, 204, http.MethodDelete, "/agents/a", "")
	if a := r.expect(t, 200, http.MethodPost, "/prune", `{"dryRun":true}`); a.text != `{"removed":["a"],"stopped":[],"left":[]}`+"\n" {
		t.Errorf("the report is %s", a.text)
	}
	r.expect(t, 400, http.MethodPost, "/prune", `{"graceMs":-1}`)
	r.expect(t, 200, http.MethodPost, "/prune", `{"keep":["a"]}`)
	r.expect(t, 200, http.MethodGet, "/agents/a", "")
	r.expect(t, 200, http.MethodPost, "/prune", `{}`)
	r.expect(t, 404, http.MethodGet, "/agents/a", "")
}

func TestErrorsOfTheRuntime(t *testing.T) {
	type public struct {
		status int
		code   string
	}
	wrong, conflict := public{400, "VALIDATION_ERROR"}, public{409, "CONFLICT"}
	for code, want := range map[runtime.Code]public{
		runtime.CodeCLINotFound: {422, "CLI_NOT_FOUND"}, runtime.CodeAuthRequired: {409, "AUTH_REQUIRED"}, runtime.CodeSpawnFailed: {500, "SPAWN_FAILED"},
		runtime.CodeImageNotFound: {422, "IMAGE_NOT_FOUND"}, runtime.CodeNetworkError: {502, "NETWORK_ERROR"},
		runtime.CodeResourceLimit: {503, "RESOURCE_LIMIT"}, runtime.CodeSocketError: {503, "SOCKET_ERROR"}, runtime.CodeNotFound: {404, "NOT_FOUND"},
		runtime.CodeInvalidSpec: wrong, runtime.CodeInvalidArgument: wrong, runtime.CodeInvalidHandle: wrong, runtime.CodeUnknownType: wrong,
		runtime.CodeWorkdirNotAllowed: wrong, runtime.CodeAlreadyExists: conflict, runtime.CodeNotRunning: conflict, runtime.CodeTimeout: {408, "TIMEOUT"},
		runtime.CodeDeliveryUnknown: conflict, runtime.CodeNotDelivered: {503, "INTERNAL_ERROR"}, runtime.CodeForbidden: {403, "FORBIDDEN"},
		runtime.CodeUnimplemented: {501, "INTERNAL_ERROR"}, runtime.CodeUnavailable: {503, "INTERNAL_ERROR"},
		runtime.CodeInternal: {500, "INTERNAL_ERROR"}, "OF_A_LATER_VERSION": {500, "INTERNAL_ERROR"},
	} {
		r := newRig(t, runtimeserver.Options{Runtime: stub{err: &runtime.Error{Code: code, Message: "m", Field: "f", Hint: "h", Retry: true}}})
		a := r.expect(t, want.status, http.MethodGet, "/agents/x", "")
		for _, want := range []struct{ name, value string }{{"code", string(code)}, {"message", "m"}, {"field", "f"}, {"hint", "h"}} {
			if a.field("error", "details", want.name) != want.value {
				t.Errorf("%s: %s", code, a.text)
			}
		}
		if a.field("error", "code") != want.code || a.field("error", "message") != "f: m" || a.field("error", "details", "retryable") != true {
			t.Errorf("%s: %s", code, a.text)
		}
	}
	for name, s := range map[string]stub{"foreign": {err: errors.New("password hunter2")}, "panic": {panic: true}} {
		r := newRig(t, runtimeserver.Options{Runtime: s})
		if a := r.expect(t, 500, http.MethodGet, "/agents/x", ""); a.field("error", "code") != "INTERNAL_ERROR" || strings.Contains(a.text, "hunter2") {
			t.Errorf("a %s error answers %s", name, a.text)
		}
	}
}
