package threads_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/threads"
	"github.com/wardroom/wardroom/core/threads/rules"
)

func TestAutoAnswerByPreset(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		switch {
		case strings.HasPrefix(text, "Fix"):
			a.busy()
			a.ask("p-1", "approval", "Bash", "Run make?")
		case text == "answer p-1 allow":
			a.ask("p-2", "question", "", "Which?")
		}
	}
	r.open()
	s := spec()
	s.Preparation.Approval = "autonomous"
	id := r.spawn(s).ID
	rec := r.until(id, "the question", func(rec *core.ThreadRecord) bool { return strings.Contains(string(rec.Prompt), "p-2") })
	if rec.Status != core.ThreadBlocked {
		t.Errorf("it is %s", rec.Status)
	}
	page, _, _ := r.store.Events(r.ctx, id, 0, 100)
	var blocked []string
	for _, e := range page {
		if e.Type == core.EventThreadBlocked {
			var data struct {
				AutoAnswered bool
				Answer       string
			}
			_ = json.Unmarshal(e.Data, &data)
			blocked = append(blocked, map[bool]string{true: "auto " + data.Answer, false: "people"}[data.AutoAnswered])
		}
	}
	if got := strings.Join(blocked, ", "); got != "auto allow, people" {
		t.Errorf("blocked %s", got)
	}
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{PromptID: "p-1", Choice: "allow"}); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("an answer to the prompt before: %v", err)
	}
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{}); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("an empty answer: %v", err)
	}
	if got, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Text: "That one"}); err != nil || got.Prompt != nil {
		t.Errorf("answered %+v, %v", got, err)
	}
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Text: "That one"}); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("answered twice: %v", err)
	}
}

// TestRefusedAutoAnswer has an agent refuse the answer of a rule: people are asked.
func TestRefusedAutoAnswer(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, _ string) {
		a.busy()
		a.ask("p-1", "approval", "Bash", "Run make?")
	}
	r.agents.answer = func() error { return core.Invalid("choice", "must be one of yes, no") }
	r.open()
	s := spec()
	s.Policy.AutoAnswer = []core.AutoAnswerRule{{Answer: "allow"}}
	id := r.spawn(s).ID
	coretest.WaitFor(t, "people to be asked", func() bool {
		return strings.Count(strings.Join(r.kinds(id), " "), "thread_blocked") == 2
	})
	if rec := r.record(id); rec.Status != core.ThreadBlocked || len(rec.Prompt) == 0 {
		t.Errorf("it is %s with %s", rec.Status, rec.Prompt)
	}
}

// questions answers questions of org charts.
type questions struct {
	core.QuestionService
	answers []string
	err     error
}

func (q *questions) AnswerQuestion(_ context.Context, execution, id string, answer json.RawMessage) (*core.Question, error) {
	q.answers = append(q.answers, execution+" "+id+" "+string(answer))
	return &core.Question{}, q.err
}

func TestAnswerSurfacedQuestion(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	q := &questions{}
	r.Service = r.make()
	r.SetQuestions(q)
	if err := r.Open(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.pattern("exec_1", true)
	a, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
	if err != nil {
		t.Fatal(err)
	}
	id, question := r.roleOf().ID, r.ids.New(core.PrefixQuestion)
	r.asks(&core.Question{
		ID: question, ExecutionID: "exec_1", Kind: core.QuestionMessage, Status: core.QuestionOpen, AgentID: a.ID, Text: "Which?",
	})
	r.untilStatus(id, core.ThreadBlocked)
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Text: "main"}); err != nil {
		t.Fatal(err)
	}
	if want := "exec_1 " + question + ` "main"`; len(q.answers) != 1 || q.answers[0] != want {
		t.Errorf("answers %q, want %q", q.answers, want)
	}
	q.err = errors.New("internal")
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Text: "main"}); err == nil {
		t.Error("an error is swallowed")
	}
}

func TestSealedEnvironment(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	gate := make(chan struct{})
	r.spaces.provision = blockUntil(gate)
	r.open()
	s := spec()
	s.Preparation.Env = map[string]string{"TOKEN": "secret-value"}
	id := r.spawn(s).ID
	rec := r.untilStatus(id, core.ThreadPreparing)
	if len(rec.SealedEnv) == 0 || strings.Contains(string(rec.SealedEnv), "secret") || len(rec.Preparation.EnvNames) != 1 {
		t.Errorf("sealed %q", rec.SealedEnv)
	}
	// What was sealed for one thread opens for no other.
	other := *rec
	other.ID = "thread_other"
	other.Workspace = nil
	r.Close()
	_ = r.store.Update(r.ctx, func(tx core.Tx) error { return tx.PutThread(&other) })
	close(gate)
	r.open()
	if rec := r.untilStatus("thread_other", core.ThreadFailed); !strings.Contains(rec.Error.Message, "threads.key") {
		t.Errorf("error %+v", rec.Error)
	}
	rec = r.until(id, "the agent", func(rec *core.ThreadRecord) bool { return rec.StartedAt != nil })
	if strings.Contains(string(rec.SealedEnv), "secret") || r.agents.specs[0].Env["TOKEN"] != "secret-value" {
		t.Errorf("sealed %q, given %+v", rec.SealedEnv, r.agents.specs[0].Env)
	}
}

// The rules of a thread count before those of the configuration, and those before the preset; as many as each may have.
func TestRuleOrder(t *testing.T) {
	fill := func(last ...core.AutoAnswerRule) []core.AutoAnswerRule {
		list := make([]core.AutoAnswerRule, rules.MaxRules-len(last))
		for i := range list {
			list[i] = core.AutoAnswerRule{Tool: "Nothing", Answer: "deny"}
		}
		return append(list, last...)
	}
	for _, tt := range []struct {
		name           string
		policy, config []core.AutoAnswerRule
		want           string // "": people are asked
	}{
		{"Policy", fill(core.AutoAnswerRule{Answer: "deny"}), fill(core.AutoAnswerRule{Answer: "allow"}), "deny"},
		{"Config", fill(), fill(core.AutoAnswerRule{Tool: "Bash", Answer: "deny"}), "deny"},
		{"Preset", fill(), fill(), "allow"},
		{"WrongConfig", nil, []core.AutoAnswerRule{{Match: "(", Answer: "deny"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, core.SystemClock{})
			r.agents.script = func(a *scripted, text string) {
				if strings.HasPrefix(text, "Fix") {
					a.busy()
					a.ask("p-1", "approval", "Bash", "Run make?")
				}
			}
			r.open()
			r.ApplyConfig(threads.Config{AutoAnswer: tt.config})
			s := spec()
			s.Preparation.Approval, s.Policy.AutoAnswer = "autonomous", tt.policy
			id := r.spawn(s).ID
			var answer string
			coretest.WaitFor(t, "the prompt", func() bool {
				page, _, _ := r.store.Events(r.ctx, id, 0, 100)
				for _, e := range page {
					if e.Type == core.EventThreadBlocked {
						answer = field(e, "answer")
						return true
					}
				}
				return false
			})
			if answer != tt.want {
				t.Errorf("answered %q, want %q", answer, tt.want)
			}
		})
	}
}

// The next prompt of an agent may be there before it is noted who answered the one before, and may even be answered: its ruling
// by a rule stays, and is given after a crash.
func TestAnswerBeforeTheNextPrompt(t *testing.T) {
	for _, tt := range []struct {
		name  string
		away  bool // the runtime takes no answer to the next prompt before the service starts again
		turns int  // that have ended by the time at which the first answer is noted
	}{{name: "open", away: true}, {name: "answered", turns: 1}} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, core.SystemClock{})
			r.agents.script = func(a *scripted, text string) {
				switch {
				case strings.HasPrefix(text, "Fix"):
					a.busy()
					a.ask("p-1", "approval", "Bash", "Run make?")
				case text == "answer p-1 allow":
					r.agents.told = nil
					if tt.away {
						r.agents.answer = func() error { return core.Unavailable("runtime_unavailable", "the runtime is away") }
					}
					a.ask("p-2", "approval", "Edit", "Edit it?")
				case text == "answer p-2 deny":
					a.end("done")
				}
			}
			r.open()
			s := spec()
			s.Policy.AutoAnswer = []core.AutoAnswerRule{{Tool: "Edit", Answer: "deny"}}
			id := r.spawn(s).ID
			r.untilStatus(id, core.ThreadBlocked)
			r.agents.do("", func(*scripted) {
				r.agents.told = func() {
					r.until(id, "the next prompt", func(rec *core.ThreadRecord) bool {
						return rec.Ruling != nil && rec.Ruling.PromptID == "p-2" && rec.TurnCount == tt.turns
					})
				}
			})
			ann := core.WithPrincipal(r.ctx, core.Principal{Kind: core.PrincipalUser, ID: "ann"})
			if _, err := r.AnswerThread(ann, id, core.ThreadAnswer{PromptID: "p-1", Choice: "allow"}); err != nil {
				t.Fatal(err)
			}
			if rec := r.record(id); rec.Ruling == nil || rec.Ruling.PromptID != "p-2" || rec.Ruling.Answer != "deny" {
				t.Errorf("the prompt %s has the ruling %+v", rec.Prompt, rec.Ruling)
			}
			r.Close()
			r.agents.do("", func(*scripted) { r.agents.answer = nil })
			r.open()
			r.until(id, "the turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 })
		})
	}
}
