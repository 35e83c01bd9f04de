package proof_test

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// entry adds an entry on a task of exec_1 to the agents' records.
func entry(kind proof.EntryKind, ms int, name, task string, attempt int) func(*proof.Evidence) {
	return func(e *proof.Evidence) {
		e.Entries = append(e.Entries, proof.Entry{Kind: kind, At: at(ms), Name: name, AgentID: "agent_" + name,
			TaskID: task, ExecutionID: "exec_1", Attempt: attempt})
	}
}

// drop removes the entries of a kind on a task.
func drop(e *proof.Evidence, kind proof.EntryKind, task string) {
	e.Entries = slices.DeleteFunc(e.Entries, func(x proof.Entry) bool { return x.Kind == kind && x.TaskID == task })
}

var tasks = []forgery{
	{"HandedOutAfterAck", entry(proof.EntryHandout, 301, "b", "exec_1_a", 2), proof.RuleRepeated, "after its answer was acknowledged to a"},
	{"SentAgainAfterAck", entry(proof.EntryHandout, 400, "a", "exec_1_a", 1), proof.RuleRepeated, "exec_1_a handed to agent a"},
	{"OldTaskAgain", func(e *proof.Evidence) {
		e.Entries = append(e.Entries, proof.Entry{Kind: proof.EntryHandout, At: at(1), Name: "a", TaskID: "task_old", ExecutionID: "exec_old"})
	}, proof.RuleRepeated, "not of this round"},
	{"NeverGiven", func(e *proof.Evidence) { drop(e, proof.EntryAnswer, "exec_1_a") }, proof.RuleAnswer, "never gave"},
	{"OtherAnswer", func(e *proof.Evidence) { e.Entries[1].Result = raw(`{"digest":"x","by":"a"}`) }, proof.RuleAnswer, "the journal has"},
	{"AcknowledgedAndLost", func(e *proof.Evidence) {
		e.Entries = append(e.Entries,
			proof.Entry{Kind: proof.EntryHandout, At: at(100), Name: "c", AgentID: "agent_c", TaskID: "task_c", ExecutionID: "exec_1", Attempt: 1},
			proof.Entry{Kind: proof.EntryAnswer, At: at(200), Name: "c", AgentID: "agent_c", TaskID: "task_c", ExecutionID: "exec_1", Result: raw(`{}`)},
			proof.Entry{Kind: proof.EntryAck, At: at(300), Name: "c", AgentID: "agent_c", TaskID: "task_c"})
	}, proof.RuleAnswer, "was acknowledged and is not in the journal"},
}

// What looks like repeated or lost work and is none.
func TestHarmlessRecords(t *testing.T) {
	late := func(e *proof.Evidence, ackAt int) {
		e.Entries = append(e.Entries,
			proof.Entry{Kind: proof.EntryHandout, At: at(50), Name: "c", AgentID: "agent_c", TaskID: "exec_1_a", ExecutionID: "exec_1", Attempt: 1},
			proof.Entry{Kind: proof.EntryAnswer, At: at(60), Name: "c", AgentID: "agent_c", TaskID: "exec_1_a", ExecutionID: "exec_1", Result: raw(`{}`)},
			proof.Entry{Kind: proof.EntryAck, At: at(ackAt), Name: "c", AgentID: "agent_c", TaskID: "exec_1_a"})
	}
	for name, change := range map[string]func(*proof.Evidence){
		"HandedOutAgainBeforeAck":  entry(proof.EntryHandout, 250, "b", "exec_1_a", 2),
		"SentAgainBeforeAck":       entry(proof.EntryHandout, 299, "a", "exec_1_a", 1),
		"AckedTwice":               entry(proof.EntryAck, 350, "a", "exec_1_a", 0),
		"AckNeverSeen":             func(e *proof.Evidence) { drop(e, proof.EntryAck, "exec_1_a") },
		"LateAnswerOfFormerHolder": func(e *proof.Evidence) { late(e, 70) },
		"AckOfAnError": func(e *proof.Evidence) {
			e.Entries = append(e.Entries,
				proof.Entry{Kind: proof.EntryAnswer, At: at(60), Name: "c", AgentID: "agent_c", TaskID: "exec_1_a", ExecutionID: "exec_1"},
				proof.Entry{Kind: proof.EntryAck, At: at(70), Name: "c", AgentID: "agent_c", TaskID: "exec_1_a"})
		},
		"AnswerAfterTheEnd": func(e *proof.Evidence) {
			e.Entries = append(e.Entries,
				proof.Entry{Kind: proof.EntryHandout, At: at(100), Name: "c", AgentID: "agent_c", TaskID: "task_c", ExecutionID: "exec_1"},
				proof.Entry{Kind: proof.EntryAnswer, At: at(550), Name: "c", AgentID: "agent_c", TaskID: "task_c", ExecutionID: "exec_1", Result: raw(`{}`)},
				proof.Entry{Kind: proof.EntryAck, At: at(560), Name: "c", AgentID: "agent_c", TaskID: "task_c"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := forge()
			change(e)
			if findings := proof.Check(e); len(findings) > 0 {
				t.Fatalf("findings: %v", findings)
			}
		})
	}
}

var streams = []forgery{
	{"NoEnd", func(e *proof.Evidence) { e.Streams[0].Ended = false }, proof.RuleStream, "did not end"},
	{"OfNothing", func(e *proof.Evidence) { e.Streams[0].ExecutionID = "exec_0" }, proof.RuleLost, "its stream began"},
	{"Repeated", func(e *proof.Evidence) {
		f := e.Streams[0].Frames
		e.Streams[0].Frames = slices.Insert(f, 2, f[1])
	}, proof.RuleStream, "event 12 (agent_result) came after event 12"},
	{"Missed", func(e *proof.Evidence) { e.Streams[0].Frames = slices.Delete(e.Streams[0].Frames, 1, 2) }, proof.RuleStream, "where the journal has 12"},
	{"CutOff", func(e *proof.Evidence) { e.Streams[0].Frames = e.Streams[0].Frames[:3] }, proof.RuleStream, "event 14 (completed) is missing"},
	{"TooMuch", func(e *proof.Evidence) {
		e.Streams[0].Frames = append(e.Streams[0].Frames, proof.Frame{Sequence: 15, Type: "agent_result"})
	}, proof.RuleStream, "not in the journal"},
	{"Disordered", func(e *proof.Evidence) {
		f := e.Streams[0].Frames
		f[1], f[2] = f[2], f[1]
	}, proof.RuleStream, "came after event 13"},
	{"OtherType", func(e *proof.Evidence) { e.Streams[0].Frames[3].Type = "failed" }, proof.RuleStream, "14 (failed) where"},
}

// result changes an item of the batch.
func result(index int, change func(*proof.BatchEntry)) func(*proof.Evidence) {
	return func(e *proof.Evidence) { change(&e.Batches["batch_1"].Results[index]) }
}

var batches = []forgery{
	{"BatchLost", func(e *proof.Evidence) { delete(e.Batches, "batch_1") }, proof.RuleLost, "not in the store"},
	{"BatchStuck", func(e *proof.Evidence) { e.Batches["batch_1"].Status = "running" }, proof.RuleLost, "never ended"},
	{"BatchTotal", func(e *proof.Evidence) { e.Batches["batch_1"].Total = 3 }, proof.RuleBatch, "total is 3"},
	{"BatchSum", func(e *proof.Evidence) { e.Batches["batch_1"].Failed = 0 }, proof.RuleBatch, "are not the total"},
	{"BatchCompleted", func(e *proof.Evidence) { e.Batches["batch_1"].Completed = 2 }, proof.RuleBatch, "completed is 2, 1 items are"},
	{"ItemTwice", result(1, func(r *proof.BatchEntry) { r.Index = 0 }), proof.RuleBatch, "index 0 is there twice"},
	{"ItemMissing", func(e *proof.Evidence) { e.Batches["batch_1"].Results = e.Batches["batch_1"].Results[:1] }, proof.RuleBatch, "1 of 2 items"},
	{"ItemNotOver", result(1, func(r *proof.BatchEntry) { r.Status = "running" }), proof.RuleBatch, "item 1 is running"},
	{"ItemOfOther", result(0, func(r *proof.BatchEntry) { r.ExecutionID = "exec_1" }), proof.RuleBatch, "not its execution"},
	{"ItemWithoutExecution", result(1, func(r *proof.BatchEntry) { r.Status = "completed" }), proof.RuleBatch, "without an execution"},
	{"ItemForgotItsExecution", result(0, func(r *proof.BatchEntry) { r.ExecutionID = "" }), proof.RuleBatch, "names no execution"},
	{"ItemResult", result(0, func(r *proof.BatchEntry) { r.Result = raw(`{}`) }), proof.RuleBatch, "item 0 is completed with {}"},
	{"ItemStatus", result(0, func(r *proof.BatchEntry) { r.Status = "failed" }), proof.RuleBatch, "item 0 is failed"},
	{"ItemInput", func(e *proof.Evidence) { e.Executions["exec_4"].Input = raw(`{"text":"x"}`) }, proof.RuleChanged, "item 0 was sent as"},
	{"ItemWithoutResult", func(e *proof.Evidence) {
		index := 1
		twin := *e.Executions["exec_4"]
		twin.ID, twin.BatchIndex = "exec_5", &index
		e.Executions["exec_5"], e.Journals["exec_5"] = &twin, e.Journals["exec_4"]
		e.Batches["batch_1"].Results = e.Batches["batch_1"].Results[:1]
	}, proof.RuleBatch, "exec_5 ran for item 1"},
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1, "a":[1.50,"x"]}`: `{"a":[1.50,"x"],"b":1}`,
		`12345678901234567890`:    `12345678901234567890`,
		`not JSON`:                `not JSON`,
		``:                        ``,
	} {
		if got := proof.Canonical(raw("%s", in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
