package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

const magentPath = "/api/managed-agents/" + magentID

func TestSpawnManagedAgent(t *testing.T) {
	r := newRig(t)
	var got core.ManagedAgentSpec
	r.managed.spawn = func(_ context.Context, spec core.ManagedAgentSpec) (*core.ManagedAgent, error) {
		got = spec
		return someManaged(magentID, core.ManagedStarting), nil
	}
	p := r.do("POST", "/api/managed-agents", `{"name":"n","type":"claude","capabilities":["a","b"],"workdir":"/w","env":{"K":"v w"},
		"runtime":"local","approvalPreset":"readonly","resume":"s","image":"i","network":"net","memory":"512m","cpu":0.5,"labels":{"l":"x"}}`)
	p.wants(t, 201, "")
	if p.header.Get("Location") != magentPath || p.at("id") != magentID || p.at("status") != "starting" {
		t.Errorf("%v %s", p.header, p.text)
	}
	want := core.ManagedAgentSpec{
		Name: "n", Type: "claude", Capabilities: []string{"a", "b"}, Workdir: "/w", Env: map[string]string{"K": "v w"},
		Runtime: "local", Approval: "readonly", Resume: "s", Image: "i", Network: "net", MemoryBytes: 512 << 20, CPU: 0.5,
		Labels: map[string]string{"l": "x"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("spec %+v, want %+v", got, want)
	}
	if strings.Contains(p.text, "v w") {
		t.Error("a value of env was answered")
	}
}

func TestSpawnManagedAgentInvalid(t *testing.T) {
	r := newRig(t)
	r.managed.spawn = func(context.Context, core.ManagedAgentSpec) (*core.ManagedAgent, error) {
		t.Error("the service was asked")
		return nil, errors.New("no")
	}
	many := `"a"` + strings.Repeat(`,"a"`, 100)
	for _, c := range []struct{ name, body, field string }{
		{"NoType", `{}`, "type"},
		{"UnknownField", `{"type":"claude","wrokdir":"/w"}`, "wrokdir"},
		{"EnvNoString", `{"type":"claude","env":{"SECRET":12345}}`, "env.SECRET"},
		{"EnvNoObject", `{"type":"claude","env":["SECRET"]}`, "env"},
		{"EnvName", `{"type":"claude","env":{"A=B":"secretvalue"}}`, "env"},
		{"EnvNoName", `{"type":"claude","env":{"":"secretvalue"}}`, "env"},
		{"EnvNul", `{"type":"claude","env":{"A":"secretvalue\u0000"}}`, "env.A"},
		{"CapabilitiesNoList", `{"type":"claude","capabilities":"a"}`, "capabilities"},
		{"CapabilityNoString", `{"type":"claude","capabilities":["a",1]}`, "capabilities[1]"},
		{"CapabilityEmpty", `{"type":"claude","capabilities":[""]}`, "capabilities[0]"},
		{"ManyCapabilities", `{"type":"claude","capabilities":[` + many + `]}`, "capabilities"},
		{"Preset", `{"type":"claude","approvalPreset":"yolo"}`, "approvalPreset"},
		{"Memory", `{"type":"claude","memory":"512x"}`, "memory"},
		{"MemoryZero", `{"type":"claude","memory":"0m"}`, "memory"},
		{"MemoryHuge", `{"type":"claude","memory":"9999999999g"}`, "memory"},
		{"MemoryNumber", `{"type":"claude","memory":512}`, "memory"},
		{"CPU", `{"type":"claude","cpu":-1}`, "cpu"},
		{"CPUHuge", `{"type":"claude","cpu":1e999}`, "cpu"},
		{"CPUText", `{"type":"claude","cpu":"1"}`, "cpu"},
		{"Label", `{"type":"claude","labels":{"":"x"}}`, "labels."},
		{"Label of the service", `{"type":"claude","labels":{"wardroom.role":"x"}}`, "labels.wardroom.role"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := r.do("POST", "/api/managed-agents", c.body)
			p.wants(t, 400, core.CodeValidation)
			if got := p.at("error", "details", "field"); got != c.field {
				t.Errorf("field %v, want %s: %s", got, c.field, p.text)
			}
			if strings.Contains(p.text, "secretvalue") || strings.Contains(p.text, "12345") {
				t.Errorf("a value of env is in the error: %s", p.text)
			}
		})
	}
	if strings.Contains(r.log.String(), "secretvalue") {
		t.Error("a value of env was logged")
	}
}

func TestMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "10b": 10, "1k": 1 << 10, "512m": 512 << 20, "2G": 2 << 30, "1gib": 1 << 30, "3Mi": 3 << 20, "": 0,
		"m": -1, "-1m": -1, "1.5g": -1, "1mm": -1, "0": -1, " 1m": -1, "9223372036854775807k": -1,
	} {
		got, reason := api.ParseMemory(text)
		if want < 0 && reason == "" || want >= 0 && (reason != "" || got != want) {
			t.Errorf("%q is %d (%s), want %d", text, got, reason, want)
		}
	}
}

// A key spawns one agent; the answer of a request that died is rendered from the agent.
func TestSpawnManagedAgentOnce(t *testing.T) {
	r := newRig(t)
	spawned := 0
	r.managed.spawn = func(ctx context.Context, _ core.ManagedAgentSpec) (*core.ManagedAgent, error) {
		spawned++
		r.keys.claim(ctx, magentID)
		if spawned == 1 {
			return nil, core.Unavailable("runtime", "it broke after the claim")
		}
		return someManaged(magentID, core.ManagedStarting), nil
	}
	const body = `{"type":"claude"}`
	r.do("POST", "/api/managed-agents", body, "Idempotency-Key: a").wants(t, 503, core.CodeInternal)
	again := r.do("POST", "/api/managed-agents", body, "Idempotency-Key: a")
	again.wants(t, 201, "")
	if again.header.Get("Idempotent-Replayed") != "true" || again.at("status") != "ready" || spawned != 1 {
		t.Errorf("%d spawned, %s", spawned, again.text)
	}
	r.do("POST", "/api/managed-agents", `{"type":"codex"}`, "Idempotency-Key: a").wants(t, 409, core.CodeConflict)

	r.managed.spawn = func(ctx context.Context, _ core.ManagedAgentSpec) (*core.ManagedAgent, error) {
		r.keys.claim(ctx, "magent_gone")
		return nil, core.Unavailable("runtime", "it did not start")
	}
	r.managed.find = func(id string) (*core.ManagedAgent, error) { return nil, core.NotFound("managed agent", id) }
	r.do("POST", "/api/managed-agents", body, "Idempotency-Key: b").wants(t, 503, core.CodeInternal)
	p := r.do("POST", "/api/managed-agents", body, "Idempotency-Key: b")
	p.wants(t, 409, core.CodeConflict)
	if !strings.Contains(p.text, "use a new key") {
		t.Error(p.text)
	}
}

func TestManagedAgentReads(t *testing.T) {
	r := newRig(t)
	var filter core.ManagedAgentFilter
	r.managed.findAll = func(f core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
		filter = f
		return []*core.ManagedAgent{someManaged(magentID, core.ManagedBusy), someManaged("magent_2", core.ManagedStopped)},
			core.PageInfo{Total: 7, HasMore: true, NextCursor: "c"}, nil
	}
	p := r.do("GET", "/api/managed-agents?status=busy&type=claude&runtime=local&limit=2", "")
	p.wants(t, 200, "")
	if filter.Status != core.ManagedBusy || filter.Type != "claude" || filter.Runtime != "local" || filter.Limit != 2 {
		t.Errorf("filter %+v", filter)
	}
	if p.at("total") != 7.0 || p.at("nextCursor") != "c" || p.at("hasMore") != true {
		t.Error(p.text)
	}
	first := p.json["agents"].([]any)[0].(map[string]any)
	if first["prompt"].(map[string]any)["id"] != "q1" || first["statusReason"] != "blocked" {
		t.Error(p.text)
	}
	r.do("GET", "/api/managed-agents?status=gone", "").wants(t, 400, core.CodeValidation)
	r.do("GET", magentPath, "").wants(t, 200, "")
	r.do("GET", magentPath+"/metrics", "").wants(t, 200, "")
	if p := r.do("GET", magentPath+"/screen", ""); p.status != 200 || p.json["lines"].([]any)[0] != "$ go test ./..." {
		t.Error(p.text)
	}
	r.managed.screen = func(id string) (core.ManagedAgentScreen, error) {
		if id == "magent_2" {
			return core.ManagedAgentScreen{}, core.Unavailable("agent_unreachable", "the agent cannot be reached now")
		}
		return core.ManagedAgentScreen{AgentID: id, Lines: []string{"$"}}, nil
	}
	p = r.do("GET", "/api/managed-agents/screens?agentIds="+magentID+",magent_2", "")
	if two, _ := p.json["screens"].([]any); p.status != 200 || len(two) != 2 || two[0].(map[string]any)["agentId"] != magentID || two[1].(map[string]any)["reason"] != "the agent cannot be reached now" {
		t.Error(p.text)
	}
	r.do("GET", "/api/managed-agents/screens", "").wants(t, 400, core.CodeValidation)
	r.do("GET", "/api/managed-agents/screens?agentIds=a"+strings.Repeat(",a", 50), "").wants(t, 400, core.CodeValidation)
	if p := r.do("GET", "/api/runtimes", ""); p.text != `{"runtimes":[]}` {
		t.Error(p.text)
	}
	r.managed.runtimes = []core.RuntimeInfo{{Name: "local", Priority: 10, Ready: true, Types: []string{"claude"}}, {Name: "docker", Reason: "away", Types: []string{}}}
	r.do("GET", "/api/runtimes", "").wants(t, 200, "")
	r.managed.find = func(id string) (*core.ManagedAgent, error) { return nil, core.NotFound("managed agent", id) }
	r.do("GET", magentPath, "").wants(t, 404, core.CodeNotFound)
}

func TestManagedAgentActs(t *testing.T) {
	r := newRig(t)
	var how core.ManagedAgentStop
	r.managed.stop = func(_ string, h core.ManagedAgentStop) error { how = h; return nil }
	p := r.do("DELETE", magentPath+"?force=true&timeout=2500", "")
	p.wants(t, 204, "")
	if !how.Force || how.Grace != 2500*time.Millisecond || p.text != "" {
		t.Errorf("%+v %q", how, p.text)
	}
	r.do("DELETE", magentPath, "").wants(t, 204, "")
	if how.Force || how.Grace != 0 {
		t.Errorf("%+v", how)
	}
	r.do("DELETE", magentPath+"?timeout=0", "").wants(t, 400, core.CodeValidation)
	r.do("POST", magentPath+"/restart", "").wants(t, 200, "")
	r.do("POST", magentPath+"/restart", `{"x":1}`).wants(t, 400, core.CodeValidation)
	restarts := 0
	r.managed.restart = func(ctx context.Context, id string) (*core.ManagedAgent, error) {
		if restarts++; restarts == 1 {
			return nil, core.Unavailable("runtime", "away")
		}
		r.keys.claim(ctx, id)
		return someManaged(id, core.ManagedStarting), nil
	}
	r.do("POST", magentPath+"/restart", "", "Idempotency-Key: k").wants(t, 503, core.CodeInternal)
	first := r.do("POST", magentPath+"/restart", "", "Idempotency-Key: k")
	again := r.do("POST", magentPath+"/restart", "", "Idempotency-Key: k")
	if again.wants(t, 200, ""); restarts != 2 || again.text != first.text || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("it was restarted %d times, %s", restarts-1, again.text)
	}
	r.do("POST", magentPath+"/restart", `{"fresh":true}`, "Idempotency-Key: k").wants(t, 409, core.CodeConflict)
	var given core.ManagedAgentAnswer
	r.managed.answer = func(id string, a core.ManagedAgentAnswer) (*core.ManagedAgent, error) {
		given = a
		return someManaged(id, core.ManagedBusy), nil
	}
	r.do("POST", magentPath+"/answer", `{"promptId":"p","choice":"deny","text":"no"}`).wants(t, 200, "")
	if given != (core.ManagedAgentAnswer{PromptID: "p", Choice: "deny", Text: "no"}) {
		t.Errorf("%+v", given)
	}
}

func TestSendManagedAgent(t *testing.T) {
	r := newRig(t)
	var got []core.ManagedAgentInput
	var fault error
	r.managed.send = func(_ context.Context, _ string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		got = append(got, in)
		reply := core.ManagedAgentReply{Sent: true}
		if in.ExpectResponse {
			reply.Response = &core.ManagedAgentResponse{Text: "yes", Turn: 2, DurationMs: 12}
		}
		return reply, fault
	}
	p := r.do("POST", magentPath+"/send", `{"message":"m","expectResponse":true,"timeout":1500}`)
	p.wants(t, 200, "")
	if p.text != `{"sent":true,"response":{"text":"yes","turn":2,"durationMs":12}}` {
		t.Error(p.text)
	}
	if in := got[0]; in.Message != "m" || !in.ExpectResponse || in.Timeout != 1500*time.Millisecond || in.Key != "" {
		t.Errorf("%+v", in)
	}
	p = r.do("POST", magentPath+"/send", `{"keys":["ESC","ENTER"]}`)
	if p.text != `{"sent":true}` || len(got[1].Keys) != 2 {
		t.Errorf("%s %+v", p.text, got[1])
	}
	r.do("POST", magentPath+"/send", `{"message":"m","timeout":0}`).wants(t, 400, core.CodeValidation)
	r.do("POST", magentPath+"/send", `{"keys":"ESC"}`).wants(t, 400, core.CodeValidation)
	r.do("POST", magentPath+"/send", "").wants(t, 400, core.CodeValidation)
	for _, body := range []string{`{}`, `{"message":""}`, `{"message":"a","raw":"b"}`, `{"raw":"a","keys":["b"]}`, `{"keys":[]}`} {
		r.do("POST", magentPath+"/send", body, "Idempotency-Key: bad").wants(t, 400, core.CodeValidation)
	}
	r.do("POST", magentPath+"/send", `{"message":"m"}`, "Idempotency-Key: bad").wants(t, 200, "") // it was not claimed

	// With a key the agent is reached under one id, however often it has to be tried.
	got = nil
	fault = core.Unavailable("runtime", "away")
	r.do("POST", magentPath+"/send", `{"raw":"x"}`, "Idempotency-Key: k").wants(t, 503, core.CodeInternal)
	fault = nil
	again := r.do("POST", magentPath+"/send", `{"raw":"x"}`, "Idempotency-Key: k")
	again.wants(t, 200, "")
	if len(got) != 2 || got[0].Key == "" || got[0].Key != got[1].Key {
		t.Errorf("%+v", got)
	}
	r.do("POST", magentPath+"/send", `{"raw":"x"}`, "Idempotency-Key: k").wants(t, 200, "")
	if len(got) != 2 {
		t.Error("the answer that was given is not kept")
	}
	r.do("POST", magentPath+"/send", `{"raw":"y"}`, "Idempotency-Key: k").wants(t, 409, core.CodeConflict)
	r.do("POST", "/api/managed-agents/other/send", `{"raw":"x"}`, "Idempotency-Key: k").wants(t, 200, "")
	if got[2].Key == got[0].Key {
		t.Error("keys of two agents meet")
	}
	r.managed.find = func(id string) (*core.ManagedAgent, error) { return nil, core.NotFound("managed agent", id) }
	r.do("POST", "/api/managed-agents/none/send", `{"raw":"x"}`, "Idempotency-Key: k").wants(t, 404, core.CodeNotFound)
	r.managed.find = nil
	r.do("POST", "/api/managed-agents/none/send", `{"raw":"z"}`, "Idempotency-Key: k").wants(t, 200, "") // nothing was claimed
}

// Failures of runtimes keep their status, message and details, whatever their code.
func TestRuntimeErrors(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		runtimeCode string
		code        core.Code
		unavailable bool
		status      int
		hidden      bool
	}{
		{"CLI_NOT_FOUND", core.CodeValidation, false, 422, false},
		{"IMAGE_NOT_FOUND", core.CodeValidation, false, 422, false},
		{"AUTH_REQUIRED", core.CodeConflict, false, 409, false},
		{"SPAWN_FAILED", core.CodeInternal, false, 500, false},
		{"NETWORK_ERROR", core.CodeInternal, false, 502, false},
		{"RESOURCE_LIMIT", core.CodeInternal, true, 503, false},
		{"SOCKET_ERROR", core.CodeInternal, true, 503, false},
		{"UNAVAILABLE", core.CodeInternal, true, 503, false},
		{"UNKNOWN_TYPE", core.CodeValidation, false, 400, false},
		{"BLOCKED", core.CodeConflict, false, 409, false},
		{"INTERNAL", core.CodeInternal, false, 500, true},
	} {
		t.Run(c.runtimeCode, func(t *testing.T) {
			r.managed.spawn = func(context.Context, core.ManagedAgentSpec) (*core.ManagedAgent, error) {
				e := &core.Error{
					Code: c.code, Message: "what happened", Unavailable: c.unavailable,
					Details: map[string]any{"runtimeCode": c.runtimeCode, "field": "type", "reason": "what happened"},
				}
				return nil, e.WithCause(errors.New("a secret cause"))
			}
			p := r.do("POST", "/api/managed-agents", `{"type":"claude"}`)
			p.wants(t, c.status, c.code)
			shown := p.at("error", "message") == "what happened" && p.at("error", "details", "runtimeCode") == c.runtimeCode
			if shown == c.hidden || strings.Contains(p.text, "secret") {
				t.Error(p.text)
			}
			if wait := p.header.Get("Retry-After"); (c.status == 503) != (wait != "") {
				t.Errorf("Retry-After %q", wait)
			}
		})
	}
}

func TestManagedAgentLogs(t *testing.T) {
	r := newRig(t)
	var opts core.LogOptions
	var stream *lines
	r.managed.logs = func(_ context.Context, _ string, o core.LogOptions) (core.LogStream, error) {
		opts = o
		stream = newLines(core.LogLine{Timestamp: epoch, Stream: "input", Line: "a < b"}).end(nil)
		return stream, nil
	}
	p := r.do("GET", magentPath+"/logs", "")
	p.wants(t, 200, "")
	if p.text != `{"logs":[{"timestamp":"2026-01-02T03:04:05.678Z","stream":"input","line":"a < b"}],"tail":1000}` {
		t.Error(p.text)
	}
	if opts.Tail != 1000 || opts.Follow || !stream.isClosed() {
		t.Errorf("%+v", opts)
	}
	r.do("GET", magentPath+"/logs?tail=3&since=2026-01-02T03:04:05Z", "").wants(t, 200, "")
	if opts.Tail != 3 || !opts.Since.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("%+v", opts)
	}
	r.do("GET", magentPath+"/logs?since=2026-01-02T03:04:05Z", "").wants(t, 200, "")
	if opts.Tail < 10_000 {
		t.Errorf("since is cut to %d lines", opts.Tail)
	}
	r.do("GET", magentPath+"/logs?tail=0", "").wants(t, 400, core.CodeValidation)
	for _, bad := range []string{"12", "2026-01-02T03:04:05Z/", "2026-01-02T03:04:05Z/x", "/1", "0001-01-01T00:00:00Z"} {
		r.do("GET", magentPath+"/logs?follow=true", "", "Last-Event-ID: "+bad).wants(t, 400, core.CodeValidation)
	}
	r.managed.logs = func(context.Context, string, core.LogOptions) (core.LogStream, error) {
		return newLines().end(core.Unavailable("runtime", "away")), nil
	}
	r.do("GET", magentPath+"/logs", "").wants(t, 503, core.CodeInternal)
}

func TestManagedAgentLogsFollow(t *testing.T) {
	r := newRig(t)
	stream := newLines(core.LogLine{Timestamp: epoch, Stream: "input", Line: "one"})
	var opts core.LogOptions
	r.managed.logs = func(_ context.Context, _ string, o core.LogOptions) (core.LogStream, error) {
		opts = o
		return stream, nil
	}
	const id = "2026-01-02T03:04:05.678Z"
	got := r.openStream(magentPath + "/logs?follow=true&tail=5")
	wantLines(t, got, "id: "+id, "event: log", `data: {"timestamp":"`+id+`","stream":"input","line":"one"}`)
	r.clock.Advance(15 * time.Second)
	wantLines(t, got, ": heartbeat")
	stream.change(func() {
		stream.list = append(stream.list, core.LogLine{Timestamp: epoch.Add(time.Nanosecond), Stream: "output", Line: "two"})
	})
	wantLines(t, got, "id: 2026-01-02T03:04:05.678000001Z", "event: log", `data: {"timestamp":"`+id+`","stream":"output","line":"two"}`)
	stream.end(nil)
	wantLines(t, got, "event: end", "data: {}")
	if line, ok := next(t, got); ok {
		t.Errorf("after the end came %q", line)
	}
	if opts.Tail != 5 || !opts.Follow {
		t.Errorf("%+v", opts)
	}

	// Coming back goes on behind the last line; when there is nothing more, a browser need not come again.
	stream = newLines().end(nil)
	r.do("GET", magentPath+"/logs?follow=true&tail=5", "", "Last-Event-ID: "+id).wants(t, 204, "")
	if !opts.Since.Equal(epoch.Add(-time.Nanosecond)) || opts.Tail == 5 {
		t.Errorf("%+v", opts)
	}
	var same []core.LogLine // many lines have one time: the follower saw two of them
	for _, text := range []string{"one", "two", "three", "four"} {
		same = append(same, core.LogLine{Timestamp: epoch, Stream: "input", Line: text})
	}
	stream = newLines(same...).end(core.Unavailable("away", "away"))
	got = r.openStream(magentPath+"/logs?follow=true", "Last-Event-ID: "+id+"/2")
	wantLines(t, got, "id: "+id+"/3", "event: log", `data: {"timestamp":"`+id+`","stream":"input","line":"three"}`,
		"id: "+id+"/4", "event: log", `data: {"timestamp":"`+id+`","stream":"input","line":"four"}`,
		": the server ends this stream; reconnect with Last-Event-ID")
	r.server.Close() // waits for the stream's end
	if !stream.isClosed() {
		t.Error("the log was not closed")
	}
}

// A follower that leaves, and one that the server ends, let go of the log.
func TestManagedAgentLogsEnd(t *testing.T) {
	r := newRig(t)
	stream := newLines(core.LogLine{Timestamp: epoch, Stream: "input", Line: "one"})
	r.managed.logs = func(context.Context, string, core.LogOptions) (core.LogStream, error) { return stream, nil }
	got := r.openStream(magentPath + "/logs?follow=true")
	next(t, got)
	r.server.Close()
	if !stream.isClosed() {
		t.Error("the log was not closed")
	}
	r.do("GET", magentPath+"/logs?follow=true", "").wants(t, 503, core.CodeInternal)
}

func TestManagedAgentEvents(t *testing.T) {
	r := newRig(t)
	r.journal.events = managedJournal(magentID)
	p := r.do("GET", magentPath+"/events?since=21&limit=1", "")
	p.wants(t, 200, "")
	if p.text != `{"events":[{"agentId":"`+magentID+`","sequence":24,"type":"managed_agent.ready","timestamp":"2026-01-02T03:04:05.678Z",`+
		`"data":{"agentId":"`+magentID+`","status":"ready"}}],"limit":1,"hasMore":true,"nextSince":24}` {
		t.Error(p.text)
	}
	if p := r.do("GET", magentPath+"/events?since=29", ""); p.text != `{"events":[],"limit":100,"hasMore":false,"nextSince":29}` {
		t.Error(p.text)
	}
	if p := r.do("GET", magentPath+"/events?before=0&limit=2", ""); len(p.at("events").([]any)) != 2 || p.at("hasMore") != true ||
		p.at("events").([]any)[1].(map[string]any)["sequence"] != 29.0 || p.at("nextBefore") != 24.0 {
		t.Errorf("the newest: %s", p.text)
	}
	if p := r.do("GET", magentPath+"/events?before=24", ""); len(p.at("events").([]any)) != 1 || p.at("hasMore") != false ||
		p.at("nextBefore") != 21.0 || p.at("nextSince") != 23.0 {
		t.Errorf("those before: %s", p.text)
	}
	r.do("GET", magentPath+"/events?before=24&since=1", "").wants(t, 400, core.CodeValidation)
	r.do("GET", magentPath+"/events", "", "Accept: text/event-stream;q=0, application/json").wants(t, 200, "")
	r.managed.find = func(id string) (*core.ManagedAgent, error) { return nil, core.NotFound("managed agent", id) }
	r.do("GET", magentPath+"/events", "").wants(t, 404, core.CodeNotFound)
}

func TestManagedAgentEventStream(t *testing.T) {
	r := newRig(t)
	var after uint64
	j := newJournal(managedJournal(magentID)...)
	r.managed.events = func(_ context.Context, _ string, from uint64) (core.EventStream, error) {
		after = from
		j.after = from
		return j, nil
	}
	const accept = "Accept: application/json, text/event-stream"
	got := r.openStream(magentPath+"/events?since=21", accept, "Last-Event-ID: 24")
	if after != 24 {
		t.Errorf("after %d", after)
	}
	wantLines(t, got, "event: managed_agent.turn_complete", "id: 29", `data: {"agentId":"`+magentID+`","sequence":29,`+
		`"type":"managed_agent.turn_complete","timestamp":"2026-01-02T03:04:05.678Z","data":{"agentId":"`+magentID+`","text":"a < b"}}`)
	r.clock.Advance(15 * time.Second)
	wantLines(t, got, ": heartbeat")
	j.change(func() {
		j.events = append(j.events, core.Event{Seq: 40, Type: core.EventManagedStopped, Time: epoch, Subject: magentID})
	})
	wantLines(t, got, "event: managed_agent.stopped", "id: 40")
	r.server.Drain()
	next(t, got)
	wantLines(t, got, ": the server ends this stream; reconnect with Last-Event-ID")
	r.do("GET", magentPath+"/events", "", accept, "Last-Event-ID: x").wants(t, 400, core.CodeValidation)
}

func TestManagedAgentStreamHead(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/logs?follow=true", "/events"} {
		p := r.do("HEAD", magentPath+path, "", "Accept: text/event-stream")
		if p.status != 200 || p.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %d %v", path, p.status, p.header)
		}
	}
}

// Who may only read gets a terminal that takes no input; the rest is the service's.
func TestManagedAgentTerminal(t *testing.T) {
	scopes := map[string]bool{}
	r := newRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if !scopes[a.Scope] {
				return &core.Error{Code: core.CodeForbidden, Message: "not allowed", Details: map[string]any{"action": a.Action}}
			}
			return nil
		}
		o.Config.CORSOrigins = []string{"https://good.example"}
	})
	var upgrader websocket.Upgrader // refuses foreign origins, as the service does
	type asked struct {
		id       string
		readOnly bool
		query    string
	}
	was := make(chan asked, 1)
	r.managed.terminal = func(w http.ResponseWriter, req *http.Request, id string, readOnly bool) error {
		conn, err := upgrader.Upgrade(w, req, nil)
		if err != nil {
			t.Error(err)
			return nil
		}
		defer conn.Close()
		was <- asked{id, readOnly, req.URL.RawQuery}
		return conn.WriteMessage(websocket.TextMessage, []byte("screen"))
	}
	dial := func(query, origin string) (*http.Response, error) {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		conn, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(r.http.URL, "http")+magentPath+"/terminal"+query, header)
		if err != nil {
			return resp, err
		}
		defer conn.Close()
		if _, text, err := conn.ReadMessage(); err != nil || string(text) != "screen" {
			t.Errorf("%q %v", text, err)
		}
		return resp, nil
	}
	for _, c := range []struct {
		name, query, origin string
		manage, readOnly    bool
	}{
		{"Manage", "", "", true, false},
		{"ReadOnlyWish", "?readonly=true", "", true, true},
		{"Read", "?offset=5&tail=10&cols=80&rows=24", "", false, true},
		{"ListedOrigin", "", "https://good.example", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			scopes["agents:read"], scopes["agents:manage"] = true, c.manage
			if _, err := dial(c.query, c.origin); err != nil {
				t.Fatal(err)
			}
			got := <-was
			if got.id != magentID || got.readOnly != c.readOnly || "?"+got.query != c.query && c.query != "" {
				t.Errorf("%+v", got)
			}
		})
	}
	scopes["agents:read"] = true
	if resp, err := dial("", "https://evil.example"); err == nil || resp.StatusCode != 403 {
		t.Errorf("a foreign page: %v", err)
	}
	if resp, err := dial("?rows=5000", ""); err == nil || resp.StatusCode != 400 {
		t.Errorf("a wrong query: %v", err)
	}
	scopes["agents:read"] = false
	if resp, err := dial("", ""); err == nil || resp.StatusCode != 403 {
		t.Errorf("without a scope: %v", err)
	}
	scopes["agents:read"] = true
	r.managed.terminal = nil
	p := r.do("GET", magentPath+"/terminal", "")
	p.wants(t, 400, core.CodeValidation)
	if p.at("error", "details", "field") != "Upgrade" {
		t.Error(p.text)
	}
	r.server.Drain()
	r.do("GET", magentPath+"/terminal", "").wants(t, 503, core.CodeInternal)
}

// Without runtimes there are no operations of managed agents.
func TestNoManagedAgents(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.ManagedAgents = nil })
	p := r.do("GET", "/api/openapi.json", "")
	if strings.Contains(p.text, `"/api/managed-agents`) {
		t.Error("operations that are not there are documented")
	}
	p = r.do("GET", "/api/health", "")
	p.wants(t, 200, "")
	resp, err := http.Get(r.http.URL + "/api/managed-agents")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 404 || !bytes.Contains(text, []byte(`"route"`)) {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}
