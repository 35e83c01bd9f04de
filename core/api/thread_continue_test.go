package api_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestContinueThread(t *testing.T) {
	r := newRig(t)
	var got core.ThreadContinue
	r.threads.goOn = func(id string, in core.ThreadContinue) (*core.Thread, error) {
		got = in
		next := someThread(threadID2, core.ThreadPending)
		next.Continues = id
		return next, nil
	}
	p := r.do("POST", onePath+"/continue", `{"message":"go on","env":{"TOKEN":"hunter2"},"discardQueued":true}`)
	p.wants(t, 201, "")
	if p.at("continues") != threadID || got.Message != "go on" || got.Env["TOKEN"] != "hunter2" || !got.DiscardQueued || strings.Contains(p.text, "hunter2") {
		t.Errorf("%+v: %s", got, p.text)
	}
	if strings.Contains(p.text, "response") {
		t.Errorf("the request did not wait: %s", p.text)
	}
	p = r.do("POST", onePath+"/continue", `{"message":"go on","expectResponse":true,"timeout":5000}`)
	p.wants(t, 201, "")
	if !strings.Contains(p.text, `"response":{"text":"awaited"`) || p.at("id") != threadID2 {
		t.Errorf("the answer: %s", p.text)
	}
	r.do("POST", onePath+"/continue", `{"message":"go on","expectResponse":true,"timeout":-1}`).wants(t, 400, core.CodeValidation)
	r.do("POST", onePath+"/continue", `{"env":{"A=B":"x"}}`).wants(t, 400, core.CodeValidation)
	r.threads.goOn = func(id string, _ core.ThreadContinue) (*core.Thread, error) {
		return nil, core.Conflict("thread", id, "running", "send it a message instead")
	}
	r.do("POST", onePath+"/continue", "").wants(t, 409, core.CodeConflict)
}

func TestThreadQueue(t *testing.T) {
	r := newRig(t)
	r.threads.queue = func(id string, after uint64, limit int) (*core.ThreadQueue, error) {
		if after != 3 || limit != 2 {
			t.Errorf("after %d, limit %d", after, limit)
		}
		return &core.ThreadQueue{ThreadID: id, Queued: 1, NextAfter: 4, Inputs: []core.ThreadQueueItem{
			{ID: "in_1", InputID: "in_1", Number: 4, State: core.InputWorking, Message: "two", CreatedAt: epoch},
		}}, nil
	}
	p := r.do("GET", onePath+"/queue?after=3&limit=2", "")
	p.wants(t, 200, "")
	if !strings.Contains(p.text, `"inputs":[{"id":"in_1","inputId":"in_1","number":4,"state":"working","message":"two","createdAt":"2026-01-02T`) {
		t.Error(p.text)
	}
	r.do("DELETE", onePath+"/queue/in_1", "").wants(t, 204, "")
	r.threads.take = func(_, input string) error { return core.NotFound("input", input) }
	r.do("DELETE", onePath+"/queue/in_2", "").wants(t, 404, core.CodeNotFound)
}

func TestThreadFiles(t *testing.T) {
	r := newRig(t)
	r.threads.diff = func(_ string, most int) (*core.WorkspaceDiff, error) {
		if most != 500 {
			t.Errorf("at most %d bytes", most)
		}
		return &core.WorkspaceDiff{WorkspaceID: workspaceID, Patch: "+x\n", Truncated: true, Changes: &core.WorkspaceChanges{Uncommitted: 1}}, nil
	}
	p := r.do("GET", onePath+"/diff?maxBytes=500", "")
	p.wants(t, 200, "")
	if p.at("patch") != "+x\n" || p.at("truncated") != true || p.at("threadId") != threadID || p.at("changes", "uncommitted") != 1.0 {
		t.Error(p.text)
	}
	for _, how := range []string{"merge", "rebase"} {
		r.threads.update = func(_ string, by core.WorkspaceUpdateMethod) (*core.WorkspaceUpdate, error) {
			if string(by) != how {
				t.Errorf("%s, want %s", by, how)
			}
			e := core.Conflict("workspace", workspaceID, "ready", "both changed README.md")
			e.Details["conflicts"] = []string{"README.md"}
			return nil, e
		}
		p := r.do("POST", onePath+"/"+how, "")
		p.wants(t, 409, core.CodeConflict)
		if !strings.Contains(p.text, `"conflicts":["README.md"]`) {
			t.Error(p.text)
		}
	}
	r.threads.update = nil
	p = r.do("POST", onePath+"/merge", "")
	p.wants(t, 200, "")
	if p.at("branch") != "main" || p.at("changed") != false {
		t.Error(p.text)
	}
}

// TestThreadOutcome: a thread shows how its last turn ended, and what it used.
func TestThreadOutcome(t *testing.T) {
	r := newRig(t)
	r.threads.find = func(id string) (*core.Thread, error) {
		th := someThread(id, core.ThreadReady)
		th.FailedTurns, th.Usage = 2, &wire.Usage{Model: "m", InputTokens: 7}
		th.LastTurn = &core.ThreadTurn{Turn: 6, TurnOutcome: wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnModelCut, Message: "cut", Retryable: true}}}
		at := epoch
		th.RetryAt = &at
		return th, nil
	}
	p := r.do("GET", onePath, "")
	p.wants(t, 200, "")
	if p.at("failedTurns") != 2.0 || p.at("lastTurn", "error", "code") != wire.TurnModelCut || p.at("lastTurn", "turn") != 6.0 ||
		p.at("usage", "inputTokens") != 7.0 || p.at("retryAt") == nil {
		t.Error(p.text)
	}
}
