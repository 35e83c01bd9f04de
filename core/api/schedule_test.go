package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestSchedules(t *testing.T) {
	r := newRig(t)
	at := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	p := r.do("POST", "/api/schedules", `{"name":"nightly","cron":"0 3 * * *","timeZone":"Europe/Berlin","jitter":1500,"startAt":"2026-12-01T08:00:00Z",`+
		`"overlap":"queue","catchUp":"all","catchUpLimit":3,"paused":true,`+
		`"target":{"execution":{"pattern":"classify","version":"1.x","input":{"n":12345678901234567890},"options":{"priority":"high"}}}}`)
	p.wants(t, 201, "")
	got := r.schedules.spec
	if got.Name != "nightly" || got.Jitter != 1500*time.Millisecond || !got.StartAt.Equal(at) || got.Overlap != wire.OverlapQueue || got.CatchUp != wire.CatchUpAll ||
		got.CatchUpLimit != 3 || !got.Paused || got.Target.Execution.Options.Priority != core.PriorityHigh || string(got.Target.Execution.Input) != `{"n":12345678901234567890}` {
		t.Errorf("%+v", got)
	}
	if p.header.Get("Location") != "/api/schedules/"+scheduleID || !strings.Contains(p.text, "12345678901234567890") {
		t.Errorf("%s %s", p.header.Get("Location"), p.text)
	}
	p = r.do("POST", "/api/schedules", `{"name":"n","cron":"@daily","target":{"thread":{"agentType":"claude","objective":"x","preparation":{"env":{"B":"canary","A":"1"},`+
		`"workspace":{"repo":"app"},"contextFiles":[{"path":"a","content":"b"}]},"policy":{"maxTurns":3}}}}`)
	p.wants(t, 201, "")
	got = r.schedules.spec
	if th := got.Target.Thread; got.Env["B"] != "canary" || th.AgentType != "claude" || strings.Join(th.Preparation.EnvNames, ",") != "A,B" ||
		th.Preparation.Workspace.Repo != "app" || th.Preparation.ContextFiles[0].Path != "a" || th.Policy.MaxTurns != 3 {
		t.Errorf("%+v", got.Target.Thread)
	}
	if strings.Contains(r.log.String(), "canary") {
		t.Error("the environment is in the log")
	}
	r.do("GET", "/api/schedules?status=active&limit=5", "").wants(t, 200, "")
	r.do("GET", "/api/schedules/"+scheduleID, "").wants(t, 200, "")
	r.do("POST", "/api/schedules/preview", `{"cron":"@daily","count":2}`).wants(t, 200, "")
	if p = r.do("GET", "/api/schedules/"+scheduleID+"/ticks?limit=3", ""); len(p.at("ticks").([]any)) != 3 {
		t.Errorf("%s", p.text)
	}
	r.do("PATCH", "/api/schedules/"+scheduleID, `{"cron":"@hourly","endAt":null,"jitter":0}`).wants(t, 200, "")
	if got := r.schedules.patch; *got.Cron != "@hourly" || got.EndAt == nil || *got.EndAt != nil || got.StartAt != nil || *got.Jitter != 0 || got.Target != nil {
		t.Errorf("%+v", got)
	}
	r.do("POST", "/api/schedules/"+scheduleID+"/pause", `{"reason":"holidays"}`).wants(t, 200, "")
	if r.schedules.reason != "holidays" {
		t.Errorf("reason %q", r.schedules.reason)
	}
	r.do("POST", "/api/schedules/"+scheduleID+"/resume", "").wants(t, 200, "")
	if p = r.do("POST", "/api/schedules/"+scheduleID+"/run", ""); p.status != 202 || p.at("threadId") != threadID || p.at("statusUrl") != "/api/managed-threads/"+threadID {
		t.Errorf("%d %s", p.status, p.text)
	}
	if p = r.do("DELETE", "/api/schedules/"+scheduleID, ""); p.status != 204 {
		t.Errorf("%d %s", p.status, p.text)
	}
}

func TestSchedulesRefuse(t *testing.T) {
	r := newRig(t)
	const target = `"target":{"execution":{"pattern":"p"}}`
	for body, field := range map[string]string{
		`{"cron":"@daily",` + target + `}`:                               "name",
		`{"name":"n",` + target + `}`:                                    "cron",
		`{"name":"n","cron":"@daily"}`:                                   "target",
		`{"name":"n","cron":"@daily","target":{"execution":{}}}`:         "target.execution.pattern",
		`{"name":"n","cron":"@daily","target":{"thread":{}}}`:            "target.thread.agentType",
		`{"name":"n","cron":"@daily","overlap":"x",` + target + `}`:      "overlap",
		`{"name":"n","cron":"@daily","createdBy":"root",` + target + `}`: "createdBy",
		`{"name":"n","cron":"@daily","jitter":-1,` + target + `}`:        "jitter",
		`{"name":"n","cron":"@daily","startAt":"soon",` + target + `}`:   "startAt",
		`{"name":"n","cron":"@daily","target":{"thread":{"agentType":"a","preparation":{"workspace":{"workspaceId":"ws_1"}}}}}`: "target.thread.preparation.workspace.workspaceId",
		`{"name":"n","cron":"@daily","target":{"thread":{"agentType":"a","preparation":{"env":{"A=B":"x"}}}}}`:                  "target.thread.preparation.env",
	} {
		p := r.do("POST", "/api/schedules", body)
		p.wants(t, 400, core.CodeValidation)
		if got := p.at("error", "details", "field"); got != field {
			t.Errorf("%s: %v, want %s: %s", body, got, field, p.text)
		}
	}
	for _, path := range []string{"", "/ticks"} {
		r.do("GET", "/api/schedules/sched_none"+path, "").wants(t, 404, core.CodeNotFound)
	}
	r.schedules.err = core.Forbidden("executions.create", "", "no")
	r.do("POST", "/api/schedules", `{"name":"n","cron":"@daily",`+target+`}`).wants(t, 403, core.CodeForbidden)
	r.schedules.err = &core.Error{Code: core.CodeRateLimited, Message: "too many", Details: map[string]any{"limit": 1}}
	r.do("POST", "/api/schedules", `{"name":"n","cron":"@daily",`+target+`}`).wants(t, 429, core.CodeRateLimited)
}

// An operation without fields of its own refuses those that a caller thinks it has, as any other does.
func TestEmptyBodiesAreStrict(t *testing.T) {
	r := newRig(t)
	var empty []string
	for path, item := range document(t, r)["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			body, _ := op.(map[string]any)["requestBody"].(map[string]any)
			if text, err := json.Marshal(body); err != nil || !strings.Contains(string(text), "EmptyRequest") {
				continue
			}
			empty = append(empty, op.(map[string]any)["operationId"].(string))
			r.do(strings.ToUpper(method), filled(path), `{"force":true}`).wants(t, 400, core.CodeValidation)
		}
	}
	for _, operation := range []string{"resumeSchedule", "runSchedule"} {
		if !slices.Contains(empty, operation) {
			t.Errorf("%s is none of %v", operation, empty)
		}
	}
}
