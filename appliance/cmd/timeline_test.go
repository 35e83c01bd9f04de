package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// bigTimeline has so many steps at the top level, each of one task; from `running` on they run.
func bigTimeline(steps, running int) *client.Timeline {
	t := &client.Timeline{Timeline: wire.Timeline{
		ExecutionID: "exec_big", Pattern: client.PatternRef{Name: "long"}, Status: "running", StartedAt: &timelineEpoch, Duration: 20000,
	}}
	for i := range steps {
		id, to := strconv.Itoa(i), 2+i%1000
		if i >= running {
			to = 0
		}
		t.Entries = append(t.Entries,
			entry(1, to, client.TimelineEntry{Kind: "step", ID: id, Type: "assign", Role: "engineer"}),
			entry(1, to, client.TimelineEntry{Kind: "task", ID: "task_" + id, Step: id, Role: "engineer", AgentID: "agent_1", Attempt: 1}))
	}
	return t
}

func TestTimelineFits(t *testing.T) {
	lines := cmd.DrawTimeline(runningTimeline(), 80, 9, false)
	want := []string{
		`: 4 more, 2 of them running`,
		"`- > 1 parallel                                                         16 s",
		`   : 5 more`,
		"   |- > 1.1 assign  \"技術 and 'quotes' \ufffd[31m\"  engineer  magent_2       16 s",
		"   |  `- ? engineer asks  May I run make?                                8 s",
		"   |     `- answer it: wardroom question answer q_1 TEXT",
		"   `- + 1.2 condition  -> then                                          1 ms",
		`      |- x 1.2.0 approve  cto  failed  needs work                       1 ms`,
		`      : 1 more`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("drawn\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}

	// Two hundred that run and a thousand that are over: those that run come first.
	lines = cmd.DrawTimeline(bigTimeline(1200, 1000), 80, 20, true)
	if len(lines) != 20 || !strings.Contains(lines[0], "⋮ 1000 more") || strings.Contains(lines[0], "running") ||
		!strings.Contains(lines[1], "▸ 1000 assign") || !strings.Contains(lines[19], "⋮ 182 more, all running") {
		t.Errorf("drawn\n%s", strings.Join(lines, "\n"))
	}
	// All over but one: the last ones are shown.
	lines = cmd.DrawTimeline(bigTimeline(1000, 999), 80, 5, true)
	if len(lines) != 5 || !strings.Contains(lines[0], "⋮ 996 more") || !strings.Contains(lines[3], "✓ 998 assign") || !strings.Contains(lines[4], "▸ 999 assign") {
		t.Errorf("drawn\n%s", strings.Join(lines, "\n"))
	}
}

// TestTimelineFitsAnything: random trees in random terminals never take more room than there is, and an open question
// is on every one that has room for it.
func TestTimelineFitsAnything(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		tl := randomTimeline(r)
		width, height := 20+r.IntN(140), 1+r.IntN(40)
		lines := cmd.DrawTimeline(tl, width, height, r.IntN(2) == 0)
		if len(lines) > height {
			t.Fatalf("seed %d: %d lines in %d", seed, len(lines), height)
		}
		for _, line := range lines {
			if got := uniseg.StringWidth(line); got > max(width, 21) {
				t.Fatalf("seed %d: %d columns in %d: %q", seed, got, width, line)
			}
		}
		if all := cmd.DrawTimeline(tl, 0, 0, false); len(all) > 0 && height > 24 {
			if open := strings.Contains(strings.Join(all, "\n"), " ? "); open && !strings.Contains(strings.Join(lines, "\n"), " ? ") {
				t.Fatalf("seed %d: the open question is hidden\n%s", seed, strings.Join(lines, "\n"))
			}
		}
	}
}

// randomTimeline makes a timeline of nested entries, some of which belong to steps that are not there.
func randomTimeline(r *rand.Rand) *client.Timeline {
	kinds := []string{"step", "step", "step", "task", "role", "message", "escalation", "other"}
	states := []string{"completed", "failed", "lost", "skipped", "weird"}
	tl := &client.Timeline{Timeline: wire.Timeline{ExecutionID: "x", Pattern: client.PatternRef{Name: "p"}, Status: "running", Duration: 20000}}
	if r.IntN(4) > 0 {
		tl.StartedAt = &timelineEpoch
	}
	paths := []string{""}
	for i := range r.IntN(120) {
		e := client.TimelineEntry{Kind: client.TimelineKind(kinds[r.IntN(len(kinds))]), ID: "id" + strconv.Itoa(r.IntN(20)), Step: paths[r.IntN(len(paths))]}
		e.Role, e.To, e.Detail = strings.Repeat("r", r.IntN(9)), strings.Repeat("to ", r.IntN(4)), strings.Repeat("技e\u0301 ", r.IntN(30))
		if r.IntN(3) == 0 {
			e.AgentID, e.Name, e.Attempt = "agent_"+strconv.Itoa(r.IntN(3)), strings.Repeat("n", r.IntN(5)), r.IntN(4)
		}
		if e.Kind == "step" && strings.Count(e.Step, ".") < 8 {
			e.ID = strings.TrimPrefix(e.Step+"."+strconv.Itoa(r.IntN(6)), ".")
			paths = append(paths, e.ID)
		}
		from, to := r.IntN(20000), 0
		if r.IntN(2) == 0 {
			e.Status, to = states[r.IntN(len(states))], from+r.IntN(3000)
		}
		tl.Entries = append(tl.Entries, entry(from, to, e))
		if i == 60 {
			tl.Entries = append(tl.Entries, entry(from, 0, client.TimelineEntry{Kind: "question", ID: "q", Status: "open", Role: "r"}))
		}
	}
	return tl
}

// TestTimelineOfTenThousand: the whole tree is drawn, and fitted to a screen; BenchmarkTimeline measures both.
func TestTimelineOfTenThousand(t *testing.T) {
	tl := bigTimeline(10_000, 9_000)
	all := cmd.DrawTimeline(tl, 120, 0, true)
	fitted := cmd.DrawTimeline(tl, 120, 50, true)
	if len(all) != 10_000 || len(fitted) != 50 {
		t.Errorf("%d and %d lines", len(all), len(fitted))
	}
}

func BenchmarkTimeline(b *testing.B) {
	tl := bigTimeline(10_000, 9_000)
	for _, height := range []int{0, 50} {
		b.Run(fmt.Sprintf("height=%d", height), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cmd.DrawTimeline(tl, 120, height, true)
			}
		})
	}
}

// TestTimelineThreads: an ad-hoc execution has threads instead of steps.
func TestTimelineThreads(t *testing.T) {
	lines := cmd.DrawTimeline(&client.Timeline{Timeline: wire.Timeline{
		ExecutionID: "exec_1", Pattern: client.PatternRef{Name: "managed-thread"}, Status: "running", StartedAt: &timelineEpoch, Duration: 9000,
		Entries: []client.TimelineEntry{
			entry(0, 5000, client.TimelineEntry{Kind: "thread", ID: "thread_1", Type: "claude", Name: "fix-parser", Role: "fixer", AgentID: "magent_1"}),
			entry(0, 6000, client.TimelineEntry{Kind: "thread", ID: "thread_2", Type: "codex", Name: "docs", AgentID: "magent_2", Status: "stopped", Detail: "idle"}),
			entry(0, 0, client.TimelineEntry{Kind: "thread", ID: "thread_3", Type: "codex", Name: "tests", Role: "tester", Status: "blocked"}),
		},
	}}, 90, 9, false)
	want := []string{
		`|- + thread "fix-parser"  fixer  thread_1 (claude)            5 s`,
		`|- . thread "docs"  thread_2 (codex)  stopped  idle           6 s`,
		"`- > thread \"tests\"  tester  thread_3 (codex)  blocked       20 s",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("drawn\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
