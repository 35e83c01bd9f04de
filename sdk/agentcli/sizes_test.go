package agentcli_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func (p *process) size() (cols, rows, resizes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cols, p.rows, p.resizes
}

func (g *rig) wantSize(cols, rows int) {
	g.t.Helper()
	wait(g.t, "a size", func() bool {
		c, r, _ := g.l.process().size()
		return c == cols && r == rows
	})
}

func TestSizeOfTheViewerThatTypedLast(t *testing.T) {
	t.Parallel()
	g := stillAgent(t, nil)
	first := g.attach("a", runtime.AttachOptions{Cols: 90, Rows: 30})
	g.wantSize(90, 30)
	second := g.attach("a", runtime.AttachOptions{Cols: 70, Rows: 25})
	if err := second.Resize(71, 26); err != nil {
		t.Fatal(err)
	}
	if err := first.Resize(5, 5); err != nil { // brought up to the floor
		t.Fatal(err)
	}
	g.wantSize(40, 10)
	if err := second.Input([]byte("x")); err != nil {
		t.Fatal(err)
	}
	g.wantSize(71, 26)
	first.until("the real size", func(f runtime.Frame, _ string) bool { return f.Cols == 71 && f.Rows == 26 })
	_ = second.Close()
	g.wantSize(40, 10)
	_, _, before := g.l.process().size()
	for range 20 {
		_ = first.Resize(80, 24)
		_ = first.Resize(81, 24)
	}
	g.wantSize(81, 24)
	if _, _, after := g.l.process().size(); after-before > 2 {
		t.Errorf("%d resizes for one movement", after-before)
	}
	_ = first.Close()
	<-time.After(150 * time.Millisecond)
	g.wantSize(81, 24) // frozen without viewers
}

func TestSmallestSize(t *testing.T) {
	g := stillAgent(t, func(o *agentcli.Options) { o.ResizePolicy = agentcli.ResizeSmallest })
	g.attach("a", runtime.AttachOptions{Cols: 100, Rows: 20})
	g.wantSize(100, 20)
	small := g.attach("a", runtime.AttachOptions{Cols: 60, Rows: 50})
	g.wantSize(60, 20)
	_ = small.Close()
	g.wantSize(100, 20)
}

// A size is in force before the keys that were typed after it.
func TestSizeBeforeKeys(t *testing.T) {
	g := stillAgent(t, nil)
	v := g.attach("a", runtime.AttachOptions{Cols: 90, Rows: 30})
	g.wantSize(90, 30)
	for i := range 20 {
		if err := v.Resize(100+i, 40); err != nil {
			t.Fatal(err)
		}
		if err := v.Input([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if cols, rows, _ := g.l.process().size(); cols != 100+i || rows != 40 {
			t.Fatalf("%dx%d when the keys are typed, want %dx40", cols, rows, 100+i)
		}
	}
}
