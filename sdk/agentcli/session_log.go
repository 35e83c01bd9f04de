package agentcli

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/agentlog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	logEvery = 250 * time.Millisecond // terminal lines are logged so often
	logMost  = 500                    // terminal lines that are logged at a time
)

// logbook writes the log of an agent: what left its screen, what it said, and what happened to it. The session's loop
// owns it.
type logbook struct {
	log     *agentlog.Log
	display *display
	redact  redactor
	now     func() time.Time
	logger  hclog.Logger

	loggedTo   uint64 // scrollback lines before it are in the log
	lastLogged time.Time
}

// lines writes the lines that left the screen to the log. While output may come, those at the end stay that may hold the begin of
// a secret: over means that none comes any more. changed reports whether loggedTo moved.
func (b *logbook) lines(over bool) (changed bool) {
	b.lastLogged = time.Now()
	lines, first, next := b.display.lines(b.loggedTo)
	text := strings.Join(lines, "\n")
	switch whole := b.redact.whole(text); {
	case whole == len(text):
	case over:
		screen := strings.Join(b.display.shown(), "\n")
		if !strings.HasPrefix(b.redact.text(text+"\n"+screen), b.redact.text(text)) { // it goes on there
			text = text[:whole] + redacted
		}
	default: // the rest of a secret may still be on the screen
		held := strings.Count(text[whole:], "\n") + 1
		lines, next = lines[:len(lines)-held], next-uint64(held)
		text = strings.Join(lines, "\n")
	}
	if next == b.loggedTo && len(lines) == 0 {
		return false
	}
	if len(lines) > 0 {
		lines = strings.Split(b.redact.text(text), "\n")
	}
	skipped := first - min(b.loggedTo, first)
	if len(lines) > logMost {
		skipped += uint64(len(lines) - logMost)
		lines = lines[len(lines)-logMost:]
	}
	b.loggedTo = next
	out := make([]runtime.LogLine, 0, len(lines)+1)
	now := b.now().UTC()
	if skipped > 0 {
		out = append(out, runtime.LogLine{Timestamp: now, Stream: runtime.StreamEvent, Line: fmt.Sprintf("%d lines of the terminal are left out", skipped)})
	}
	for _, line := range lines {
		out = append(out, runtime.LogLine{Timestamp: now, Stream: runtime.StreamTerminal, Line: line})
	}
	b.write(out...)
	return true
}

// record writes a text to the log, line by line. It holds no secret any more.
func (b *logbook) record(stream, text string) {
	now := b.now().UTC()
	var out []runtime.LogLine
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, runtime.LogLine{Timestamp: now, Stream: stream, Line: line})
	}
	b.write(out...)
}

// note writes what happened to the log.
func (b *logbook) note(text string) { b.record(runtime.StreamEvent, b.redact.text(text)) }

func (b *logbook) write(lines ...runtime.LogLine) {
	if err := b.log.Write(lines...); err != nil {
		b.logger.Warn("lines of the log are lost", "lines", len(lines), "error", err)
	}
}
