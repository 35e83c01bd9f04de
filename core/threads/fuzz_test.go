package threads_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/threads"
)

var signals = []core.EventType{
	core.EventManagedStarted, core.EventManagedReady, core.EventManagedBusy, core.EventManagedBlocked, core.EventManagedQuestion,
	core.EventManagedUnblocked, core.EventManagedLogin, core.EventManagedTool, core.EventManagedTurnComplete,
	core.EventManagedMessage, core.EventManagedStuck, core.EventManagedError, core.EventManagedStopped, "managed_agent.unknown",
}

// FuzzSignals applies events with any data, in any order: the record stays one that can be stored, and its counters
// are right.
func FuzzSignals(f *testing.F) {
	f.Add([]byte("\x02\x09{\"text\":\"hi\"}\n\x08{\"text\":\"hi\"}\n\x01"))
	f.Add([]byte("\x03{\"prompt\":{\"id\":\"p-1\",\"kind\":\"approval\"}}\n\x05\n\x0c{\"reason\":\"exited\",\"exitCode\":0}"))
	f.Add([]byte("\x0c{\"reason\":\"lost\"}\n\x00\n\x06{\"loginUrl\":\"x\"}"))
	f.Add([]byte("\x07{\"tool\":{\"name\":\"x\",\"input\":{\"a\":1}}}\n\x0b{\"status\":\"error\"}\n\x0a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := threads.New(threads.Options{Config: threads.Config{MaxRestarts: 1}})
		defer s.Close()
		n := 1
		r := &core.ThreadRecord{Thread: core.Thread{
			ID: "thread_1", ExecutionID: "exec_1", Status: core.ThreadStarting, Policy: core.ThreadPolicy{MaxRestarts: &n, SummarizeAfterTurns: 2},
		}}
		persisted, turns := 0, 0
		for _, line := range bytes.SplitN(data, []byte("\n"), 64) {
			if len(line) == 0 || r.Ending != nil {
				continue
			}
			kind := signals[int(line[0])%len(signals)]
			next, events := s.Fold(r, kind, line[1:])
			for _, e := range events {
				if !json.Valid(e.Data) {
					t.Fatalf("%s has the data %q", e.Type, e.Data)
				}
				if e.Type != core.EventThreadOutput && e.Type != core.EventThreadStatus && !e.Public() {
					persisted++
				}
				if e.Type == core.EventThreadTurnComplete {
					turns++
				}
			}
			if next.Status.Terminal() || next.EventCount != persisted || next.TurnCount+next.FailedTurns != turns {
				t.Fatalf("after %s: %s, %d events of %d, %d turns of %d", kind, next.Status, next.EventCount, persisted, next.TurnCount, turns)
			}
			if _, err := json.Marshal(next); err != nil {
				t.Fatal(err)
			}
			r = next
		}
	})
}

func FuzzName(f *testing.F) {
	f.Add("coder", "Fix the parser, quickly")
	f.Add("", "")
	f.Add("", "größe \xff\x00 ändern")
	f.Fuzz(func(t *testing.T, role, objective string) {
		if len(role) > 128 || !utf8.ValidString(role) || !utf8.ValidString(objective) {
			return
		}
		name := threads.NameOf(role, objective)
		if name == "" || len(name) > 128 || !utf8.ValidString(name) {
			t.Errorf("%q", name)
		}
	})
}
