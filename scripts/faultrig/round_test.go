package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

func TestSeedRepeatsTheFaults(t *testing.T) {
	draw := func(seed uint64) (text string) {
		random := rand.New(rand.NewPCG(seed, 0))
		for range 50 {
			text += drawFaults(random, 5).String() + "\n"
		}
		return text
	}
	once := draw(1)
	if once != draw(1) || once == draw(2) {
		t.Fatal("the faults do not follow the seed")
	}
	for _, want := range []string{"again +", "as a new one", "resuming", "together with the core", "SIGTERM +"} {
		if !strings.Contains(once, want) {
			t.Errorf("50 rounds have no %q", want)
		}
	}
}

func TestSample(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	items := []int{1, 2, 3, 4, 5}
	if got := sample(random, items, 9); len(got) != 5 {
		t.Fatalf("all of them: %v", got)
	}
	seen := map[int]bool{}
	for _, n := range sample(random, items, 3) {
		seen[n] = true
	}
	if len(seen) != 3 {
		t.Fatalf("three of them: %v", seen)
	}
}

func TestCompareKeys(t *testing.T) {
	before := []resend{{key: "k1", promise: proof.Promise{ID: "exec_1"}}, {key: "k2", promise: proof.Promise{ID: "exec_2"}}}
	same := []proof.Promise{{Key: "k1", ID: "exec_1"}, {Key: "k2", ID: "exec_2"}}
	if problems := compareKeys(before, same); len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	same[1].ID = "exec_3"
	if problems := compareKeys(before, same); len(problems) != 1 || !strings.Contains(problems[0].Error(), "exec_2") {
		t.Fatalf("problems: %v", problems)
	}
}

func TestReport(t *testing.T) {
	index := 0
	evidence := &proof.Evidence{
		Executions: map[string]*proof.Execution{"exec_1": {ID: "exec_1", Status: "running", BatchIndex: &index}},
		Batches:    map[string]*proof.Batch{"batch_1": {ID: "batch_1"}},
		Journals:   map[string][]proof.Event{"exec_1": {{Sequence: 7, Type: "task.assigned", Data: []byte(`{"x":1}`)}}},
		Entries:    []proof.Entry{{Kind: proof.EntryHandout, Name: "rig-1", TaskID: "task_1", ExecutionID: "exec_1"}, {Kind: proof.EntryAck, Name: "rig-1", TaskID: "task_1"}},
		Promises:   []proof.Promise{{Kind: proof.PromiseExecution, ID: "exec_1", Key: "key-1"}},
		Sightings:  []proof.Sighting{{ID: "exec_1", Status: "pending"}},
		Streams:    []proof.Stream{{ExecutionID: "exec_1"}},
	}
	result := roundResult{
		number: 3, evidence: evidence, took: time.Second, faults: faults{agent: 1, second: -1},
		findings: []proof.Finding{{Rule: proof.RuleLost, ID: "exec_1", Text: "never ended"}, {Rule: proof.RuleBatch, ID: "batch_1", Text: "sum"}},
		problems: []error{errors.New("something else")},
	}
	var out bytes.Buffer
	result.print(&out)
	result.explain(&out, "/dir")
	for _, want := range []string{
		"round   3  BROKEN (3)", "lost: exec_1: never ended", "something else", "journal  7 task.assigned {\"x\":1}",
		"key-1", "handout", "ack", "stream ", "seen ", "batch_1", "/dir/core.log",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	result.findings, result.problems = nil, nil
	result.print(&out)
	sum := &summary{began: time.Now()}
	sum.add(result)
	sum.print(&out, &rig{horde: newHorde("http://x", nil), server: &server{readyTimes: []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}, kills: 2}})
	for _, want := range []string{"ok", "p50 2 ms, longest 3 ms, 3 starts", "2 of the core, 1 of agents", "1, with 1 tasks handed out"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, out.String())
		}
	}
}
