package pluginhost

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// Few lines fill the log of the service too, where they are long: a plugin that writes one line without end has pieces of 64 KiB.
func TestLongLines(t *testing.T) {
	var out strings.Builder
	clock := coretest.NewClock()
	l := loggerOf(&out, clock)
	l.flood = &flood{}
	long := strings.Repeat("x", longestLine)
	for range 200 {
		l.Info(long)
	}
	if out.Len() > 2*floodBytes || !strings.Contains(out.String(), "plugin writes without end") {
		t.Errorf("%d KiB of %d are in the log", out.Len()>>10, 200*longestLine>>10)
	}
	if lines, _ := l.ring.tail(0); len(lines) != 200 {
		t.Errorf("%d lines are kept", len(lines))
	}
	clock.Advance(floodTime)
	before := out.Len()
	l.Info("news", "timestamp", "2026")
	if text := out.String()[before:]; !strings.Contains(text, "news") || !strings.Contains(text, "more than is logged here") {
		t.Errorf("afterwards: %q", text)
	}
	l.ring.add(core.PluginLogLine{Message: strings.Repeat("x", ringLine-1) + "é"})
	if lines, _ := l.ring.tail(1); strings.ContainsRune(lines[0].Message, '\uFFFD') || lines[0].Message != strings.ToValidUTF8(lines[0].Message, "?") {
		t.Error("a line is cut within a character")
	}
}

// What a plugin writes does not steer the terminal that shows the log.
func TestNoControl(t *testing.T) {
	var out strings.Builder
	l := loggerOf(&out, coretest.NewClock())
	l.Logger = hclog.New(&hclog.LoggerOptions{Output: &out, JSONFormat: true})
	l.Info("plain", "timestamp", "2026", "value", "a\u202e\x1b[2J")
	if lines, _ := l.ring.tail(1); lines[0].Message != `plain value=a\u202e\x1b[2J` || strings.ContainsRune(out.String(), '\u202e') {
		t.Errorf("kept %q, log %q", lines[0].Message, out.String())
	}
	out.Reset()
	l = loggerOf(&out, coretest.NewClock())
	l.Info("clear \x1b[2J\x00\x07 all\tof it, é\u202e\u2028\x9b2J", "timestamp", "2026", "value", "\x1b[2J")
	if text := out.String(); strings.ContainsAny(text, "\x1b\x00\x07") || !strings.Contains(text, `clear \x1b[2J\x00\a all`+"\tof it, é"+`\u202e\u2028`+"\uFFFD2J") {
		t.Errorf("log %q", text)
	}
}
