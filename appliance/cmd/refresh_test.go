package cmd_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core/coretest"
)

// manyAgents serves a list of so many agents, and counts how often it was read.
func manyAgents(t *testing.T, n int) (url string, looks *atomic.Int64) {
	t.Helper()
	looks = new(atomic.Int64)
	url = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		var rows []string
		for i := range n {
			rows = append(rows, fmt.Sprintf(`{"id":"agent_%d","name":"name-%d-%s","status":"connected","healthy":true}`, i, i, strings.Repeat("x", 40)))
		}
		say(w, 200, fmt.Sprintf(`{"agents":[%s],"total":%d}`, strings.Join(rows, ","), n))
		looks.Add(1)
	})
	return url, looks
}

// A table that is drawn again and again keeps to the terminal: its head stays, nothing scrolls away, and what is left out is counted.
func TestRefreshFits(t *testing.T) {
	for _, tt := range []struct {
		cols, rows int
		wide       bool
		want       string
	}{
		{100, 8, true, "and 27 more lines"}, {100, 8, false, "and 26 more lines"}, {30, 8, true, "every 2s"}, {20, 3, false, "every 2s"}, {80, 1, false, "every 2s"},
		{58, 40, false, "connected"}, {20, 40, false, ""}, {1, 1, false, ""},
	} {
		t.Run(fmt.Sprintf("%dx%d", tt.cols, tt.rows), func(t *testing.T) {
			t.Parallel()
			url, looks := manyAgents(t, 30)
			args := []string{"agent", "list", "--watch"}
			if tt.wide {
				args = append(args, "-o", "wide")
			}
			v := view(t, exec.Command("wardroom", args...), url, tt.cols, tt.rows)
			v.sees(tt.want)
			coretest.WaitFor(t, "two drawings", func() bool { return looks.Load() > 1 })
			if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			v.leaves(0)
			if scrolled := v.scrolled(); scrolled > 0 {
				t.Errorf("%d lines scrolled away:\n%s", scrolled, v.screen())
			}
			v.sees(tt.want)
		})
	}
}

// A terminal that knows no sequences gets none: neither colours nor drawings in place.
func TestDumbTerminal(t *testing.T) {
	url, looks := manyAgents(t, 1)
	v := view(t, exec.Command("wardroom", "agent", "list", "--watch"), url, 80, 24, "TERM=dumb")
	coretest.WaitFor(t, "a drawing", func() bool { return looks.Load() > 1 })
	if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	v.leaves(0)
	f := newFake()
	t.Cleanup(f.Close)
	failed := view(t, exec.Command("wardroom", "pattern", "get", "missing"), f.URL, 80, 24, "TERM=dumb")
	failed.leaves(3)
	spawned := view(t, exec.Command("wardroom", "agent", "spawn", "claude", "--wait"), serve(t, (&stale{after: 1}).ServeHTTP), 80, 24, "TERM=dumb")
	spawned.leaves(0)
	for _, shown := range []*viewer{v, failed, spawned} {
		if strings.Contains(string(shown.raw), "\x1b") {
			t.Errorf("%q", shown.raw)
		}
	}
}
