package agentcli_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// checkpointed waits until the newest checkpoint holds everything that the process wrote.
func checkpointed(t *testing.T, p *process) {
	t.Helper()
	wait(t, "a checkpoint", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.note != nil && p.noteAt == uint64(len(p.out))
	})
}

// TestCrashKeepsTheRing attaches from an offset before the checkpoint: nothing is lost, nothing is drawn anew.
func TestCrashKeepsTheRing(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	p := g.l.process()
	p.mu.Lock()
	from := uint64(len(p.out))
	p.mu.Unlock()
	past := strings.Repeat("a line of the past\r\n", 500)
	p.print(past)
	checkpointed(t, p)
	p.print("and after the checkpoint")

	next := g.crash()
	v := next.attach("a", runtime.AttachOptions{From: &from})
	f := v.until("all of it", func(_ runtime.Frame, text string) bool { return len(text) >= len(past)+len("and after the checkpoint") })
	if got := v.text.String(); got != past+"and after the checkpoint" {
		t.Errorf("it showed %d bytes: %.80q", len(got), got)
	}
	if f.Repaint || f.Lost > 0 || f.Offset != from+uint64(v.text.Len()) {
		t.Errorf("the last frame is %+v, the first byte was at %d", f, from)
	}
}

// TestCrashWithALargerPast keeps as much as the ring holds.
func TestCrashWithALargerPast(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	p := g.l.process()
	for range 20 {
		p.print(strings.Repeat("0123456789abcdef", 2<<10))
	}
	checkpointed(t, p)
	p.mu.Lock()
	end := uint64(len(p.out))
	p.mu.Unlock()

	next := g.crash()
	from := end - 256<<10
	v := next.attach("a", runtime.AttachOptions{From: &from})
	v.until("the whole ring", func(f runtime.Frame, text string) bool {
		if f.Repaint || f.Lost > 0 {
			t.Fatalf("frame at %d: repaint %t, lost %d", f.Offset, f.Repaint, f.Lost)
		}
		return len(text) == 256<<10
	})
}

// TestCrashAndAViewerAhead comes back to where the viewer was before that was read again.
func TestCrashAndAViewerAhead(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	p := g.l.process()
	checkpointed(t, p)
	p.mu.Lock()
	p.slowFrom, p.slow = uint64(len(p.out)), make(chan struct{})
	p.mu.Unlock()
	p.print("what the viewer has seen")
	p.mu.Lock()
	from := uint64(len(p.out))
	p.mu.Unlock()

	next := g.crash()
	v := next.attach("a", runtime.AttachOptions{From: &from})
	close(p.slow)
	p.print("and what it has not")
	f := v.until("the rest", func(f runtime.Frame, text string) bool {
		if f.Repaint || f.Lost > 0 || f.Offset < from {
			t.Fatalf("frame at %d: repaint %t, lost %d; the viewer was at %d", f.Offset, f.Repaint, f.Lost, from)
		}
		return strings.Contains(text, "and what it has not")
	})
	if got := v.text.String(); got != "and what it has not" || f.Offset != from+uint64(len(got)) {
		t.Errorf("it showed %q up to %d", got, f.Offset)
	}
}
