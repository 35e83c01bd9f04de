package appliance

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/masking"
)

// steppedClock goes on a second with each look at it.
type steppedClock struct {
	core.Clock
	at time.Time
}

func (c *steppedClock) Now() time.Time {
	c.at = c.at.Add(time.Second)
	return c.at
}

// Lines are told apart by level, part and text in both formats, and what is masked is masked in them.
func TestRecentLogLines(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		recent := newRecentLog(&out, &steppedClock{at: began})
		var mask masking.Masker
		if err := mask.Apply(masking.Config{Enabled: true, Fields: []string{"email"}, Method: "redact"}); err != nil {
			t.Fatal(err)
		}
		log := maskedLogger{newLogger(config.Log{Format: format}, newLogLevels(config.Log{Level: "debug"}), &out, recent), &mask}
		log.Debug("looked around")
		log.Named("api").Info("a key was made", "email", "ada@example.org", "n", 3)
		log.Named("store").Error("the disk is full", "path", "/x")
		log.Trace("not written")
		find := func(f core.ServerLogFilter) string {
			lines, err := recent.FindServerLog(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, l := range lines {
				all = append(all, l.Level+"|"+l.Part+"|"+l.Message)
			}
			return strings.Join(all, "\n")
		}
		for name, f := range map[string]core.ServerLogFilter{
			"error|wardroom.store|the disk is full": {Level: "warn"},
			"debug|wardroom|looked around":          {Text: "LOOKED"},
			"info|wardroom.api|a key was made":      {Text: "wardroom.API"},
		} {
			if got := find(f); !strings.HasPrefix(got, name) || strings.Contains(got, "\n") || strings.Contains(got, "ada@") {
				t.Errorf("%s: %+v: %q, not %q", format, f, got, name)
			}
		}
		if got := find(core.ServerLogFilter{Since: began.Add(time.Second), Tail: 1}); !strings.HasPrefix(got, "error|") {
			t.Errorf("%s: the last since: %q", format, got)
		}
		if got := find(core.ServerLogFilter{}); strings.Count(got, "\n") != 2 || !strings.Contains(got, "n=3") {
			t.Errorf("%s: all: %q", format, got)
		}
		if !bytes.Equal(recent.Bytes(), out.Bytes()) {
			t.Errorf("%s: what is kept is not what was written", format)
		}
	}
}

// What is kept has a bound, and a follower that is too slow learns how much it missed.
func TestRecentLogBound(t *testing.T) {
	recent := newRecentLog(new(bytes.Buffer), &steppedClock{})
	write := func(n int, text string) {
		for range n {
			if _, err := recent.Write([]byte("[INFO]  wardroom: " + text + "\n")); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(1, "first")
	stop := errors.New("enough")
	seen := 0
	err := recent.FollowServerLog(context.Background(), core.ServerLogFilter{}, func(line core.ServerLogLine) error {
		if seen++; seen == 1 {
			write(200, strings.Repeat("x", 2*recentLogLine))
			write(1, "last")
			return nil
		}
		if line.Lost < 100 || len(line.Message) > recentLogLine+10 {
			t.Errorf("%d lines lost before one of %d bytes", line.Lost, len(line.Message))
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Error(err)
	}
	if size := len(recent.Bytes()); size > recentLogBytes {
		t.Errorf("%d bytes are kept", size)
	}
}

// Numbers of a line are shown as they were written, whichever format the log has.
func TestRecentLogNumbers(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		recent := newRecentLog(&out, &steppedClock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
		newLogger(config.Log{Format: format}, newLogLevels(config.Log{Level: "debug"}), &out, recent).Info("counted", "bytes", 9007199254740993, "n", 12345678)
		lines, err := recent.FindServerLog(t.Context(), core.ServerLogFilter{})
		if err != nil || len(lines) != 1 || lines[0].Message != "counted bytes=9007199254740993 n=12345678" && lines[0].Message != "counted: bytes=9007199254740993 n=12345678" {
			t.Errorf("%s: %+v, %v", format, lines, err)
		}
	}
}
