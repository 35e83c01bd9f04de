package proof_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// zero is when the forged round began.
var zero = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func raw(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(format, args...))
}

// stamp is a time on the wire, so many milliseconds into the round.
func stamp(ms int) string {
	return zero.Add(time.Duration(ms) * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
}

// at is a time in an agent's record.
func at(ms int) int64 { return zero.Add(time.Duration(ms) * time.Millisecond).UnixNano() }

// event makes a journal event.
func event(sequence uint64, kind, format string, args ...any) proof.Event {
	return proof.Event{Sequence: sequence, Type: kind, Data: raw(format, args...)}
}

// forge makes the evidence of a round in which all is well: exec_1 completed with the answers of two agents,
// the first of them after a kill between its hand-out and its answer; exec_2 was cancelled; exec_3 retries
// exec_2; batch_1 has an item that completed (exec_4) and one that was refused.
func forge() *proof.Evidence {
	e := &proof.Evidence{
		Executions: map[string]*proof.Execution{}, Journals: map[string][]proof.Event{}, Batches: map[string]*proof.Batch{},
		Expect: func(string, json.RawMessage) json.RawMessage { return raw(`{"digest":"d"}`) },
	}
	completed := func(id, nonce string, first uint64) *proof.Execution {
		x := &proof.Execution{
			ID: id, Status: "completed", Input: raw(`{"text":%q}`, nonce), Result: raw(`{"digest":"d"}`), CompletedAt: stamp(500),
			Agents: []proof.AgentResult{
				{ID: "agent_a", Status: "completed", Result: raw(`{"digest":"d","by":"a"}`)},
				{ID: "agent_b", Status: "completed", Result: raw(`{"digest":"d","by":"b"}`)},
			},
		}
		x.Options.Metadata.Nonce = nonce
		x.Pattern.Name = "vote"
		e.Executions[id] = x
		e.Journals[id] = []proof.Event{
			event(first, "execution.started", `{}`),
			event(first+1, "task.assigned", `{"tasks":[{"taskId":"%[1]s_a","agentId":"agent_a","attempt":1},{"taskId":"%[1]s_b","agentId":"agent_b","attempt":1}]}`, id),
			event(first+2, "task.completed", `{"taskId":"%s_a","agentId":"agent_a","attempt":1,"result":{"by":"a","digest":"d"}}`, id),
			event(first+3, "task.completed", `{"taskId":"%s_b","agentId":"agent_b","attempt":1,"result":{"by":"b","digest":"d"}}`, id),
			event(first+4, "execution.completed", `{}`),
		}
		for _, name := range []string{"a", "b"} {
			entry := proof.Entry{Name: name, AgentID: "agent_" + name, TaskID: id + "_" + name, ExecutionID: id, Attempt: 1}
			for i, kind := range []proof.EntryKind{proof.EntryHandout, proof.EntryAnswer, proof.EntryAck} {
				entry.Kind, entry.At, entry.Result = kind, at(100*(i+1)), nil
				if kind == proof.EntryAnswer {
					entry.Result = raw(`{"digest":"d","by":%q}`, name)
				}
				e.Entries = append(e.Entries, entry)
			}
		}
		return x
	}
	completed("exec_1", "n1", 10)
	e.Promises = append(e.Promises,
		proof.Promise{Kind: proof.PromiseExecution, ID: "exec_1", Key: "n1", Input: raw(`{"text":"n1"}`), Status: "completed", Result: raw(`{"digest":"d"}`)},
		proof.Promise{Kind: proof.PromiseExecution, ID: "exec_1", Key: "n1", Input: raw(`{"text":"n1"}`)})
	e.Streams = []proof.Stream{{ExecutionID: "exec_1", Resumes: 1, Ended: true, Frames: []proof.Frame{
		{Sequence: 10, Type: "started"}, {Sequence: 12, Type: "agent_result"}, {Sequence: 13, Type: "agent_result"}, {Sequence: 14, Type: "completed"},
	}}}

	cancelled := &proof.Execution{ID: "exec_2", Status: "cancelled", Input: raw(`{"text":"n2"}`), CompletedAt: stamp(300), CancelledAt: stamp(300)}
	cancelled.Options.Metadata.Nonce = "n2"
	e.Executions["exec_2"] = cancelled
	e.Journals["exec_2"] = []proof.Event{event(20, "execution.queued", `{}`), event(21, "execution.cancelled", `{}`)}
	e.Promises = append(e.Promises,
		proof.Promise{Kind: proof.PromiseExecution, ID: "exec_2", Input: raw(`{"text":"n2"}`)},
		proof.Promise{Kind: proof.PromiseCancel, ID: "exec_2", CancelledAt: stamp(300)},
		proof.Promise{Kind: proof.PromiseRetry, ID: "exec_3", Key: "n3", Input: raw(`{"text":"n2"}`), RetryOf: "exec_2"})
	e.Sightings = []proof.Sighting{
		sighting("exec_2", 100, "pending"), sighting("exec_2", 200, "running"), sighting("exec_2", 400, "cancelled"),
		{ID: "batch_1", Sent: zero, Got: zero.Add(time.Millisecond), Status: "running", Done: 1},
	}
	completed("exec_3", "n2", 30).RetryOf = "exec_2"

	index := 0
	item := completed("exec_4", "n4", 40)
	item.BatchID, item.BatchIndex = "batch_1", &index
	e.Batches["batch_1"] = &proof.Batch{ID: "batch_1", Status: "completed", Total: 2, Completed: 1, Failed: 1, Results: []proof.BatchEntry{
		{Index: 0, ExecutionID: "exec_4", Status: "completed", Result: raw(`{"digest":"d"}`)}, {Index: 1, Status: "failed"},
	}}
	e.Promises = append(e.Promises, proof.Promise{Kind: proof.PromiseBatch, ID: "batch_1", Key: "n4",
		Inputs: []json.RawMessage{raw(`{ "text": "n4" }`), raw(`{"bad":1}`)}})
	return e
}

// sighting is a state seen at a moment of the round.
func sighting(id string, ms int, status string) proof.Sighting {
	s := proof.Sighting{ID: id, Status: status, Sent: zero.Add(time.Duration(ms) * time.Millisecond)}
	s.Got = s.Sent.Add(time.Millisecond)
	if status == "cancelled" {
		s.CompletedAt, s.CancelledAt = stamp(300), stamp(300)
	}
	return s
}
