package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// talkPlan is a core.ChartPlan of plain steps: a task is its step's name, and the output the last step's result.
type talkPlan struct{ chart core.Chart }

func (p *talkPlan) Chart() *core.Chart { return &p.chart }

func (p *talkPlan) Task(step *core.ChartStep, _ core.ChartScope) (string, error) {
	return step.Name, nil
}

func (p *talkPlan) Subject(*core.ChartStep, core.ChartScope) (json.RawMessage, error) {
	return json.RawMessage(`"the work"`), nil
}

func (p *talkPlan) Workspace(string, core.ChartScope) (*core.WorkspaceSpec, error) { return nil, nil }

func (p *talkPlan) Check(*core.ChartStep, core.ChartScope) (bool, error) { return true, nil }

func (p *talkPlan) Aggregate(*core.ChartStep, core.ChartScope) (json.RawMessage, float64, error) {
	return json.RawMessage("null"), 1, nil
}

func (p *talkPlan) Output(scope core.ChartScope) (json.RawMessage, error) {
	out, _ := scope.Result(p.chart.Steps[len(p.chart.Steps)-1].Path)
	return out, nil
}

// talk is a rig whose chart is dev -> lead -> cto -> ceo, an agent in each, named like it, with one step of dev.
type talk struct {
	*rig
	chart *core.Chart
	exec  *core.Execution
	task  core.Task // that dev has
}

// newTalk makes the rig; shape may change the chart before it starts.
func newTalk(tb testing.TB, shape func(*core.Chart)) *talk {
	tb.Helper()
	return newTalkOn(tb, newMemory(), shape)
}

// newTalkOn is newTalk on what another one left; prepare is called before the engine opens.
func newTalkOn(tb testing.TB, store *memory, shape func(*core.Chart), prepare ...func(*rig)) *talk {
	tb.Helper()
	r := newRig(tb)
	r.store = store
	chart := core.Chart{
		Roles: []core.Role{
			{Key: "dev", Capabilities: []string{"dev"}, Min: 1, Max: 1, ReportsTo: "lead"},
			{Key: "lead", Capabilities: []string{"lead"}, Min: 1, Max: 1, ReportsTo: "cto"},
			{Key: "cto", Capabilities: []string{"cto"}, Min: 1, Max: 1, ReportsTo: "ceo"},
			{Key: "ceo", Capabilities: []string{"ceo"}, Min: 1, Max: 1},
		},
		Escalation: core.Escalation{
			Default: core.BehaviorReportsTo, Timeout: 30 * stdtime.Second, MaxDepth: 5, OnMaxDepth: core.BehaviorSurface,
		},
		Steps: []*core.ChartStep{{Path: "0", Kind: core.KindAssign, Name: "build", Role: "dev"}},
	}
	if shape != nil {
		shape(&chart)
	}
	p := &talkPlan{chart}
	r.shelf["chart"] = &plan{def: core.Definition{Name: "chart", Timeout: 2 * stdtime.Hour}, chart: p}
	for _, role := range chart.Roles {
		for i := range role.Min {
			if role.Managed {
				break
			}
			name := role.Key
			if i > 0 {
				name = fmt.Sprint(role.Key, i+1)
			}
			r.agents.offer(name, 1, role.Key)
		}
	}
	for _, fn := range prepare {
		fn(r)
	}
	r.open()
	return &talk{rig: r, chart: &p.chart}
}

// begin starts the execution and waits for dev to have its task.
func (k *talk) begin() *talk {
	k.tb.Helper()
	k.exec = k.start("chart")
	k.task = k.agents.await(k.tb, 1)[0].task
	return k
}

// refusals collects what became of messages.
type refusals struct {
	tb  testing.TB
	got chan *core.Error
}

func newRefusals(tb testing.TB) *refusals { return &refusals{tb, make(chan *core.Error, 4096)} }

func (f *refusals) refuse(err *core.Error) { f.got <- err }

// want waits for a refusal with that code and text.
func (f *refusals) want(code core.Code, text string) {
	f.tb.Helper()
	coretest.WaitFor(f.tb, "a refusal", func() bool { return len(f.got) > 0 })
	if err := <-f.got; err.Code != code || !strings.Contains(err.Message, text) {
		f.tb.Fatalf("refused with %v, want %s %q", err, code, text)
	}
}

// say sends a message of dev's task.
func (k *talk) say(m core.TaskMessage) *refusals {
	k.tb.Helper()
	f := newRefusals(k.tb)
	if m.AgentID == "" {
		m.AgentID = "dev"
	}
	if m.TaskID == "" {
		m.TaskID = k.task.ID
	}
	if m.Kind == "" {
		m.Kind = core.QuestionMessage
	}
	if m.MessageType == "" && m.Kind == core.QuestionMessage {
		m.MessageType = "question"
	}
	if m.Content == nil {
		m.Content = json.RawMessage(`{"text":"which way?"}`)
	}
	m.Refuse = f.refuse
	k.MessageReceived(m)
	return f
}

// askedOf waits until n messages were brought to agents, and returns the last one.
func (k *talk) askedOf(n int) asked {
	k.tb.Helper()
	var list []asked
	coretest.WaitFor(k.tb, fmt.Sprintf("%d messages at agents", n), func() bool {
		k.agents.mu.Lock()
		list = slices.Clone(k.agents.asked)
		k.agents.mu.Unlock()
		return len(list) >= n
	})
	if len(list) != n {
		k.tb.Fatalf("%d messages were brought to agents, want %d: %+v", len(list), n, list)
	}
	return list[n-1]
}

// answeredWith waits until n replies were brought to agents, and returns the last one.
func (k *talk) answeredWith(n int) replied {
	k.tb.Helper()
	var list []replied
	coretest.WaitFor(k.tb, fmt.Sprintf("%d replies at agents", n), func() bool {
		k.agents.mu.Lock()
		list = slices.Clone(k.agents.replies)
		k.agents.mu.Unlock()
		return len(list) >= n
	})
	if len(list) != n {
		k.tb.Fatalf("%d replies were brought to agents, want %d: %+v", len(list), n, list)
	}
	return list[n-1]
}

// answer sends an agent's answer to a message.
func (k *talk) answer(agent, messageID, content string) *refusals {
	f := newRefusals(k.tb)
	k.MessageReplied(core.MessageReply{AgentID: agent, MessageID: messageID, Content: json.RawMessage(content), Refuse: f.refuse})
	return f
}

// waitEvents waits until the journal has n events of a type.
func (k *talk) waitEvents(kind core.EventType, n int) {
	k.tb.Helper()
	coretest.WaitFor(k.tb, fmt.Sprintf("%d events %s", n, kind), func() bool { return k.store.count(k.exec.ID, kind) == n })
}

// question waits for the one open question.
func (k *talk) question() *core.Question {
	k.tb.Helper()
	var list []*core.Question
	coretest.WaitFor(k.tb, "an open question", func() bool {
		var err error
		list, _, err = k.FindQuestions(k.tb.Context(), core.QuestionFilter{ExecutionID: k.exec.ID, Status: core.QuestionOpen})
		return err == nil && len(list) > 0
	})
	if len(list) != 1 {
		k.tb.Fatalf("%d questions are open, want 1", len(list))
	}
	return list[0]
}

func (k *talk) answerPeople(id, content string) (*core.Question, error) {
	ctx := core.WithPrincipal(k.tb.Context(), core.Principal{ID: "ann"})
	return k.AnswerQuestion(ctx, k.exec.ID, id, json.RawMessage(content))
}

// finish lets dev finish its task, and returns the execution, which must complete.
func (k *talk) finish() *core.Execution {
	k.tb.Helper()
	k.agents.report("dev", k.task, `"done"`, nil)
	exec := k.wait(k.exec.ID)
	if exec.Status != core.ExecutionCompleted {
		k.tb.Fatalf("the execution is %s: %+v", exec.Status, exec.Error)
	}
	return exec
}

// sync waits until the run has worked off its inbox: a cancel of another execution would not do, so it asks for an
// answer that cannot be.
func (k *talk) sync() {
	k.tb.Helper()
	f := k.say(core.TaskMessage{AgentID: "nobody", AskID: "sync"})
	f.want(core.CodeNotFound, "task")
}
