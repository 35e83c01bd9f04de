package cmd_test

import (
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
)

// shows waits until the person's terminal of that size, as a screen, is as want has it.
func (p *person) shows(cols, rows int, what string, want func(rows []string) bool) {
	p.t.Helper()
	limit := time.NewTimer(attachPatience)
	defer limit.Stop()
	for {
		s := vt.New(vt.Options{Cols: cols, Rows: rows})
		s.Write([]byte(p.text()))
		if want(s.Text()) {
			return
		}
		select {
		case <-p.news:
		case <-limit.C:
			p.t.Fatalf("the terminal does not show %s: %q", what, s.Text())
		}
	}
}

// TestAttachFromASmallerTerminal: the agent's terminal has the size of another viewer. What is shown here is a part of
// it, cut at the border, and not its lines wrapped around.
func TestAttachFromASmallerTerminal(t *testing.T) {
	d := newDesk(t)
	p := sitDown(t, d.URL, "magent_1") // 100x30
	s := wait(t, d.opens, "a viewer")
	wide := strings.Repeat("0123456789", 14)
	frame := runtime.Frame{Data: []byte("\x1bc" + wide + "\r\nsecond\r\n"), Offset: 10, Repaint: true, Cols: 140, Rows: 40}
	s.say(t, frame)
	p.shows(100, 30, "the first line, cut", func(rows []string) bool {
		return rows[0] == wide[:100] && rows[1] == "second" && rows[2] == ""
	})
	s.say(t, runtime.Frame{Data: []byte("\x1b[40;1Hat the bottom"), Offset: 30})
	p.shows(100, 30, "the row of the cursor", func(rows []string) bool { return rows[29] == "at the bottom" })
	s.say(t, runtime.Frame{Data: []byte("\x1b[1;1H"), Offset: 36})
	p.shows(100, 30, "the top again", func(rows []string) bool { return rows[1] == "second" })

	// A terminal that grows shows all of it.
	if err := pty.Setsize(p.tty, &pty.Winsize{Cols: 150, Rows: 45}); err != nil {
		t.Fatal(err)
	}
	p.shows(150, 45, "the whole screen", func(rows []string) bool { return rows[0] == wide && rows[39] == "at the bottom" })
	s.say(t, runtime.Frame{Data: []byte("\x1b[3;1Hthird"), Offset: 50})
	p.shows(150, 45, "what follows", func(rows []string) bool { return rows[2] == "third" })
	p.types("\x1d")
	p.leaves(0)
}
