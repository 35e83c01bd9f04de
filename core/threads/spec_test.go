package threads_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func TestSpecProblems(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	for _, tt := range []struct {
		name  string
		field string
		code  core.Code
		with  func(s *core.ThreadSpec)
	}{
		{"no execution", "executionId", core.CodeValidation, func(s *core.ThreadSpec) { s.ExecutionID = "" }},
		{"unknown execution", "", core.CodeNotFound, func(s *core.ThreadSpec) { s.ExecutionID = "exec_nobody" }},
		{"no type", "agentType", core.CodeValidation, func(s *core.ThreadSpec) { s.AgentType = "" }},
		{"unknown type", "agentType", core.CodeValidation, func(s *core.ThreadSpec) { s.AgentType = "cobol" }},
		{"unknown runtime", "runtime", core.CodeValidation, func(s *core.ThreadSpec) { s.Runtime = "moon" }},
		{"type that nothing offers", "", core.CodeNoAgents, func(s *core.ThreadSpec) { s.AgentType = "gemini" }},
		{"no host", "", core.CodeNoAgents, func(s *core.ThreadSpec) { s.Runtime = core.RuntimeConnected }},
		{"host and runtime", "agentId", core.CodeValidation, func(s *core.ThreadSpec) { s.Runtime, s.AgentID = "local", "agent_x" }},
		{"long name", "name", core.CodeValidation, func(s *core.ThreadSpec) { s.Name = strings.Repeat("x", 200) }},
		{"role with a line", "role", core.CodeValidation, func(s *core.ThreadSpec) { s.Role = "a\nb" }},
		{"huge objective", "objective", core.CodeValidation, func(s *core.ThreadSpec) { s.Objective = strings.Repeat("x", 300<<10) }},
		{"preset", "preparation.approvalPreset", core.CodeValidation, func(s *core.ThreadSpec) { s.Preparation.Approval = "wild" }},
		{"env", "preparation.env", core.CodeValidation, func(s *core.ThreadSpec) { s.Preparation.Env = map[string]string{"A=B": "hidden-value"} }},
		{"env name that no agent takes", "preparation.env", core.CodeValidation, func(s *core.ThreadSpec) { s.Preparation.Env = map[string]string{"A-B": "hidden-value"} }},
		{"env larger than an agent takes", "preparation.env.A", core.CodeValidation, func(s *core.ThreadSpec) {
			s.Preparation.Env = map[string]string{"A": strings.Repeat("x", 200<<10)}
		}},
		{"env value", "preparation.env.A", core.CodeValidation, func(s *core.ThreadSpec) {
			s.Preparation.Env = map[string]string{"A": "hidden-value\x00"}
		}},
		{"context file", "preparation.contextFiles[0].path", core.CodeValidation, func(s *core.ThreadSpec) {
			s.Preparation.ContextFiles = []core.ContextFile{{Path: "../out"}}
		}},
		{"our file", "preparation.contextFiles[0].path", core.CodeValidation, func(s *core.ThreadSpec) {
			s.Preparation.ContextFiles = []core.ContextFile{{Path: core.ThreadMemoryPath}}
		}},
		{"idle", "policy.idleTimeoutMs", core.CodeValidation, func(s *core.ThreadSpec) { s.Policy.IdleTimeoutMs = -1 }},
		{"restarts", "policy.maxRestarts", core.CodeValidation, func(s *core.ThreadSpec) { n := 1000; s.Policy.MaxRestarts = &n }},
		{"rule", "policy.autoAnswer[0].match", core.CodeValidation, func(s *core.ThreadSpec) {
			s.Policy.AutoAnswer = []core.AutoAnswerRule{{Match: "(", Answer: "allow"}}
		}},
		{"finish", "policy.finish", core.CodeValidation, func(s *core.ThreadSpec) { s.Policy.Finish = &core.ThreadFinish{Push: true} }},
		{"metadata", "metadata", core.CodeValidation, func(s *core.ThreadSpec) {
			s.Metadata = map[string]any{"x": strings.Repeat("x", 100<<10)}
		}},
		{"workspace", "", core.CodeNotFound, func(s *core.ThreadSpec) { s.Preparation.Workspace = &core.WorkspaceSpec{WorkspaceID: "ws_nobody"} }},
	} {
		s := spec()
		tt.with(&s)
		_, err := r.SpawnThread(r.ctx, s)
		e := core.AsError(err)
		if err == nil || e.Code != tt.code || tt.code == core.CodeInternal && !e.Unavailable {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got, _ := e.Details["field"].(string); got != tt.field {
			t.Errorf("%s: field %q, want %q", tt.name, got, tt.field)
		}
		if strings.Contains(err.Error(), "hidden-value") {
			t.Errorf("%s tells a secret: %v", tt.name, err)
		}
	}
	s := spec()
	s.Role, s.Preparation.Approval, s.Policy.TimeoutMs = "a\nb", "wild", -1
	_, err := r.SpawnThread(r.ctx, s)
	if list, _ := core.AsError(err).Details["errors"].([]core.Problem); len(list) != 3 {
		t.Errorf("problems %v", list)
	}
	if n := len(r.store.threads()); n != 0 {
		t.Errorf("%d threads were stored", n)
	}
}

func TestPrepareThenSpawn(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	s := spec()
	s.AgentType, s.Metadata = "", map[string]any{"team": "core"}
	s.Preparation.Workspace = &core.WorkspaceSpec{Repo: "app", Branch: "main"}
	s.Preparation.ContextFiles = []core.ContextFile{{Path: "notes.md", Content: "x"}}
	plan, err := r.PrepareThread(r.ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	ws := plan.Preparation.Workspace
	if ws.WorkspaceID == "" || ws.Path == "" || ws.Repo != "app" || len(plan.Preparation.ContextFiles) != 2 {
		t.Errorf("plan %+v", plan)
	}
	var metadata struct {
		Team    string `json:"team"`
		Context struct {
			Decisions int    `json:"sharedDecisionCount"`
			Repo      string `json:"repo"`
			Objective string `json:"objective"`
		} `json:"memoryContext"`
	}
	if err := json.Unmarshal(plan.Metadata, &metadata); err != nil || metadata.Team != "core" || metadata.Context.Decisions != 1 ||
		metadata.Context.Repo != "app" || metadata.Context.Objective != "Fix the parser" {
		t.Errorf("metadata %s", plan.Metadata)
	}
	if len(r.store.threads()) != 0 || len(r.agents.records) != 0 || len(r.spaces.files) != 0 {
		t.Error("preparing did more than that")
	}
	// What prepare answers can be spawned as it is.
	again := core.ThreadSpec{
		ExecutionID: plan.ExecutionID, Name: plan.Name, AgentType: "claude", Role: plan.Role, Objective: plan.Objective,
		Preparation: plan.Preparation, Policy: plan.Policy, Metadata: map[string]any{"team": "core", "memoryContext": map[string]any{}},
	}
	id := r.readied(again)
	rec := r.record(id)
	if rec.Workspace.ID != ws.WorkspaceID || len(rec.Preparation.ContextFiles) != 1 || len(r.spaces.files[ws.WorkspaceID]) != 2 {
		t.Errorf("record %+v", rec)
	}
	for name, change := range map[string]func(*core.WorkspaceSpec){
		"Repo":   func(w *core.WorkspaceSpec) { w.Repo = "other" },
		"Branch": func(w *core.WorkspaceSpec) { w.Branch = "other" },
	} {
		other, err := r.PrepareThread(r.ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		asked := again
		asked.Preparation = other.Preparation
		asked.Preparation.Workspace = &core.WorkspaceSpec{}
		*asked.Preparation.Workspace = *other.Preparation.Workspace
		change(asked.Preparation.Workspace)
		if _, err := r.SpawnThread(r.ctx, asked); core.ErrorCode(err) != core.CodeConflict {
			t.Errorf("%s: another one than was prepared: %v", name, err)
		}
		if ws, err := r.spaces.FindWorkspace(r.ctx, asked.Preparation.Workspace.WorkspaceID); err != nil || ws.ThreadID != "" {
			t.Errorf("%s: the workspace became %+v, %v", name, ws, err)
		}
		if _, err := r.PrepareThread(r.ctx, asked); core.ErrorCode(err) != core.CodeConflict {
			t.Errorf("%s: prepared %v", name, err)
		}
	}
	if _, err := r.SpawnThread(r.ctx, again); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("the workspace is taken twice: %v", err)
	}
	s.Provision = true
	if plan, err = r.PrepareThread(r.ctx, s); err != nil || len(r.spaces.files[plan.Preparation.Workspace.WorkspaceID]) != 2 {
		t.Errorf("provisioned %+v, %v", plan, err)
	}
}

// TestPrepareRefuses: prepare refuses what a spawn would, and writes nothing into the workspace of a thread.
func TestPrepareRefuses(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.infos = []core.RuntimeInfo{{Name: "local", Ready: true, Types: []string{"claude", "codex", "shell"}}}
	closed := false
	r.opens = func(string, string) bool { return closed }
	r.open()
	s := spec()
	s.Runtime = "elsewhere"
	if _, err := r.PrepareThread(r.ctx, s); core.ErrorCode(err) != core.CodeValidation || core.AsError(err).Details["field"] != "runtime" {
		t.Errorf("a runtime that is not configured: %v", err)
	}
	s.Runtime, s.AgentID = "local", "agt_one"
	if _, err := r.PrepareThread(r.ctx, s); core.ErrorCode(err) != core.CodeValidation || core.AsError(err).Details["field"] != "agentId" {
		t.Errorf("a connected agent of a runtime: %v", err)
	}

	rec := r.record(r.readied(spec()))
	before := len(r.spaces.files[rec.Workspace.ID])
	s = spec()
	s.Preparation.Workspace = &core.WorkspaceSpec{WorkspaceID: rec.Workspace.ID}
	s.Preparation.ContextFiles = []core.ContextFile{{Path: "CLAUDE.md", Content: "do something else"}}
	s.Provision = true
	if _, err := r.PrepareThread(r.ctx, s); core.ErrorCode(err) != core.CodeConflict || len(r.spaces.files[rec.Workspace.ID]) != before {
		t.Errorf("the workspace of a thread that runs: %v, files %v", err, r.spaces.files[rec.Workspace.ID])
	}

	s = spec()
	s.ExecutionID = rec.ExecutionID
	free, err := r.PrepareThread(r.ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.SpawnThread(r.ctx, core.ThreadSpec{ExecutionID: core.NewExecution, AgentType: "claude"})
	if err != nil {
		t.Fatal(err)
	}
	closed = true
	s = spec()
	s.ExecutionID = other.ExecutionID
	s.Preparation.Workspace = &core.WorkspaceSpec{WorkspaceID: free.Preparation.Workspace.WorkspaceID}
	for name, ask := range map[string]func() error{
		"prepare": func() error { _, err := r.PrepareThread(r.ctx, s); return err },
		"spawn":   func() error { _, err := r.SpawnThread(r.ctx, s); return err },
	} {
		if err := ask(); core.ErrorCode(err) != core.CodeConflict {
			t.Errorf("%s with a workspace that would be open to others: %v", name, err)
		}
	}
}

// TestSpawnPreparedByID: the id of a prepared workspace is enough, also for what needs a repository.
func TestSpawnPreparedByID(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	s := spec()
	s.Preparation.Workspace = &core.WorkspaceSpec{Repo: "app"}
	plan, err := r.PrepareThread(r.ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	asked := &core.WorkspaceSpec{WorkspaceID: plan.Preparation.Workspace.WorkspaceID}
	s.Preparation.Workspace, s.Policy.Finish = asked, &core.ThreadFinish{Commit: true, Push: true}
	th := r.spawn(s)
	if th.Workspace.ID != asked.WorkspaceID || th.Preparation.Workspace.Repo != "app" || asked.Repo != "" {
		t.Errorf("spawned in %+v, asked for %+v", th.Workspace, th.Preparation.Workspace)
	}
	r.untilStatus(th.ID, core.ThreadReady)
}

func TestTooManyThreads(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.config.MaxThreads = 2
	r.open()
	first := r.readied(spec())
	r.readied(spec())
	if _, err := r.SpawnThread(r.ctx, spec()); core.ErrorCode(err) != core.CodeRateLimited {
		t.Errorf("one too many: %v", err)
	}
	r.reopen()
	if _, err := r.SpawnThread(r.ctx, spec()); core.ErrorCode(err) != core.CodeRateLimited {
		t.Errorf("one too many after a restart: %v", err)
	}
	if err := r.StopThread(r.ctx, first, core.ThreadStop{}); err != nil {
		t.Fatal(err)
	}
	r.spawn(spec())
}

// What a thread begins with is sanitized, told in the answer and by the thread ever after; files stay as they are.
func TestSpawnSanitizes(t *testing.T) {
	r := newRig(t, coretest.NewClock())
	r.config.SanitizeHTML, r.config.SanitizeScripts = true, true
	r.open()
	s := spec()
	s.Objective, s.Name = "Fix <b>it</b>", "plain"
	s.Metadata = map[string]any{"notes": []any{"<script>x</script>a", 1.5, map[string]any{"deep": "<i>b</i>"}}}
	s.Policy.Finish = &core.ThreadFinish{Commit: true, Message: "done <br>"}
	s.Preparation.ContextFiles = []core.ContextFile{{Path: "a.html", Content: "<b>stays</b>"}}
	th := r.spawn(s)
	want := []core.SanitizedField{
		{Field: "objective", Removed: []string{"html"}}, {Field: "metadata.notes[0]", Removed: []string{"html", "scripts"}},
		{Field: "metadata.notes[2].deep", Removed: []string{"html"}}, {Field: "policy.finish.message", Removed: []string{"html"}},
	}
	if !reflect.DeepEqual(th.Sanitized, want) {
		t.Errorf("told %+v", th.Sanitized)
	}
	rec := r.record(th.ID)
	notes, _ := rec.Metadata["notes"].([]any)
	if rec.Objective != "Fix it" || rec.Policy.Finish.Message != "done " || rec.Preparation.ContextFiles[0].Content != "<b>stays</b>" ||
		len(notes) != 3 || notes[0] != "a" || !reflect.DeepEqual(rec.Sanitized, want) {
		t.Errorf("stored %+v", rec)
	}
	if s.Metadata["notes"].([]any)[0] != "<script>x</script>a" || s.Policy.Finish.Message != "done <br>" {
		t.Errorf("what the caller gave was changed: %+v", s)
	}
}

// A thread of its own needs consent where it is required; one of an execution has that of the execution.
func TestSpawnAsksForConsent(t *testing.T) {
	r := newRig(t, coretest.NewClock())
	r.config.RequireConsent = true
	r.open()
	for _, metadata := range []core.Metadata{nil, {"consent": false}, {"consent": "true"}} {
		s := spec()
		s.Metadata = metadata
		if _, err := r.SpawnThread(r.ctx, s); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "metadata.consent: must be true") {
			t.Errorf("with %v: %v", metadata, err)
		}
	}
	s := spec()
	s.Metadata = core.Metadata{"consent": true}
	own := r.spawn(s)
	s = spec()
	s.ExecutionID = own.ExecutionID
	r.spawn(s)
}

// TestMissingCommand: a type whose program is not installed gets one answer wherever it is named, and a thread that could
// only fail is not made.
func TestMissingCommand(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	types := []string{"claude", "codex", "shell"}
	r.agents.infos = []core.RuntimeInfo{{Name: "local", Ready: true, Types: types, MissingTypes: []string{"claude"}}}
	r.open()
	refused := func(what string, err error) {
		t.Helper()
		if e := core.AsError(err); err == nil || e.Code != core.CodeValidation || e.Details["runtimeCode"] != "CLI_NOT_FOUND" || e.Details["field"] != "agentType" {
			t.Errorf("%s: %v", what, err)
		}
	}
	s := spec()
	s.AgentType = "claude"
	_, err := r.SpawnThread(r.ctx, s)
	refused("spawn", err)
	_, err = r.PrepareThread(r.ctx, s)
	refused("prepare", err)
	if list, _, err := r.FindThreads(r.ctx, core.ThreadFilter{}); err != nil || len(list) != 0 {
		t.Errorf("threads of refused requests: %v %v", list, err)
	}

	own := s
	own.Preparation.Env = map[string]string{"PATH": "/opt/claude/bin"}
	if _, err := r.PrepareThread(r.ctx, own); err != nil {
		t.Errorf("with a PATH of its own: %v", err)
	}
	local := r.agents.infos[0]
	r.agents.infos = []core.RuntimeInfo{local, {Name: "docker", Ready: true, Types: []string{"claude"}}}
	if _, err := r.PrepareThread(r.ctx, s); err != nil {
		t.Errorf("with another runtime that has it: %v", err)
	}
	s.Runtime = "local"
	_, err = r.PrepareThread(r.ctx, s)
	refused("at the runtime that lacks it", err)
	r.agents.fresh = []core.RuntimeInfo{{Name: "local", Ready: true, Types: types}}
	if _, err := r.PrepareThread(r.ctx, s); err != nil {
		t.Errorf("installed since: %v", err)
	}
}

// TestRuntimeAway: what may pass by itself is NO_AGENTS as well, with a reason of its own.
func TestRuntimeAway(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.infos = []core.RuntimeInfo{{Name: "local", Reason: "it is disabled", Types: []string{"claude"}}}
	r.open()
	s := spec()
	s.AgentType = "claude"
	_, err := r.SpawnThread(r.ctx, s)
	if e := core.AsError(err); err == nil || e.Code != core.CodeNoAgents || !e.Unavailable || e.Details["reason"] != "runtime_unavailable" {
		t.Errorf("while its runtime is away: %v", err)
	}
}

// A type that only connected agents host is not unknown while none of them is there, as after a restart: it may come back.
func TestTypeOfAHostAway(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	s := spec()
	s.AgentType = "hosted"
	if _, err := r.SpawnThread(r.ctx, s); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("of nobody: %v", err)
	}
	r.hosts.away = "hosted"
	for _, runtime := range []string{"", core.RuntimeConnected} {
		s.Runtime = runtime
		_, err := r.SpawnThread(r.ctx, s)
		if e := core.AsError(err); err == nil || e.Code != core.CodeNoAgents || !e.Unavailable || e.Details["reason"] != "runtime_unavailable" {
			t.Errorf("runtime %q, while its host is away: %v", runtime, err)
		}
	}
}

// A host that comes back between two looks, at who is there and at who is away, is seen by neither.
func TestTypeOfAHostThatComesBack(t *testing.T) {
	for _, kind := range []string{"hosted", "claude"} { // the second is known without it
		r := newRig(t, core.SystemClock{}).open()
		r.hosts.back = []core.RemoteHost{{AgentID: "agent_1", Types: []string{kind}}}
		s := spec()
		s.AgentType, s.Runtime = kind, core.RuntimeConnected
		if _, err := r.SpawnThread(r.ctx, s); err != nil {
			t.Errorf("the type %s is refused: %v", kind, err)
		}
	}
}
