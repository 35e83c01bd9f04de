package agentcli_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
)

// still is a CLI that reads and ignores what is typed.
func still(p *process) {
	p.kind(idle)
	for {
		if _, ok := p.read(); !ok {
			return
		}
	}
}

func stillAgent(t testing.TB, change func(*agentcli.Options)) *rig {
	t.Helper()
	g := open(t, newLauncher(t, still), func(o *agentcli.Options) {
		o.Adapters = []agentcli.Adapter{&fakeType{}}
		if change != nil {
			change(o)
		}
	})
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	return g
}

func TestAttachBeginsWithTheScreen(t *testing.T) {
	g := stillAgent(t, nil)
	p := g.l.process()
	p.print("first\r\n" + strings.Repeat("filler\r\n", 60) + "\x1b[1;31mlast\x1b[0m")
	before := g.attach("a", runtime.AttachOptions{})
	before.untilText("last")
	var v *viewer
	var f runtime.Frame
	wait(t, "the screen to have what viewers saw", func() bool {
		v = g.attach("a", runtime.AttachOptions{Tail: 100})
		var err error
		if f, err = v.Recv(); err != nil || !f.Repaint || f.Cols != 120 || f.Rows != 40 || f.Lost != 0 {
			t.Fatalf("frame %+v, %v", f, err)
		}
		if strings.Contains(string(f.Data), "last") {
			return true
		}
		_ = v.Close()
		return false
	})
	screen := vt.New(vt.Options{Cols: 120, Rows: 40})
	screen.Write(f.Data)
	if lines, _, _ := screen.Lines(0); len(lines) == 0 || !strings.Contains(lines[0]+lines[1], "first") {
		t.Errorf("scrollback %q", lines)
	}
	if text := screen.Text(); text[39] != "last" {
		t.Errorf("screen %q", text)
	}
	p.print(" word")
	next, err := v.Recv()
	if err != nil || string(next.Data) != " word" || next.Offset != f.Offset+5 {
		t.Errorf("frame %+v, %v", next, err)
	}
}

func TestResumeFromAnOffset(t *testing.T) {
	g := stillAgent(t, func(o *agentcli.Options) { o.RingBytes = 64 << 10 })
	p := g.l.process()
	v := g.attach("a", runtime.AttachOptions{})
	if _, err := v.Recv(); err != nil { // the screen, which would have no blank at the end of a row
		t.Fatal(err)
	}
	p.print("seen ")
	v.untilText("seen ")
	at := v.last.Offset
	p.print("missed")
	v.untilText("missed")
	_ = v.Close()
	back := g.attach("a", runtime.AttachOptions{From: &at})
	f, err := back.Recv()
	if err != nil || f.Repaint || f.Lost != 0 || f.Cols != 120 {
		t.Fatalf("frame %+v, %v", f, err)
	}
	back.untilText("missed")
	if got := back.text.String(); got != "missed" {
		t.Errorf("text %q", got)
	}
	p.print(strings.Repeat("x", 100<<10) + "end")
	back.untilText("end")
	late := g.attach("a", runtime.AttachOptions{From: &at})
	f, err = late.Recv()
	if err != nil || !f.Repaint || f.Lost != f.Offset-at {
		t.Errorf("frame %+v, %v", f, err)
	}
	beyond := uint64(1 << 40)
	f, err = g.attach("a", runtime.AttachOptions{From: &beyond}).Recv()
	if err != nil || !f.Repaint || f.Lost != 0 {
		t.Errorf("frame %+v, %v", f, err)
	}
}

func TestFramesKeepCharactersWhole(t *testing.T) {
	g := stillAgent(t, nil)
	p := g.l.process()
	v := g.attach("a", runtime.AttachOptions{})
	if _, err := v.Recv(); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("✳ häß 漢字 😀\r\n", 3000)
	go func() {
		for b := []byte(text); len(b) > 0; {
			n := min(len(b), 7)
			p.print(string(b[:n]))
			b = b[n:]
		}
		p.print("END")
	}()
	var got bytes.Buffer
	for !bytes.HasSuffix(got.Bytes(), []byte("END")) {
		f, err := v.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if f.Repaint || !utf8.Valid(f.Data) {
			t.Fatalf("frame %+v", f)
		}
		got.Write(f.Data)
	}
	if got.String() != text+"END" {
		t.Error("the viewer saw another text")
	}
}

func TestInvalidUTF8AndLongLine(t *testing.T) {
	t.Parallel()
	g := stillAgent(t, nil)
	p := g.l.process()
	v := g.attach("a", runtime.AttachOptions{})
	junk := strings.Repeat("\xff\xfe\xc3", 1000)
	p.print(junk)
	chunk := strings.Repeat("x", 1<<20)
	go func() {
		for range 100 {
			p.print(chunk)
		}
		p.print("\r\nthe end")
	}()
	v.untilText("the end")
	if a := g.status("a", runtime.StatusReady); a.Status != runtime.StatusReady {
		t.Errorf("agent %+v", a)
	}
}

func TestStalledViewerHoldsUpNobody(t *testing.T) {
	t.Parallel()
	g := stillAgent(t, nil)
	p := g.l.process()
	stalled := g.attach("a", runtime.AttachOptions{})
	if _, err := stalled.Recv(); err != nil {
		t.Fatal(err)
	}
	v := g.attach("a", runtime.AttachOptions{})
	begin := time.Now()
	go func() {
		line := strings.Repeat("y", 79) + "\r\n"
		chunk := strings.Repeat(line, 400)
		for range 640 { // 20 MiB
			p.print(chunk)
		}
		p.print("finished")
	}()
	v.untilText("finished")
	t.Logf("20 MiB beside a stalled viewer in %s", time.Since(begin))
	p.print(" now")
	f := stalled.until("a repaint", func(f runtime.Frame, _ string) bool { return f.Repaint })
	if f.Lost == 0 {
		t.Errorf("frame without loss at %d", f.Offset)
	}
	if !strings.Contains(string(f.Data), "finished") {
		stalled.untilText("now")
	}
}

// A viewer that asked for scrollback, and missed output, has its scrollback again once the output pauses or ends.
func TestScrollbackAfterLoss(t *testing.T) {
	t.Parallel()
	const tail = 100
	for _, ends := range []bool{false, true} {
		g := stillAgent(t, nil)
		p := g.l.process()
		v := g.attach("a", runtime.AttachOptions{Tail: tail})
		if _, err := v.Recv(); err != nil {
			t.Fatal(err)
		}
		reads := g.attach("a", runtime.AttachOptions{})
		go func() {
			chunk := strings.Repeat(strings.Repeat("y", 79)+"\r\n", 400)
			for range 640 { // 20 MiB
				p.print(chunk)
			}
			p.print("finished")
		}()
		reads.untilText("finished")
		if ends { // once all is read: of one that is killed the rest is not waited for long
			p.kill()
		}
		v.until("the repaint of what was missed", func(f runtime.Frame, _ string) bool { return f.Repaint && f.Lost > 0 })
		f := v.until("the scrollback", func(f runtime.Frame, _ string) bool { return f.Repaint && f.Lost == 0 })
		screen := vt.New(vt.Options{Cols: 120, Rows: 40, ScrollbackLines: 2 * tail})
		screen.Write(f.Data)
		if lines, _, _ := screen.Lines(0); len(lines) < tail || !strings.HasPrefix(lines[0], "yyy") {
			t.Errorf("%d lines of scrollback: %.200q", len(lines), lines)
		}
		if text := screen.Text(); text[39] != "finished" {
			t.Errorf("screen %q", text)
		}
		if ends {
			v.until("the end", func(f runtime.Frame, _ string) bool { return f.Exit != nil })
		}
	}
}

func TestViewerPermissionsAndEnds(t *testing.T) {
	g := stillAgent(t, nil)
	ro := g.attach("a", runtime.AttachOptions{ReadOnly: true, Cols: 50, Rows: 20})
	wantCode(t, ro.Input([]byte("x")), runtime.CodeForbidden)
	f, err := ro.Recv()
	if err != nil || f.Cols != 120 {
		t.Errorf("a read-only viewer set the size: %+v, %v", f, err)
	}
	v := g.attach("a", runtime.AttachOptions{})
	for _, size := range [][2]int{{0, 0}, {100_000, 100_000}, {-1, 20}, {1001, 20}} {
		wantCode(t, v.Resize(size[0], size[1]), runtime.CodeInvalidArgument)
	}
	_, err = g.Attach(t.Context(), "a", runtime.AttachOptions{Cols: 100_000})
	wantCode(t, err, runtime.CodeInvalidArgument)
	_, err = g.Attach(t.Context(), "nobody", runtime.AttachOptions{})
	wantCode(t, err, runtime.CodeNotFound)
	if err := v.Input([]byte("\x1b[?62;c\x1b]11;rgb:0/0/0\x07")); err != nil {
		t.Error(err)
	}
	if err := v.Input([]byte("k")); err != nil {
		t.Error(err)
	}
	wait(t, "the key", func() bool {
		p := g.l.process()
		p.mu.Lock()
		defer p.mu.Unlock()
		return string(p.written) == "k"
	})
	_ = v.Close()
	if _, err := v.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v", err)
	}
	wantCode(t, v.Input([]byte("x")), runtime.CodeUnavailable)
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

func TestTwoControllersAreNotMixed(t *testing.T) {
	t.Parallel()
	g := stillAgent(t, nil)
	var group sync.WaitGroup
	for _, letter := range []string{"a", "b", "c"} {
		v := g.attach("a", runtime.AttachOptions{})
		group.Go(func() {
			for range 200 {
				if err := v.Input([]byte("<" + strings.Repeat(letter, 30) + ">")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	p := g.l.process()
	wait(t, "all input", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.written) == 3*200*32
	})
	for part := range strings.SplitSeq(strings.TrimSuffix(string(p.written), ">"), ">") {
		if len(part) != 31 || strings.Trim(part[1:], part[1:2]) != "" {
			t.Fatalf("mixed: %q", part)
		}
	}
}

func TestInputToWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	g := stillAgent(t, nil)
	p := g.l.process()
	p.mu.Lock()
	p.deaf = true
	p.mu.Unlock()
	v := g.attach("a", runtime.AttachOptions{})
	if err := v.Input([]byte("lost")); err != nil {
		t.Error(err)
	}
	p.print("still alive")
	v.untilText("still alive")
	_, err := g.Send(t.Context(), "a", runtime.Input{Raw: "x", Timeout: 50 * time.Millisecond})
	wantCode(t, err, runtime.CodeTimeout)
}

func TestQueriesAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	g := stillAgent(t, nil)
	p := g.l.process()
	v := g.attach("a", runtime.AttachOptions{})
	p.print("\x1b[6n")
	wait(t, "the reply", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return string(p.written) == "\x1b[1;1R"
	})
	_ = v.Input([]byte("\x1b[7;7R")) // of the viewer's own terminal
	g = g.again()
	g.status("a", runtime.StatusReady)
	// History is not answered twice; what is asked once it was read is.
	wait(t, "the second reply", func() bool {
		p.print("\x1b[6n")
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.HasPrefix(string(p.written), "\x1b[1;1R\x1b[1;1R")
	})
}
