package api_test

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	threadID    = "thread_01JGFJJZ8N4Q1W0000000000AB"
	threadID2   = "thread_01JGFJJZ8N4Q1W0000000000AC"
	workspaceID = "ws_01JGFJJZ8N4Q1W0000000000AB"
)

// fakeThreads is a core.ThreadService made of functions; a nil one answers with a plain success.
type fakeThreads struct {
	prepare func(ctx context.Context, spec core.ThreadSpec) (*core.ThreadPlan, error)
	spawn   func(ctx context.Context, spec core.ThreadSpec) (*core.Thread, error)
	findAll func(core.ThreadFilter) ([]*core.Thread, core.PageInfo, error)
	find    func(id string) (*core.Thread, error)
	send    func(ctx context.Context, id string, in core.ThreadInput) (core.ThreadReceipt, error)
	answer  func(id string, a core.ThreadAnswer) (*core.Thread, error)
	closing func(id string, in core.ThreadClose) (*core.Thread, error)
	stop    func(id string, how core.ThreadStop) error
	goOn    func(id string, in core.ThreadContinue) (*core.Thread, error)
	queue   func(id string, after uint64, limit int) (*core.ThreadQueue, error)
	take    func(id, input string) error
	diff    func(id string, most int) (*core.WorkspaceDiff, error)
	update  func(id string, how core.WorkspaceUpdateMethod) (*core.WorkspaceUpdate, error)
	follow  func(ctx context.Context, executionID string, after uint64, live bool) (core.EventStream, error)
}

// someThread returns a thread with every field that its status has.
func someThread(id string, status core.ThreadStatus) *core.Thread {
	restarts, later := 2, epoch.Add(time.Minute)
	t := &core.Thread{
		ID: id, ExecutionID: execID, Name: "fix-tests", AgentType: "claude", Role: "implementer", Objective: "Fix the \"flaky\" test",
		Status: status, Metadata: map[string]any{"ticket": "W-7"},
		Preparation: core.Preparation{
			Workspace:    &core.WorkspaceSpec{WorkspaceID: workspaceID, Repo: "app", Branch: "main"},
			ContextFiles: []core.ContextFile{{Path: core.ThreadMemoryPath, Content: "# Memory\n"}, {Path: "empty"}},
			Approval:     "standard", Env: map[string]string{"TOKEN": "hunter2"}, EnvNames: []string{"TOKEN"},
		},
		Policy: core.ThreadPolicy{
			IdleTimeoutMs: 600000, SummarizeAfterTurns: 3, MaxRestarts: &restarts,
			Finish:     &core.ThreadFinish{Commit: true, Push: true},
			AutoAnswer: []core.AutoAnswerRule{{Tool: "Read", Answer: "allow"}},
		},
		Summary: "half done", TurnCount: 4, EventCount: 12, QueuedInputs: 1, Restarts: 1, CreatedBy: "mira",
		CreatedAt: epoch, UpdatedAt: epoch, LastActivityAt: epoch,
	}
	if status == core.ThreadPending {
		return t
	}
	t.Runtime, t.ManagedAgentID, t.SessionID, t.StartedAt = "local", magentID, "s-1", &later
	t.Workspace = someWorkspace(workspaceID, core.WorkspaceReady)
	switch status {
	case core.ThreadBlocked:
		t.StatusReason, t.LoginURL = core.ThreadReasonLogin, "https://example.com/login"
		t.Prompt = json.RawMessage(`{"id":"p1","kind":"login","text":"log in","options":[],"url":"https://example.com/login"}`)
	case core.ThreadCompleted, core.ThreadFailed:
		t.EndedAt = &later
		t.Completion = &core.Completion{
			State: core.CompletionPartial, Summary: "two of three", Tests: &core.TestReport{Run: 3, Passed: 2, Failed: 1},
			Artifacts: []core.Artifact{{Type: core.ArtifactCommit, Value: "abc"}, {Type: core.ArtifactURL, Value: "https://x#y"}},
			Changes: &core.WorkspaceChanges{
				Commits: []core.WorkspaceCommit{{Hash: "abc", Subject: "fix", Author: "A", Time: epoch}}, CommitCount: 1,
				Files: []core.WorkspaceFile{{Path: "a.go", Status: "modified", Insertions: 2, Deletions: 1}}, FileCount: 1,
				Insertions: 2, Deletions: 1, Unpushed: 1,
			},
		}
		if status == core.ThreadFailed {
			t.StatusReason = core.ThreadReasonCrashed
			t.Error = &core.ThreadError{Code: core.CodeAgentError, Message: "it ended with code 1"}
			t.Completion = &core.Completion{State: core.CompletionFailed, Changes: &core.WorkspaceChanges{}}
		}
	}
	return t
}

func (f *fakeThreads) PrepareThread(ctx context.Context, spec core.ThreadSpec) (*core.ThreadPlan, error) {
	if f.prepare != nil {
		return f.prepare(ctx, spec)
	}
	p := spec.Preparation
	if p.Workspace != nil {
		w := *p.Workspace
		w.WorkspaceID, w.Path, w.WorkBranch, w.BaseCommit = workspaceID, "/srv/ws/1", "wardroom/x", "abc"
		p.Workspace = &w
	}
	memory := core.ContextFile{Path: core.ThreadMemoryPath, Content: "# Memory\n"}
	p.ContextFiles = append(slices.DeleteFunc(p.ContextFiles, func(f core.ContextFile) bool { return f.Path == memory.Path }), memory)
	for name := range p.Env {
		p.EnvNames = append(p.EnvNames, name)
	}
	metadata := map[string]any{"memoryContext": map[string]any{
		"sharedDecisionCount": 1, "episodicExperienceCount": 2, "repo": "app", "role": spec.Role, "objective": spec.Objective,
	}}
	for key, value := range spec.Metadata {
		metadata[key] = value
	}
	raw, err := json.Marshal(metadata)
	return &core.ThreadPlan{
		ExecutionID: spec.ExecutionID, Name: "fix", AgentType: spec.AgentType, Objective: spec.Objective, Role: spec.Role,
		Preparation: p, Policy: spec.Policy, Metadata: raw,
	}, err
}

func (f *fakeThreads) SpawnThread(ctx context.Context, spec core.ThreadSpec) (*core.Thread, error) {
	if f.spawn != nil {
		return f.spawn(ctx, spec)
	}
	return someThread(threadID, core.ThreadPending), nil
}

func (f *fakeThreads) FindThreads(_ context.Context, filter core.ThreadFilter) ([]*core.Thread, core.PageInfo, error) {
	if f.findAll != nil {
		return f.findAll(filter)
	}
	list := []*core.Thread{someThread(threadID2, core.ThreadPending), someThread(threadID, core.ThreadBlocked)}
	return list, core.PageInfo{Total: 7, HasMore: true, NextCursor: "abc"}, nil
}

func (f *fakeThreads) FindThread(_ context.Context, id string) (*core.Thread, error) {
	if f.find != nil {
		return f.find(id)
	}
	return someThread(id, core.ThreadReady), nil
}

func (f *fakeThreads) SendThread(ctx context.Context, id string, in core.ThreadInput) (core.ThreadReceipt, error) {
	if f.send != nil {
		return f.send(ctx, id, in)
	}
	return core.ThreadReceipt{ThreadID: id, InputID: "in_1", Queued: 1}, nil
}

func (f *fakeThreads) AwaitThreadInput(_ context.Context, id, inputID string, _ time.Duration) (core.ThreadReceipt, error) {
	return core.ThreadReceipt{ThreadID: id, InputID: inputID, Sent: true, Response: &wire.TurnResponse{Text: "awaited", Turn: 1}}, nil
}

func (f *fakeThreads) AnswerThread(_ context.Context, id string, a core.ThreadAnswer) (*core.Thread, error) {
	if f.answer != nil {
		return f.answer(id, a)
	}
	return someThread(id, core.ThreadRunning), nil
}

func (f *fakeThreads) CloseThread(_ context.Context, id string, in core.ThreadClose) (*core.Thread, error) {
	if f.closing != nil {
		return f.closing(id, in)
	}
	return someThread(id, core.ThreadCompleted), nil
}

func (f *fakeThreads) StopThread(_ context.Context, id string, how core.ThreadStop) error {
	if f.stop != nil {
		return f.stop(id, how)
	}
	return nil
}

func (f *fakeThreads) FollowThreads(ctx context.Context, executionID string, after uint64, live bool) (core.EventStream, error) {
	if f.follow != nil {
		return f.follow(ctx, executionID, after, live)
	}
	j := newJournal()
	j.over = true
	return j, nil
}

func (f *fakeThreads) CancelAdHoc(context.Context, string, string) (*core.Execution, error) {
	return nil, core.NotFound("execution", "")
}

func (f *fakeThreads) ContinueThread(_ context.Context, id string, in core.ThreadContinue) (*core.Thread, error) {
	if f.goOn != nil {
		return f.goOn(id, in)
	}
	return someThread(threadID2, core.ThreadPending), nil
}

func (f *fakeThreads) QueuedThreadInputs(_ context.Context, id string, after uint64, limit int) (*core.ThreadQueue, error) {
	if f.queue != nil {
		return f.queue(id, after, limit)
	}
	return &core.ThreadQueue{ThreadID: id}, nil
}

func (f *fakeThreads) WithdrawThreadInput(_ context.Context, id, input string) error {
	if f.take != nil {
		return f.take(id, input)
	}
	return nil
}

func (f *fakeThreads) DiffThread(_ context.Context, id string, most int) (*core.WorkspaceDiff, error) {
	if f.diff != nil {
		return f.diff(id, most)
	}
	return &core.WorkspaceDiff{WorkspaceID: workspaceID}, nil
}

func (f *fakeThreads) UpdateThread(_ context.Context, id string, how core.WorkspaceUpdateMethod) (*core.WorkspaceUpdate, error) {
	if f.update != nil {
		return f.update(id, how)
	}
	return &core.WorkspaceUpdate{WorkspaceID: workspaceID, Branch: "main"}, nil
}
