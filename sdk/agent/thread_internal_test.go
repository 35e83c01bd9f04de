package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// journalled makes a thread with a journal, without an agent around it.
func journalled(t *testing.T, dir string) *Thread {
	t.Helper()
	th := &Thread{Spec: protocol.ThreadSpawn{
		ThreadID: "thread_1", AgentType: "claude", Env: map[string]string{"KEY": "secret"},
		ContextFiles: []protocol.ThreadFile{{Path: "x", Content: "secret"}},
	}}
	th.entry.journal = newThreadJournal(dir, th)
	return th
}

// say notes an event as threads.tell does.
func say(t *testing.T, th *Thread, kind string, size int) {
	t.Helper()
	e := &th.entry
	e.last++
	e.mark = fmt.Sprint("mark ", e.last)
	e.over = kind == protocol.ThreadStopped
	payload, err := encodeThreadEvent(&protocol.ThreadEvent{
		ThreadID: th.Spec.ThreadID, Sequence: e.last, Type: kind,
		Data: protocol.ThreadData{Text: string(bytes.Repeat([]byte("x"), size))},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ev := &told{seq: e.last, payload: payload, mark: e.mark}
	e.unacked = append(e.unacked, ev)
	if err := e.journal.told(th, ev); err != nil {
		t.Fatal(err)
	}
}

func TestThreadJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	th := journalled(t, dir)
	path := th.entry.journal.path
	raw, err := os.ReadFile(path)
	if err != nil || bytes.Contains(raw, []byte("secret")) {
		t.Fatalf("the journal holds %s, %v", raw, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	say(t, th, protocol.ThreadStarted, 0)
	if readJournal(raw) != nil {
		t.Fatal("a thread that was never hosted is read")
	}
	if err := th.entry.journal.hosted(); err != nil {
		t.Fatal(err)
	}
	// Far more than a journal may hold, most of it acknowledged.
	for range 100 {
		say(t, th, protocol.ThreadMessage, 50<<10)
		e := &th.entry
		e.journal.acked(th, e.last-1)
		e.unacked = e.unacked[len(e.unacked)-1:]
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 2*maxJournal {
		t.Fatalf("the journal has %d bytes, %v", info.Size(), err)
	}
	say(t, th, protocol.ThreadStopped, 0)
	th.entry.journal.close()

	saved, err := loadThreads(dir, (*os.File).Sync)
	if err != nil || len(saved) != 1 {
		t.Fatalf("loaded %d threads, %v", len(saved), err)
	}
	s := saved[0]
	if s.last != 102 || s.mark != "mark 102" || !s.over || len(s.unacked) != 2 || s.unacked[1].seq != 102 || s.Spec.AgentType != "claude" {
		t.Fatalf("loaded %+v with %d events", s, len(s.unacked))
	}

	// Its end was acknowledged, which only the file has to hear of.
	s.journal.acked(nil, 102)
	s.journal.close()
	if saved, err := loadThreads(dir, (*os.File).Sync); err != nil || len(saved) != 0 {
		t.Fatalf("a thread that is over is loaded: %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("its journal is left: %v", err)
	}
}

// A journal may end anywhere: what was written whole counts.
func TestThreadJournalIsCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	th := journalled(t, dir)
	if err := th.entry.journal.hosted(); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		say(t, th, protocol.ThreadMessage, 10)
	}
	th.entry.journal.acked(th, 2)
	th.entry.journal.close()
	raw, err := os.ReadFile(th.entry.journal.path)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for n := range len(raw) + 1 {
		s := readJournal(raw[:n])
		if s == nil {
			if last > 0 {
				t.Fatalf("nothing is read of %d bytes, and something of less", n)
			}
			continue
		}
		if s.last < last || s.last > 4 {
			t.Fatalf("of %d bytes the last event is %d, after %d", n, s.last, last)
		}
		last = s.last
	}
	if s := readJournal(raw); s.last != 4 || len(s.unacked) != 2 || s.unacked[0].seq != 3 {
		t.Fatalf("read %+v", s)
	}
}

// A line that a full disk cut must not hide those after it: sequences would begin anew with numbers that the server has.
func TestThreadJournalGoesOnAfterAFullDisk(t *testing.T) {
	for name, then := range map[string]func(t *testing.T, th *Thread){
		"Told":  func(t *testing.T, th *Thread) { say(t, th, protocol.ThreadMessage, 10) },
		"Acked": func(_ *testing.T, th *Thread) { th.entry.journal.acked(th, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			th := journalled(t, dir)
			e := &th.entry
			if err := e.journal.hosted(); err != nil {
				t.Fatal(err)
			}
			say(t, th, protocol.ThreadMessage, 10)

			// Half of a line is written, then the disk is full.
			if _, err := e.journal.file.WriteString(`{"told":{"seq":2,`); err != nil {
				t.Fatal(err)
			}
			e.journal.close()
			full, err := os.Open(e.journal.path) // it takes no writes
			if err != nil {
				t.Fatal(err)
			}
			e.journal.file = full
			e.last++
			ev := &told{seq: e.last, payload: []byte("{}"), mark: "mark 2"}
			e.unacked = append(e.unacked, ev)
			if err := e.journal.told(th, ev); err == nil {
				t.Fatal("a write that failed is not reported")
			}
			last := e.last
			then(t, th) // there is room again
			e.journal.close()
			saved, err := loadThreads(dir, (*os.File).Sync)
			if err != nil || len(saved) != 1 || saved[0].last != max(last, e.last) {
				t.Fatalf("loaded %+v, %v; the last event was %d", saved, err, e.last)
			}
		})
	}
}

func TestThreadStateIsNotWritable(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	th := journalled(t, blocked)
	if err := th.entry.journal.hosted(); err == nil {
		t.Fatal("a thread whose state cannot be kept is hosted")
	}
	if _, err := loadThreads(blocked, (*os.File).Sync); err == nil {
		t.Fatal("a file is no directory")
	}
	if saved, err := loadThreads(filepath.Join(blocked+"x", "y"), (*os.File).Sync); err != nil || saved != nil {
		t.Fatalf("a directory that is missing: %v, %v", saved, err)
	}
}

// FuzzReadJournal checks that no journal is read wrongly: events are in order, and after the acknowledged ones.
func FuzzReadJournal(f *testing.F) {
	f.Add([]byte(`{"thread":{"spec":{"threadId":"thread_1","agentType":"a"}}}` + "\n" + `{"hosted":true}` + "\n" +
		`{"told":{"seq":1,"frame":{},"mark":"m"}}` + "\n" + `{"acked":1}` + "\n"))
	f.Add([]byte(`{"told":{"seq":1}}` + "\n"))
	f.Add([]byte("{}\nnull\n[]\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := readJournal(raw)
		if s == nil {
			return
		}
		for _, ev := range s.unacked {
			if ev.seq == 0 || ev.seq > s.last || !json.Valid(ev.payload) {
				t.Fatalf("event %+v of a journal up to %d", ev, s.last)
			}
		}
	})
}

// FuzzEncodeThreadEvent checks that an event fits, or is refused, and keeps its place.
func FuzzEncodeThreadEvent(f *testing.F) {
	f.Add("text", "reason", "tool", uint16(2000))
	f.Add("\xff\x00é", "", "", uint16(0))
	f.Fuzz(func(t *testing.T, text, reason, tool string, limit uint16) {
		e := &protocol.ThreadEvent{
			ThreadID: "thread_1", Sequence: 7, Type: protocol.ThreadBlocked,
			Data: protocol.ThreadData{
				Text: text, Reason: reason, Tool: &protocol.ThreadTool{Name: "t", Input: map[string]any{"x": tool}},
				Prompt: &protocol.ThreadPrompt{ID: "p", Text: text, Input: map[string]any{"x": tool}},
			},
		}
		bound := int(limit) + 3*eventOverhead
		raw, err := encodeThreadEvent(e, int64(bound))
		if err != nil {
			return
		}
		var back protocol.ThreadEvent
		if len(raw) > bound || json.Unmarshal(raw, &back) != nil || back.Sequence != 7 || back.Data.Prompt.ID != "p" {
			t.Fatalf("%d bytes of %d: %s", len(raw), bound, raw)
		}
	})
}

func TestRingForgets(t *testing.T) {
	var r ring
	for i := range maxEnded + 10 {
		r.add(fmt.Sprint(i), uint64(i))
	}
	r.add("20", 99)
	if len(r.seqs) != maxEnded || r.seqs["5"] != 0 || r.seqs["20"] != 99 || len(r.order) != maxEnded {
		t.Fatalf("%d sequences, %d ids", len(r.seqs), len(r.order))
	}
}

func TestPaceOfThreads(t *testing.T) {
	th := newThreads(&Agent{ledger: newLedger(1, func() time.Time { return time.Unix(1000, 0) })}, ThreadOptions{})
	for _, c := range []struct{ server, want int }{{0, framesPerSecond}, {100, 40}, {1000, 400}, {1, 1}} {
		th.limit(c.server)
		if th.rate != c.want {
			t.Errorf("a server that takes %d frames gets %d events", c.server, th.rate)
		}
	}
	th.limit(10) // 4 a second: these come at once, the next after a quarter of a second
	for range 4 {
		if d := th.turn(); d != 0 {
			t.Fatalf("an event of the first second waits %s", d)
		}
	}
	if d := th.turn(); d != 250*time.Millisecond {
		t.Fatalf("the next waits %s", d)
	}
}

// deafHost takes everything.
type deafHost struct{}

func (deafHost) Spawn(context.Context, *Thread) error                          { return nil }
func (deafHost) Message(context.Context, *Thread, ThreadMessage) error         { return nil }
func (deafHost) Answer(context.Context, *Thread, protocol.ThreadAnswer) error  { return nil }
func (deafHost) Stop(context.Context, *Thread, protocol.ThreadStop) error      { return nil }
func (deafHost) Type(context.Context, *Thread, string, string, []string) error { return nil }

// TestRememberedInputsHoldNoText checks that a thread which lives long does not hold all texts that it ever got.
func TestRememberedInputsHoldNoText(t *testing.T) {
	a, err := New(Options{URL: "http://127.0.0.1:1", Name: "n", Threads: &ThreadOptions{Max: 1, Types: []string{"x"}, Host: deafHost{}}})
	if err != nil {
		t.Fatal(err)
	}
	th := a.threads
	if err := th.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	thread := th.make(protocol.ThreadSpawn{ThreadID: "thread_1"})
	th.mu.Lock()
	th.enter(thread)
	th.mu.Unlock()
	th.input(protocol.ThreadInput{ThreadID: "thread_1", InputID: "in_1", Message: "a long story"})
	th.input(protocol.ThreadInput{ThreadID: "thread_1", InputID: "in_2", Raw: "typed", Keys: []string{"Enter"}})
	th.input(protocol.ThreadInput{ThreadID: "thread_1", InputID: "in_3", Answer: &protocol.ThreadAnswer{Text: "yes"}})
	a.handlers.Wait()
	th.mu.Lock()
	defer th.mu.Unlock()
	for _, id := range []string{"in_1", "in_2", "in_3"} {
		in := thread.entry.inputs[id]
		if in == nil || in.InputID != id || in.ThreadID != "thread_1" {
			t.Fatalf("%s is not remembered: %+v", id, in)
		}
		if in.Message != "" || in.Raw != "" || in.Keys != nil || in.Answer != nil {
			t.Errorf("%s is remembered as %+v", id, in.ThreadInput)
		}
	}
	thread.cancel(ErrThreadOver)
}
