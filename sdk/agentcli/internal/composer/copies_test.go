package composer_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
)

var begin = time.Date(2026, 12, 1, 7, 0, 0, 0, time.UTC)

// typed types a message, Enter too, and returns what it left out.
func typed(c *composer.Copies, text string) (left int) {
	c.Submit(text, begin)
	for _, s := range c.Type([]agentcli.Step{{Write: []byte(text)}, {Write: []byte("\r")}}) {
		if !s.If(nil) {
			left++
		}
	}
	return left
}

func wantSpare(t *testing.T, c *composer.Copies, text string, at time.Time, want bool) {
	t.Helper()
	if got, _ := c.IsSpare(text, at); got != want {
		t.Errorf("%q is spare: %v", text, got)
	}
}

// What was typed again of a message that was taken is spare, once for each time, and for two minutes.
func TestCopies(t *testing.T) {
	var c composer.Copies
	typed(&c, "one")
	typed(&c, "one")
	third := c.Type([]agentcli.Step{{Write: []byte("\r")}})
	wantSpare(t, &c, "one", begin, false) // it is on its way
	c.Over(1, begin)
	if third[0].If(nil) {
		t.Error("it is typed on")
	}
	if spare, ran := c.IsSpare(" o\nne", begin); !spare || !ran || !c.Left() {
		t.Errorf("spare %v, it ran %v", spare, ran)
	}
	wantSpare(t, &c, "one", begin, false)

	typed(&c, "two")
	c.Over(0, begin) // given up
	wantSpare(t, &c, "two", begin.Add(3*time.Minute), false)
	if spare, ran := c.IsSpare("two", begin); !spare || ran {
		t.Errorf("spare %v, it ran %v", spare, ran)
	}
}

// A later process knows of the copies: of a message that was on its way the first one is to run.
func TestCopiesKept(t *testing.T) {
	var c, later composer.Copies
	typed(&c, "given up")
	c.Over(0, begin)
	typed(&c, "on its way")
	typed(&c, "on its way")
	later.Keep(c.Kept())
	for _, text := range []string{"given up", "on its way"} {
		wantSpare(t, &later, text, begin, text == "given up")
	}
	wantSpare(t, &later, "on its way", begin, true)
	for _, text := range []string{"given up", "on its way"} {
		wantSpare(t, &later, text, begin, false)
	}

	// One that is sent again runs, and once.
	later.Keep(c.Kept())
	typed(&later, "on its way")
	wantSpare(t, &later, "on its way", begin, false)
	later.Over(1, begin)
	wantSpare(t, &later, "on its way", begin, true)

	typed(&later, "taken")
	later.Over(1, begin)
	if kept := later.Kept(); len(kept) > 0 {
		t.Errorf("kept %+v", kept)
	}
}
