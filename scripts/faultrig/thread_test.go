package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// joined is the text of all problems.
func joined(problems []error) string {
	err := errors.Join(problems...)
	if err == nil {
		return ""
	}
	return err.Error()
}

func wants(t *testing.T, name string, problems []error, want string) {
	t.Helper()
	if got := joined(problems); (want == "") != (got == "") || !strings.Contains(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

func TestJudgeWords(t *testing.T) {
	sent := []message{{"a", fateSent}, {"b", fateSent}, {"c", fateUnknown}, {"d", fateSent}, {"e", fateNot}}
	for _, tt := range []struct {
		ledger string
		whole  bool
		want   string
	}{
		{"a b d", true, ""},
		{"a b c d", true, ""},
		{"a b", true, "lost: message d"},
		{"a b", false, ""},
		{"", false, ""},
		{"a c", false, ""}, // nobody knows whether c was taken: after b was not given it must not come, but it may be from before
		{"a d", false, `skipped: "d"`},
		{"b", false, `skipped: "b"`},
		{"a a b", false, "doubled: message a"},
		{"b a", false, "order: message b"},
		{"a b d e", true, "told wrongly: message e"},
		{"a x", false, `merged: the ledger has "x"`},
	} {
		wants(t, tt.ledger, judgeWords(sent, strings.Fields(tt.ledger), tt.whole), tt.want)
	}
}

func TestJudgeThread(t *testing.T) {
	sent := []message{{"word a", fateSent}, {"word b", fateSent}}
	ledger := []string{"in_1 word a", "answered in_1", "in_2 word b"}
	for _, tt := range []struct {
		name   string
		end    threadEnd
		record threadRecord
		ledger []string
		lossy  bool
		want   string
	}{
		{"reported", endReport, threadRecord{Status: "completed"}, ledger, false, ""},
		{"reported too early", endReport, threadRecord{Status: "completed"}, ledger[:1], false, "lost: message word b"},
		{"stopped early", endStop, threadRecord{Status: "stopped", StatusReason: "requested"}, ledger[:1], false, ""},
		{"stopped by a timer", endStop, threadRecord{Status: "stopped", StatusReason: "idle"}, ledger, false, "want stopped requested"},
		{"died", endExit, threadRecord{Status: "failed", StatusReason: "crashed"}, ledger, false, ""},
		{"lost", endReport, threadRecord{Status: "failed", StatusReason: "lost"}, ledger[:1], true, ""},
		{"lost without a loss", endReport, threadRecord{Status: "failed", StatusReason: "lost"}, ledger, false, "never gone"},
		{"answered twice", endReport, threadRecord{Status: "completed"}, append(slices.Clip(ledger), doubled+" "+answered+" in_1"), false, "its host got 2 answers"},
		{"given twice", endReport, threadRecord{Status: "completed"}, append(slices.Clip(ledger), doubled+" word b"), false, "same host twice"},
	} {
		th := thread{kind: threadHosted, end: tt.end, sent: sent}
		wants(t, tt.name, th.judge(&tt.record, tt.ledger, tt.lossy, map[string]int{"in_1": 1}), tt.want)
	}
	repo := thread{kind: threadRepo, end: endReport, sent: sent}
	lines := []string{"word a", "word b"}
	wants(t, "no commit", repo.judge(&threadRecord{Status: "completed"}, lines, false, nil), "to make 1 commits")
	var record threadRecord
	if err := json.Unmarshal([]byte(`{"status":"completed","completion":{"changes":{"commitCount":1}}}`), &record); err != nil {
		t.Fatal(err)
	}
	wants(t, "a commit", repo.judge(&record, lines, false, nil), "")
}

// history makes events of a thread from lines of type and data.
func history(lines ...string) []threadEvent {
	var events []threadEvent
	for i, line := range lines {
		kind, data, found := strings.Cut(line, " ")
		if !found {
			data = "{}"
		}
		events = append(events, threadEvent{ThreadID: "thread_1", Sequence: uint64(10 * (i + 1)), Type: kind, Data: json.RawMessage(data)})
	}
	return events
}

func TestJudgeEvents(t *testing.T) {
	whole := []string{
		"thread_started", "thread_ready", `thread_output {"text":"hi"}`, `thread_turn_complete {"turn":1}`, "thread_status",
		`thread_turn_complete {"turn":2}`, "thread_completed",
	}
	record := threadRecord{ID: "thread_1", Status: "completed", EventCount: 5, TurnCount: 2}
	wants(t, "whole", judgeEvents(&record, history(whole...)), "")
	without := func(i int) []string { return slices.Delete(slices.Clone(whole), i, i+1) }
	for _, tt := range []struct {
		name, want string
		events     []threadEvent
	}{
		{"without a turn", "the turn 0 is followed by 2", history(without(3)...)},
		{"without an end", "its last event does not say so", history(without(6)...)},
		{"an event after the end", "is thread_completed", history(append(slices.Clone(whole), "thread_status")...)},
		{"said twice", `"hi" was said 2 times`, history(slices.Insert(slices.Clone(whole), 3, whole[2])...)},
		{"started twice", "it was started 2 times", history(slices.Insert(slices.Clone(whole), 1, whole[0])...)},
		{"asked twice", `asked "p" 2 times`, history(slices.Insert(slices.Clone(whole), 1, `thread_blocked {"prompt":{"id":"p"}}`, `thread_blocked {"prompt":{"id":"p"}}`)...)},
		{"a count that is wrong", "counts 5 events", history(without(1)...)},
		{"no events", "its last event", nil},
		{"no data", "has the data x", history("thread_completed x")},
		{"backwards", "comes after event 20", append(history("thread_ready", "thread_ready"), history("thread_completed")...)},
	} {
		got := joined(judgeEvents(&record, tt.events))
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	record.QueuedInputs = 1
	wants(t, "left", judgeEvents(&record, history(whole...)), "1 messages wait")
}

func TestJudgeStream(t *testing.T) {
	stored := []threadFrame{{3, "b"}, {1, "a"}, {2, "b"}}
	for _, tt := range []struct {
		name, want string
		seen       []threadFrame
	}{
		{"all", "", []threadFrame{{1, "a"}, {2, "b"}, {3, "b"}}},
		{"missing", "event 2 of b was not shown", []threadFrame{{1, "a"}, {3, "b"}}},
		{"twice", "event 2 came after 2", []threadFrame{{1, "a"}, {2, "b"}, {2, "b"}, {3, "b"}}},
		{"another", "event 4 of a is not stored", []threadFrame{{1, "a"}, {2, "b"}, {3, "b"}, {4, "a"}}},
	} {
		wants(t, tt.name, judgeStream(slices.Clone(stored), tt.seen), tt.want)
	}
}

func TestDrawThreads(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	seen := map[string]int{}
	for range 100 {
		g := drawThreads(random, 5, "m", "file:///r", true, false)
		if g.threads[0].kind != threadHosted || g.threads[0].executionID != "new" {
			t.Fatalf("the first thread is %+v", g.threads[0])
		}
		names := map[string]bool{}
		for _, th := range g.threads {
			seen[string(th.kind)]++
			seen[string(th.end)]++
			names[th.name] = true
		}
		if len(names) != 6 {
			t.Fatalf("names %v", names)
		}
		for _, s := range drawThreadStrikes(random, 2, true) {
			if s.host < 0 || s.host > 2 {
				t.Fatalf("host %d dies", s.host)
			}
			seen[fmt.Sprint("host ", s.host > 0, " ", s.fresh)]++
			seen[fmt.Sprint("plugin ", s.plugin)]++
		}
	}
	for _, what := range []string{"hosted", "shell", "repo", "report", "exit", "complete", "stop", "host true true", "host true false", "host false false", "plugin true"} {
		if seen[what] == 0 {
			t.Errorf("never drawn: %s", what)
		}
	}
	for _, th := range drawThreads(random, 3, "m", "", false, false).threads {
		if th.kind != threadHosted {
			t.Errorf("%s needs a runtime", th.kind)
		}
	}
	for _, th := range drawThreads(random, 5, "m", "file:///r", true, true).threads {
		if th.boxed == (th.kind == threadHosted) {
			t.Errorf("a thread that is %s has a container: %t", th.kind, th.boxed)
		}
	}
	for _, s := range drawThreadStrikes(random, 2, false) {
		if s.plugin {
			t.Error("no plugin runs")
		}
	}
}

func TestThreadText(t *testing.T) {
	th := thread{name: "m-1", kind: threadRepo, ledger: "/l", end: endReport}
	words := th.words(rand.New(rand.NewPCG(1, 0)))
	if len(words) < 3 || words[len(words)-1] != "report m-1" {
		t.Fatalf("words %q", words)
	}
	for _, tt := range []struct{ words, want string }{
		{"word m-1 1", "echo 'word m-1 1' >>/l; echo 'word m-1 1' >>work; echo 'got word m-1 1'"},
		{"exit m-1", "echo 'exit m-1' >>/l; echo 'exit m-1' >>work; exit 3"},
		{"report m-1", "echo 'report m-1' >>/l; echo 'report m-1' >>work; echo '" + reportBlock("report m-1") + "'"},
	} {
		if got := th.text(tt.words); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.words, got, tt.want)
		}
	}
	th.boxed = true
	if got := th.text("word m-1 1"); got != "echo 'word m-1 1' >>work; echo 'got word m-1 1'" {
		t.Errorf("in a container it is %s", got)
	}
	th.kind, th.boxed = threadHosted, false
	if got := th.text("word m-1 1"); got != "word m-1 1" {
		t.Error(got)
	}
}

func TestLedger(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "thread_1")
	if lines, err := readLedger(path); err != nil || lines != nil {
		t.Fatalf("a ledger that is not there has %q, %v", lines, err)
	}
	if err := os.WriteFile(path, []byte("in_1 word a\ndoubled word a\nin_2 word b\nanswered in_2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &host{dir: dir, open: map[string]*scribe{}}
	s, err := h.scribe("thread_1")
	if err != nil || !slices.Equal(s.notes, []note{{"in_1", "word a"}, {"in_2", "word b"}}) || !s.answered["in_2"] || s.answered["in_1"] {
		t.Fatalf("the scribe knows %+v, %v", s, err)
	}
	if again, err := h.scribe("thread_1"); err != nil || again != s {
		t.Errorf("a second scribe of one thread: %v", err)
	}
}

func TestThreadReport(t *testing.T) {
	var out strings.Builder
	r := threadResult{number: 2, threads: 3, ends: map[string]int{"completed": 2, "failed": 1}, messages: 9,
		strikes: []strike{{core: true, host: 1}, {host: 2, fresh: true}}}
	r.print(&out)
	for _, want := range []string{"round   2  ok", "3 (2 completed, 1 failed, 0 stopped), 9 messages, 0 answers", "kill core and host 1 +0 ms, host 2 for good +0 ms"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q has no %q", out.String(), want)
		}
	}
	r.problems = judgeStream([]threadFrame{{1, "a"}}, nil)
	out.Reset()
	r.print(&out)
	r.explain(&out, "/dir")
	if !strings.Contains(out.String(), "BROKEN (1)") || !strings.Contains(out.String(), "event 1 of a was not shown") {
		t.Error(out.String())
	}
}
