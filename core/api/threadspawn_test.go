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

const (
	threadsPath = "/api/managed-threads"
	onePath     = threadsPath + "/" + threadID
)

// wholeSpawn has every field of a spawn.
const wholeSpawn = `{"executionId":"new","name":"fix","agentType":"claude","role":"implementer","objective":"Fix it",
	"preparation":{"workspace":{"workspaceId":"ws_1","path":"/ignored","repo":"app","branch":"main","workBranch":"w","baseCommit":"abc",
			"depth":1,"filter":"blob:none","submodules":true},
		"contextFiles":[{"path":"a.md","content":"A"},{"path":".wardroom/thread-memory.md","content":"old"},{"path":"b.md"}],
		"approvalPreset":"permissive","env":{"TOKEN":"secretvalue"},"envNames":["TOKEN"]},
	"policy":{"idleTimeoutMs":1000,"summarizeAfterTurns":3,"completeAfterTurns":4,"timeoutMs":5000,"maxRestarts":0,
		"finish":{"commit":true,"message":"m","push":true,"branch":"b"},
		"autoAnswer":[{"preset":"standard","kind":"approval","tool":"Bash","match":"^git","answer":"allow"},{"answer":"deny"}]},
	"metadata":{"ticket":7,"memoryContext":{"sharedDecisionCount":1}},"runtime":"local","agentId":"agent_1"}`

func wantSpec() core.ThreadSpec {
	restarts := 0
	return core.ThreadSpec{
		ExecutionID: core.NewExecution, Name: "fix", AgentType: "claude", Role: "implementer", Objective: "Fix it",
		Preparation: core.Preparation{
			Workspace: &core.WorkspaceSpec{WorkspaceID: "ws_1", Repo: "app", Branch: "main", WorkBranch: "w", Depth: 1,
				Filter: "blob:none", Submodules: true},
			ContextFiles: []core.ContextFile{{Path: "a.md", Content: "A"}, {Path: core.ThreadMemoryPath, Content: "old"}, {Path: "b.md"}},
			Approval:     "permissive", Env: map[string]string{"TOKEN": "secretvalue"},
		},
		Policy: core.ThreadPolicy{
			IdleTimeoutMs: 1000, SummarizeAfterTurns: 3, CompleteAfterTurns: 4, TimeoutMs: 5000, MaxRestarts: &restarts,
			Finish: &core.ThreadFinish{Commit: true, Message: "m", Push: true, Branch: "b"},
			AutoAnswer: []core.AutoAnswerRule{
				{Preset: "standard", Kind: "approval", Tool: "Bash", Match: "^git", Answer: "allow"}, {Answer: "deny"},
			},
		},
		Metadata: map[string]any{"ticket": json.Number("7")}, Runtime: "local", AgentID: "agent_1",
	}
}

func TestSpawnThread(t *testing.T) {
	r := newRig(t)
	var got core.ThreadSpec
	var by core.Principal
	r.threads.spawn = func(ctx context.Context, spec core.ThreadSpec) (*core.Thread, error) {
		got, by = spec, core.PrincipalFrom(ctx)
		return someThread(threadID, core.ThreadPending), nil
	}
	p := r.do("POST", threadsPath, wholeSpawn)
	p.wants(t, 201, "")
	if p.header.Get("Location") != onePath || p.at("id") != threadID || p.at("status") != "pending" {
		t.Errorf("%v %s", p.header, p.text)
	}
	if !reflect.DeepEqual(got, wantSpec()) {
		t.Errorf("spec %+v\nwant %+v", got, wantSpec())
	}
	if by.ID != core.Anonymous.ID {
		t.Errorf("spawned by %+v", by)
	}
	r.do("POST", threadsPath, `{"executionId":"`+execID+`","agentType":"codex"}`).wants(t, 201, "")
	if want := (core.ThreadSpec{ExecutionID: execID, AgentType: "codex"}); !reflect.DeepEqual(got, want) {
		t.Errorf("spec %+v, want %+v", got, want)
	}
	for code, status := range map[core.Code]int{
		core.CodeNotFound: 404, core.CodeConflict: 409, core.CodeRateLimited: 429, core.CodeForbidden: 403,
	} {
		r.threads.spawn = func(context.Context, core.ThreadSpec) (*core.Thread, error) {
			return nil, core.Errorf(code, "no")
		}
		r.do("POST", threadsPath, wholeSpawn).wants(t, status, code)
	}
	if strings.Contains(r.log.String(), "secretvalue") {
		t.Error("a value of env was logged")
	}
}

// Every fault is a 400 that names its field, and nothing is spawned or prepared.
func TestSpawnThreadBad(t *testing.T) {
	r := newRig(t)
	r.threads.spawn = func(context.Context, core.ThreadSpec) (*core.Thread, error) {
		t.Error("spawned")
		return someThread(threadID, core.ThreadPending), nil
	}
	r.threads.prepare = func(context.Context, core.ThreadSpec) (*core.ThreadPlan, error) {
		t.Error("prepared")
		return nil, core.NotFound("x", "y")
	}
	const head = `{"executionId":"new","agentType":"claude",`
	for _, c := range []struct{ name, body, field string }{
		{"Empty", ``, "body"},
		{"NoObject", `[]`, "body"},
		{"NoJSON", `{`, "body"},
		{"NoExecution", `{"agentType":"claude"}`, "executionId"},
		{"EmptyExecution", `{"executionId":"","agentType":"claude"}`, "executionId"},
		{"Unknown", head + `"objektive":"x"}`, "objektive"},
		{"UnknownInPreparation", head + `"preparation":{"workspaces":{}}}`, "preparation.workspaces"},
		{"UnknownInWorkspace", head + `"preparation":{"workspace":{"ref":"x"}}}`, "preparation.workspace.ref"},
		{"UnknownInFile", head + `"preparation":{"contextFiles":[{"path":"a"},{"path":"b","mode":1}]}}`, "preparation.contextFiles[1].mode"},
		{"UnknownInPolicy", head + `"policy":{"idle":1}}`, "policy.idle"},
		{"UnknownInRule", head + `"policy":{"autoAnswer":[{"answer":"allow","x":1}]}}`, "policy.autoAnswer[0].x"},
		{"RuleWithoutAnswer", head + `"policy":{"autoAnswer":[{"tool":"x"}]}}`, "policy.autoAnswer[0].answer"},
		{"RulesNoList", head + `"policy":{"autoAnswer":{"answer":"allow"}}}`, "policy.autoAnswer"},
		{"RuleNoObject", head + `"policy":{"autoAnswer":["allow"]}}`, "policy.autoAnswer[0]"},
		{"FilesNoList", head + `"preparation":{"contextFiles":"a"}}`, "preparation.contextFiles"},
		{"FileWithoutPath", head + `"preparation":{"contextFiles":[{"content":"a"}]}}`, "preparation.contextFiles[0].path"},
		{"FileContent", head + `"preparation":{"contextFiles":[{"path":"a","content":1}]}}`, "preparation.contextFiles[0].content"},
		{"NameNumber", head + `"name":1}`, "name"},
		{"ObjectiveList", head + `"objective":["x"]}`, "objective"},
		{"Idle", head + `"policy":{"idleTimeoutMs":"1"}}`, "policy.idleTimeoutMs"},
		{"IdleNegative", head + `"policy":{"idleTimeoutMs":-1}}`, "policy.idleTimeoutMs"},
		{"IdleFraction", head + `"policy":{"idleTimeoutMs":1.5}}`, "policy.idleTimeoutMs"},
		{"Turns", head + `"policy":{"summarizeAfterTurns":true}}`, "policy.summarizeAfterTurns"},
		{"Restarts", head + `"policy":{"maxRestarts":-1}}`, "policy.maxRestarts"},
		{"RestartsText", head + `"policy":{"maxRestarts":"2"}}`, "policy.maxRestarts"},
		{"FinishText", head + `"policy":{"finish":true}}`, "policy.finish"},
		{"Preset", head + `"preparation":{"approvalPreset":"yolo"}}`, "preparation.approvalPreset"},
		{"Depth", head + `"preparation":{"workspace":{"depth":-1}}}`, "preparation.workspace.depth"},
		{"WorkspaceText", head + `"preparation":{"workspace":"app"}}`, "preparation.workspace"},
		{"EnvNumber", head + `"preparation":{"env":{"A":12345}}}`, "preparation.env.A"},
		{"EnvName", head + `"preparation":{"env":{"A=B":"secretvalue"}}}`, "preparation.env"},
		{"EnvNul", head + `"preparation":{"env":{"A":"secretvalue\u0000"}}}`, "preparation.env.A"},
		{"Metadata", head + `"metadata":[1]}`, "metadata"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range []string{threadsPath, threadsPath + "/prepare"} {
				p := r.do("POST", path, c.body)
				p.wants(t, 400, core.CodeValidation)
				if got := p.at("error", "details", "field"); got != c.field {
					t.Errorf("%s: field %v, want %s: %s", path, got, c.field, p.text)
				}
				if strings.Contains(p.text, "secretvalue") || strings.Contains(p.text, "12345") {
					t.Errorf("%s: a value of env is in the error: %s", path, p.text)
				}
			}
		})
	}
	for _, c := range []struct{ body, field string }{
		{`{"executionId":"new"}`, "agentType"}, {head + `"provision":true}`, "provision"},
	} {
		p := r.do("POST", threadsPath, c.body)
		p.wants(t, 400, core.CodeValidation)
		if got := p.at("error", "details", "field"); got != c.field {
			t.Errorf("field %v, want %s", got, c.field)
		}
	}
	p := r.do("POST", threadsPath, head+`"a":1,"policy":{"b":1},"preparation":{"approvalPreset":"x"}}`)
	if problems, _ := p.at("error", "details", "errors").([]any); len(problems) != 3 {
		t.Errorf("not all problems at once: %s", p.text)
	}
}

// What prepare answers can be sent to spawn as it is.
func TestPrepareThread(t *testing.T) {
	r := newRig(t)
	p := r.do("POST", threadsPath+"/prepare", wholeSpawn)
	p.wants(t, 200, "")
	if p.at("preparation", "workspace", "path") != "/srv/ws/1" || p.at("preparation", "workspace", "workspaceId") != workspaceID ||
		p.at("metadata", "memoryContext", "episodicExperienceCount") != 2.0 || p.at("metadata", "ticket") != 7.0 {
		t.Error(p.text)
	}
	files, _ := p.at("preparation", "contextFiles").([]any)
	if len(files) != 3 || files[2].(map[string]any)["path"] != core.ThreadMemoryPath || files[0].(map[string]any)["content"] != "A" {
		t.Errorf("files %v", files)
	}
	if strings.Contains(p.text, "secretvalue") {
		t.Error("a value of env is in the plan")
	}
	var got core.ThreadSpec
	r.threads.spawn = func(_ context.Context, spec core.ThreadSpec) (*core.Thread, error) {
		got = spec
		return someThread(threadID, core.ThreadPending), nil
	}
	r.do("POST", threadsPath, p.text).wants(t, 201, "")
	want := wantSpec()
	want.Preparation.Workspace.WorkspaceID, want.Preparation.Workspace.WorkBranch = workspaceID, "wardroom/x"
	want.Preparation.Env, want.Runtime, want.AgentID = nil, "", ""
	want.Preparation.ContextFiles = []core.ContextFile{{Path: "a.md", Content: "A"}, {Path: "b.md"}, {Path: core.ThreadMemoryPath, Content: "# Memory\n"}}
	if !reflect.DeepEqual(got, want) {
		text, _ := json.Marshal(got)
		t.Errorf("spec %s", text)
	}

	var asked core.ThreadSpec
	r.threads.prepare = func(_ context.Context, spec core.ThreadSpec) (*core.ThreadPlan, error) {
		asked = spec
		plan := &core.ThreadPlan{}
		plan.Preparation.Workspace = &core.WorkspaceSpec{WorkspaceID: "ws_1", Path: "/p"}
		return plan, nil
	}
	p = r.do("POST", threadsPath+"/prepare", `{"executionId":"new","provision":true}`)
	p.wants(t, 200, "")
	if !strings.Contains(p.text, `"workspace":{"workspaceId":"ws_1","path":"/p","repo":"","branch":""}`) {
		t.Errorf("workspace of an empty directory: %s", p.text)
	}
	if !asked.Provision || !strings.Contains(p.text, `"contextFiles":[]`) || !strings.Contains(p.text, `"metadata":{}`) {
		t.Errorf("%+v %s", asked, p.text)
	}
}

// Whoever may only read may prepare, but takes no place on the disk.
func TestPrepareThreadScopes(t *testing.T) {
	var scopes []string
	r := newRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			scopes = append(scopes, a.Action+" "+a.Scope)
			if a.Scope != "executions:read" && a.Resource == "threads" {
				return core.Errorf(core.CodeForbidden, "no")
			}
			return nil
		}
	})
	scopes = nil
	r.do("POST", threadsPath+"/prepare", `{"executionId":"new"}`).wants(t, 200, "")
	r.do("POST", threadsPath+"/prepare", `{"executionId":"new","provision":true}`).wants(t, 403, core.CodeForbidden)
	if got := strings.Join(scopes, ", "); got != "threads.prepare executions:read, threads.prepare executions:read, threads.provision executions:create" {
		t.Errorf("asked for %s", got)
	}
	// Nor does it have the server reach out to an address of its choice; what the configuration names is another matter.
	for repo, want := range map[string]int{
		"app": 200, "https://127.0.0.1:1/x": 403, "file:///srv/app": 403, "git@host:app": 403, "ssh://host/app": 403,
	} {
		if p := r.do("POST", threadsPath+"/prepare", `{"executionId":"new","preparation":{"workspace":{"repo":"`+repo+`"}}}`); p.status != want {
			t.Errorf("%s: %d %s, want %d", repo, p.status, p.text, want)
		}
	}
}

// A key spawns one thread; the answer of a request that died is rendered from the thread.
func TestSpawnThreadOnce(t *testing.T) {
	r := newRig(t)
	spawned := 0
	r.threads.spawn = func(ctx context.Context, _ core.ThreadSpec) (*core.Thread, error) {
		spawned++
		r.keys.claim(ctx, threadID)
		if spawned == 1 {
			return nil, core.Unavailable("store", "it broke after the claim")
		}
		return someThread(threadID, core.ThreadPending), nil
	}
	r.do("POST", threadsPath, wholeSpawn, "Idempotency-Key: a").wants(t, 503, core.CodeInternal)
	again := r.do("POST", threadsPath, wholeSpawn, "Idempotency-Key: a")
	again.wants(t, 201, "")
	if again.header.Get("Idempotent-Replayed") != "true" || again.header.Get("Location") != onePath || spawned != 1 {
		t.Errorf("%d spawned, %s", spawned, again.text)
	}
	r.do("POST", threadsPath, `{"executionId":"new","agentType":"codex"}`, "Idempotency-Key: a").wants(t, 409, core.CodeConflict)
	r.threads.spawn = func(ctx context.Context, _ core.ThreadSpec) (*core.Thread, error) {
		r.keys.claim(ctx, "thread_gone")
		return nil, core.Unavailable("store", "it broke")
	}
	r.threads.find = func(id string) (*core.Thread, error) { return nil, core.NotFound("thread", id) }
	r.do("POST", threadsPath, wholeSpawn, "Idempotency-Key: b").wants(t, 503, core.CodeInternal)
	if p := r.do("POST", threadsPath, wholeSpawn, "Idempotency-Key: b"); p.status != 409 || !strings.Contains(p.text, "use a new key") {
		t.Error(p.text)
	}
}
