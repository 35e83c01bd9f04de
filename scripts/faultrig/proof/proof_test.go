package proof_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

func TestNothingIsBroken(t *testing.T) {
	if findings := proof.Check(forge()); len(findings) > 0 {
		t.Fatalf("findings: %v", findings)
	}
	if findings := proof.Check(&proof.Evidence{}); findings != nil {
		t.Fatalf("findings on nothing: %v", findings)
	}
}

// forgery changes one thing in good evidence, and says which rule must notice and how.
type forgery struct {
	name  string
	forge func(*proof.Evidence)
	rule  proof.Rule
	text  string
}

func TestEveryForgeryIsFound(t *testing.T) {
	for _, list := range [][]forgery{promises, states, journals, talks, tasks, streams, batches} {
		for _, f := range list {
			t.Run(f.name, func(t *testing.T) {
				e := forge()
				f.forge(e)
				findings := proof.Check(e)
				found := slices.ContainsFunc(findings, func(got proof.Finding) bool {
					return got.Rule == f.rule && strings.Contains(got.Text, f.text)
				})
				if !found {
					t.Fatalf("want %s: ...%s..., got %v", f.rule, f.text, findings)
				}
			})
		}
	}
}

var promises = []forgery{
	{"ExecutionLost", func(e *proof.Evidence) { delete(e.Executions, "exec_1") }, proof.RuleLost, "not in the store"},
	{"CancelledLost", func(e *proof.Evidence) { delete(e.Executions, "exec_2") }, proof.RuleLost, "acknowledged (cancel)"},
	{"Stuck", func(e *proof.Evidence) { e.Executions["exec_1"].Status = "running" }, proof.RuleLost, "running, never ended"},
	{"OtherInput", func(e *proof.Evidence) { e.Executions["exec_1"].Input = raw(`{"text":"other"}`) }, proof.RuleChanged, "stored with"},
	{"OtherResult", func(e *proof.Evidence) { e.Promises[0].Result = raw(`{"digest":"x"}`) }, proof.RuleChanged, "answered completed"},
	{"OtherStatus", func(e *proof.Evidence) { e.Promises[0].Status = "failed" }, proof.RuleChanged, "answered failed"},
	{"CancelUndone", func(e *proof.Evidence) {
		e.Executions["exec_2"].Status = "completed"
	}, proof.RuleChanged, "cancel acknowledged"},
	{"CancelledAtMoved", func(e *proof.Evidence) { e.Executions["exec_2"].CancelledAt = stamp(301) }, proof.RuleChanged, "cancelledAt"},
	{"RetryOfOther", func(e *proof.Evidence) { e.Executions["exec_3"].RetryOf = "exec_9" }, proof.RuleChanged, "a retry of exec_2"},
	{"KeyGaveTwoIDs", func(e *proof.Evidence) { e.Promises[1].ID = "exec_3" }, proof.RuleTwice, "answered with exec_1 before"},
	{"RequestMadeTwo", func(e *proof.Evidence) { e.Executions["exec_2"].Options.Metadata.Nonce = "n1" }, proof.RuleTwice, "request n1"},
	{"ItemMadeTwo", func(e *proof.Evidence) {
		twin := *e.Executions["exec_4"]
		twin.ID = "exec_5"
		e.Executions["exec_5"], e.Journals["exec_5"] = &twin, e.Journals["exec_4"]
	}, proof.RuleTwice, "request n4[0]"},
	{"RetryMadeTwo", func(e *proof.Evidence) {
		twin := *e.Executions["exec_3"]
		twin.ID = "exec_5"
		e.Executions["exec_5"], e.Journals["exec_5"] = &twin, e.Journals["exec_3"]
	}, proof.RuleTwice, "the retry of exec_2"},
	{"Failed", func(e *proof.Evidence) {
		x := e.Executions["exec_1"]
		x.Status, x.Error = "failed", &proof.Error{Code: "INTERRUPTED", Message: "m"}
	}, proof.RuleUnexpected, "INTERRUPTED"},
}

var states = []forgery{
	{"StatusBack", func(e *proof.Evidence) { e.Sightings[1].Status = "pending"; e.Sightings[0].Status = "running" }, proof.RuleBackwards, "seen running, then pending"},
	{"TerminalLeft", func(e *proof.Evidence) {
		e.Sightings = append(e.Sightings, sighting("exec_2", 500, "running"))
	}, proof.RuleBackwards, "seen cancelled, then running"},
	{"TerminalSwapped", func(e *proof.Evidence) { e.Sightings[2].Status = "completed" }, proof.RuleBackwards, "seen completed, then cancelled"},
	{"CompletedAtMoved", func(e *proof.Evidence) { e.Sightings[2].CompletedAt = stamp(1) }, proof.RuleBackwards, "completedAt"},
	{"ResultChanged", func(e *proof.Evidence) {
		s := sighting("exec_1", 600, "completed")
		s.CompletedAt, s.Result = stamp(500), raw(`{"digest":"x"}`)
		e.Sightings = append(e.Sightings, s)
	}, proof.RuleBackwards, `then {"digest":"d"}`},
	{"BatchUndone", func(e *proof.Evidence) { e.Sightings[3].Done = 7 }, proof.RuleBackwards, "7 items done, then 2"},
}

// Requests that overlap have no order: what looks like a step back is none.
func TestOverlappingSightingsHaveNoOrder(t *testing.T) {
	e := forge()
	e.Sightings[0].Got = e.Sightings[1].Got.Add(time.Millisecond)
	if findings := proof.Check(e); len(findings) > 0 {
		t.Fatalf("findings: %v", findings)
	}
}

// journalOf changes one event of the journal of exec_1.
func journalOf(index int, change func(*proof.Event)) func(*proof.Evidence) {
	return func(e *proof.Evidence) { change(&e.Journals["exec_1"][index]) }
}

// add appends an event to the journal of exec_1 before its end.
func add(kind, data string) func(*proof.Evidence) {
	return func(e *proof.Evidence) {
		list := e.Journals["exec_1"]
		end := list[len(list)-1]
		end.Sequence += 2
		e.Journals["exec_1"] = append(list[:len(list)-1:len(list)-1], event(14, kind, "%s", data), end)
	}
}

var journals = []forgery{
	{"SequenceRepeats", journalOf(1, func(ev *proof.Event) { ev.Sequence = 10 }), proof.RuleJournal, "comes after event 10"},
	{"SequenceFalls", journalOf(2, func(ev *proof.Event) { ev.Sequence = 5 }), proof.RuleJournal, "event 5"},
	{"StartedTwice", add("execution.started", `{}`), proof.RuleJournal, "started twice"},
	{"NeverStarted", journalOf(0, func(ev *proof.Event) { ev.Type = "execution.queued" }), proof.RuleJournal, "never started"},
	{"NoEnd", journalOf(4, func(ev *proof.Event) { ev.Type = "task.progress" }), proof.RuleJournal, `ends with ""`},
	{"OtherEnd", journalOf(4, func(ev *proof.Event) { ev.Type = "execution.failed" }), proof.RuleJournal, "execution.failed"},
	{"AfterTheEnd", journalOf(3, func(ev *proof.Event) { ev.Type = "execution.completed" }), proof.RuleJournal, "comes after the end"},
	{"Unreadable", journalOf(2, func(ev *proof.Event) { ev.Data = raw(`{`) }), proof.RuleJournal, "unexpected end"},
	{"AnsweredTwice", add("task.completed", `{"taskId":"exec_1_a","agentId":"agent_a","result":{"digest":"d","by":"a"}}`), proof.RuleRepeated, "completed twice"},
	{"HandedOutAfterAnswer", add("task.assigned", `{"tasks":[{"taskId":"exec_1_a","agentId":"agent_b","attempt":2}]}`), proof.RuleRepeated, "answered and handed out again"},
	{"AttemptNotRaised", add("task.assigned", `{"tasks":[{"taskId":"exec_1_b","agentId":"agent_c","attempt":1}]}`), proof.RuleJournal, "attempt 1 after attempt 1"},
	{"StepTwice", func(e *proof.Evidence) {
		add("step.completed", `{"step":"s"}`)(e)
		list := e.Journals["exec_1"]
		list[0].Type, list[0].Data = "step.completed", raw(`{"step":"s"}`)
	}, proof.RuleRepeated, `step "s" finished twice`},
	{"StepAgain", func(e *proof.Evidence) {
		add("task.assigned", `{"step":"s","tasks":[{"taskId":"exec_1_x","agentId":"agent_b","attempt":1}]}`)(e)
		list := e.Journals["exec_1"]
		list[0].Type, list[0].Data = "step.completed", raw(`{"step":"s"}`)
	}, proof.RuleRepeated, `step "s" is finished and handed out again`},
	{"AnswerToFinishedStep", func(e *proof.Evidence) {
		add("task.completed", `{"step":"s","taskId":"exec_1_x","agentId":"agent_b"}`)(e)
		list := e.Journals["exec_1"]
		list[0].Type, list[0].Data = "step.completed", raw(`{"step":"s"}`)
	}, proof.RuleRepeated, `answer to step "s"`},
	{"AnswerNotInResult", func(e *proof.Evidence) {
		x := e.Executions["exec_1"]
		x.Agents = x.Agents[:1]
	}, proof.RuleAnswer, "in the journal and not in the execution"},
	{"ResultNotInJournal", func(e *proof.Evidence) { e.Executions["exec_1"].Agents[0].Result = raw(`{"digest":"x"}`) }, proof.RuleAnswer, "has no such answer"},
	{"WrongResult", func(e *proof.Evidence) { e.Executions["exec_3"].Result = raw(`{"digest":"x"}`) }, proof.RuleAnswer, "the answers come to"},
}
