package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/journal"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t *testing.T, path string, keep int) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path, keep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func add(t *testing.T, j *journal.Journal, agent, text string) uint64 {
	t.Helper()
	e := &runtime.Event{AgentID: agent, Type: runtime.EventMessage, Text: text}
	if err := j.Append(e, 0); err != nil {
		t.Fatal(err)
	}
	return e.Seq
}

func next(t *testing.T, r *journal.Reader) runtime.Event {
	t.Helper()
	e, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// What is removed is told to no reader and is not in the file, then and after a restart; readers go on, and no number comes
// twice.
func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e")
	j := mustOpen(t, path, 100)
	for i := range 10 {
		add(t, j, fmt.Sprint("a", i%2), fmt.Sprint("text-", i))
	}
	r := j.Read(t.Context(), runtime.EventOptions{})
	if e := next(t, r); e.Text != "text-0" {
		t.Errorf("event %q", e.Text)
	}
	if n, err := j.Remove(func(agent string) bool { return agent == "a1" }); n != 5 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := j.Remove(func(agent string) bool { return agent == "a1" }); n != 0 || err != nil {
		t.Fatalf("once more: %d, %v", n, err)
	}
	for _, want := range []string{"text-2", "text-4", "text-6", "text-8"} {
		if e := next(t, r); e.Text != want {
			t.Errorf("event %q, want %q", e.Text, want)
		}
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "text-3") || !strings.Contains(string(text), "text-4") {
		t.Errorf("the file: %s, %v", text, err)
	}
	if _, err := j.Remove(func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if seq := add(t, j, "a0", "later"); seq != 11 {
		t.Errorf("the next number is %d", seq)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Remove(func(string) bool { return true }); err == nil {
		t.Error("a closed journal removes")
	}
	again := mustOpen(t, path, 100)
	if e := next(t, again.Read(t.Context(), runtime.EventOptions{})); e.Text != "later" || e.Seq != 11 {
		t.Errorf("after a restart: %+v", e)
	}
}

func TestOrderAndFilter(t *testing.T) {
	j := mustOpen(t, filepath.Join(t.TempDir(), "e"), 100)
	for i := range 10 {
		add(t, j, fmt.Sprint("a", i%2), fmt.Sprint(i))
	}
	r := j.Read(t.Context(), runtime.EventOptions{AgentID: "a1", After: 3})
	for _, want := range []string{"3", "5", "7", "9"} {
		if e := next(t, r); e.Text != want {
			t.Errorf("event %q, want %q", e.Text, want)
		}
	}
	if list, _ := j.Since("a0", 6); len(list) != 2 || list[0].Text != "6" || list[1].Text != "8" {
		t.Errorf("since 6: %+v", list)
	}
	if list, mark := j.Since("nobody", 0); list != nil || mark != 0 {
		t.Errorf("of nobody: %+v", list)
	}
	_ = r.Close()
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v", err)
	}
}

func TestNumbersRiseOverRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e")
	last := uint64(0)
	for range 5 {
		j := mustOpen(t, path, 10)
		for i := range 15 {
			seq := add(t, j, "a", fmt.Sprint(i))
			if seq <= last {
				t.Fatalf("number %d after %d", seq, last)
			}
			last = seq
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if err := j.Append(&runtime.Event{}, 0); err == nil {
			t.Error("an event was taken after Close")
		}
	}
	j := mustOpen(t, path, 10)
	r := j.Read(t.Context(), runtime.EventOptions{})
	for i := range 10 {
		if e := next(t, r); e.Text != fmt.Sprint(i+5) {
			t.Errorf("event %q", e.Text)
		}
	}
}

// TestCrashOfTheMachine loses the end of the file: no number appears twice.
func TestCrashOfTheMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e")
	j := mustOpen(t, path, 10)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for range 8 {
		last = add(t, j, "a", "lost")
	}
	_ = j.Close()
	if err := os.WriteFile(path, append(before, `{"event":{"seq":1,"age`...), 0o600); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, path, 10)
	if seq := add(t, j, "a", "new"); seq <= last {
		t.Errorf("number %d was used before, up to %d", seq, last)
	}
}

func TestSlowReader(t *testing.T) {
	j := mustOpen(t, filepath.Join(t.TempDir(), "e"), 8)
	add(t, j, "a", "first")
	r := j.Read(t.Context(), runtime.EventOptions{})
	next(t, r)
	for i := range 50 {
		add(t, j, "a", fmt.Sprint(i))
	}
	if _, err := r.Next(); runtime.ErrorCode(err) != runtime.CodeLagged {
		t.Errorf("error %v", err)
	}
	if e := next(t, r); e.Text == "0" {
		t.Errorf("event %q", e.Text)
	}
	live := j.Read(t.Context(), runtime.EventOptions{Live: true})
	got := make(chan string, 1)
	go func() {
		e, _ := live.Next()
		got <- e.Text
	}()
	add(t, j, "a", "now")
	if text := <-got; text != "now" && text != "" {
		t.Errorf("event %q", text)
	}
}

// TestMarks come back with the newest event of an agent, also after a restart and a rewrite.
func TestMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e")
	j := mustOpen(t, path, 8)
	for i := range 5 {
		if err := j.Append(&runtime.Event{AgentID: fmt.Sprint("a", i%2)}, uint64(10*i)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		for agent, want := range map[string]uint64{"a0": 40, "a1": 30} {
			if list, mark := j.Since(agent, 0); len(list) == 0 || mark != want {
				t.Errorf("agent %s: mark %d, want %d", agent, mark, want)
			}
		}
		_ = j.Close()
		j = mustOpen(t, path, 8)
	}
}

// TestAnotherJournal is read by somebody who knows the one that was there before.
func TestAnotherJournal(t *testing.T) {
	j := mustOpen(t, filepath.Join(t.TempDir(), "e"), 8)
	first := add(t, j, "a", "first")
	if e := next(t, j.Read(t.Context(), runtime.EventOptions{After: first + 100_000})); e.Text != "first" {
		t.Errorf("event %q", e.Text)
	}
	// Or has, and more of its events than this one has.
	read := func(log string, after uint64) runtime.Event {
		t.Helper()
		return next(t, j.Read(t.Context(), runtime.EventOptions{Log: log, After: after}))
	}
	id := read("", 0).Log
	second := add(t, j, "a", "second")
	if e := read("another", first); e.Text != "first" || e.Log != id || id == "" || len(id) > runtime.MaxLog {
		t.Errorf("event %q of log %q", e.Text, e.Log)
	}
	for _, log := range []string{id, ""} {
		if e := read(log, first); e.Text != "second" {
			t.Errorf("event %q", e.Text)
		}
	}
	first = second
	// Who has seen the newest gets the next one only.
	r := j.Read(t.Context(), runtime.EventOptions{After: first})
	add(t, j, "a", "third")
	if e := next(t, r); e.Text != "third" {
		t.Errorf("event %q", e.Text)
	}
}

// TestID is the same over restarts and rewrites, and another one where the file was lost. A file of an earlier version gets one.
func TestID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e")
	if err := os.WriteFile(path, []byte("{\"reserve\":9}\n{\"event\":{\"seq\":3,\"agentId\":\"a\",\"text\":\"old\"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := mustOpen(t, path, 10)
	id := next(t, j.Read(t.Context(), runtime.EventOptions{})).Log
	if id == "" {
		t.Error("there is no id")
	}
	for range 3 {
		for range 100 {
			add(t, j, "a", "more")
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = mustOpen(t, path, 10)
		if e := next(t, j.Read(t.Context(), runtime.EventOptions{})); e.Log != id {
			t.Errorf("the id is %q after a restart, and was %q", e.Log, id)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, path, 10)
	add(t, j, "a", "new")
	if e := next(t, j.Read(t.Context(), runtime.EventOptions{})); e.Log == id || e.Log == "" {
		t.Errorf("the id of the new journal is %q", e.Log)
	}
}

// TestLargeEvents bounds what is kept by bytes as well, in memory, in the file and over a restart.
func TestLargeEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e")
	j := mustOpen(t, path, 1000)
	big := strings.Repeat("x", 1<<20)
	var last uint64
	for range 64 {
		last = add(t, j, "a", big)
	}
	kept := func(j *journal.Journal) (n int, newest uint64) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := j.Read(ctx, runtime.EventOptions{})
		for newest < last {
			newest = next(t, r).Seq
			n++
		}
		return n, newest
	}
	if n, newest := kept(j); n < 30 || n > 41 || newest != last {
		t.Errorf("%d events are kept, up to %d; want some 32 MiB of them, up to %d", n, newest, last)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 70<<20 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	_ = j.Close()
	j = mustOpen(t, path, 1000)
	if n, newest := kept(j); n < 30 || n > 33 || newest != last {
		t.Errorf("%d events are kept after a restart, up to %d", n, newest)
	}
}

func TestEnds(t *testing.T) {
	j := mustOpen(t, filepath.Join(t.TempDir(), "e"), 8)
	ctx, cancel := context.WithCancel(t.Context())
	r := j.Read(ctx, runtime.EventOptions{})
	cancel()
	if _, err := r.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	r = j.Read(t.Context(), runtime.EventOptions{})
	_ = j.Close()
	if _, err := r.Next(); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("error %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("{\"reserve\":9}\n{\"event\":{\"seq\":3}}\n"))
	f.Add([]byte("\n\x00{}\n{\"event\":null}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "e")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(path, 10)
		if err != nil {
			return
		}
		defer func() { _ = j.Close() }()
		if err := j.Append(&runtime.Event{}, 0); err != nil {
			t.Error(err)
		}
	})
}

// TestNothingMissedAfterARestart reads a journal that is empty, and whose numbers go on after those that a crash left out:
// the first event is no gap, for whoever waited from the start and for whoever knows a number of before.
func TestNothingMissedAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e")
	first := mustOpen(t, path, 10)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	j := mustOpen(t, path, 10)
	type outcome struct {
		e   runtime.Event
		err error
	}
	for _, after := range []uint64{0, 1, 3} {
		r := j.Read(t.Context(), runtime.EventOptions{AgentID: fmt.Sprint("a", after), After: after})
		got := make(chan outcome, 1)
		if e, _, err := r.Look(); e != nil || err != nil {
			t.Fatalf("an empty journal has %+v, %v", e, err)
		}
		go func() {
			e, err := r.Next()
			got <- outcome{e, err}
		}()
		seq := add(t, j, fmt.Sprint("a", after), "first")
		if o := <-got; o.err != nil || o.e.Seq != seq || seq <= 3 {
			t.Errorf("after %d: event %d of %d, %v", after, o.e.Seq, seq, o.err)
		}
	}
}
