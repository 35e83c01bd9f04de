package cmd

import (
	"bytes"
	"os"
	"sync"

	"golang.org/x/term"
)

// Sequences for the terminal of a person. A program at the other end may have switched on anything.
const (
	saveTitle    = "\x1b[22;0t"
	restoreTitle = "\x1b[23;0t"
	enterScreen  = "\x1b[?1049h"
	leaveScreen  = "\x1b[?1049l"
	// plainModes takes back modes: soft reset, cursor keys and keypad, wrapping, mouse, focus, pasting,
	// synchronised output, both enhanced keyboards, cursor, colours, links, character sets, margins.
	plainModes = "\x1b[!p\x1b[?1l\x1b>\x1b[?7h\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l" +
		"\x1b[?1015l\x1b[?1016l\x1b[?2004l\x1b[?2026l\x1b[=0;1u\x1b[<32u\x1b[>4m\x1b[?25h\x1b[0 q\x1b[m\x1b]8;;\x1b\\\x1b(B\x0f\x1b[r"
	clearScreen = "\x1b[2J\x1b[H"
)

// fullReset begins a repaint. It would throw away the screen that the person had before, so a gentler one takes
// its place.
var fullReset = []byte("\x1bc")

// screenGuard holds this terminal while an agent's is shown in it.
type screenGuard struct {
	out   *os.File
	undo  func()     // puts the line discipline back
	mu    sync.Mutex // guards writing and ended
	ended bool
}

// takeScreen puts the terminal into raw mode on a screen of its own.
func takeScreen(in, out *os.File) (*screenGuard, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	g := &screenGuard{out: out, undo: func() { _ = term.Restore(int(in.Fd()), state) }}
	if _, err := out.WriteString(saveTitle + enterScreen + clearScreen); err != nil {
		g.undo()
		return nil, err
	}
	return g, nil
}

// write shows output.
func (g *screenGuard) write(data []byte, repaint bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return os.ErrClosed
	}
	if rest, ok := bytes.CutPrefix(data, fullReset); ok && repaint {
		if _, err := g.out.WriteString(plainModes + enterScreen + clearScreen); err != nil {
			return err
		}
		data = rest
	}
	_, err := g.out.Write(data)
	return err
}

// notice shows a line at the bottom and leaves the cursor where it was.
func (g *screenGuard) notice(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		_, _ = g.out.WriteString("\x1b7\x1b[999;1H\x1b[0;7m wardroom: " + text + " \x1b[0m\x1b[K\x1b8")
	}
}

// others shows who else is at the agent's terminal: at the bottom, and in the title of this one.
func (g *screenGuard) others(text string) {
	g.notice(text)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		_, _ = g.out.WriteString("\x1b]2;wardroom: " + text + "\x07")
	}
}

// restore gives the terminal back as it was. Safe to call twice.
func (g *screenGuard) restore() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return
	}
	g.ended = true
	// Modes of the keyboard are kept for each of the two screens, so they are taken back on both.
	_, _ = g.out.WriteString(plainModes + leaveScreen + plainModes + restoreTitle)
	g.undo()
}
