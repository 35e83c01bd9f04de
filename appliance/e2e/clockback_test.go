package e2e_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

const clockPattern = "name: %s\nversion: 1.0.0\nagents: {capabilities: [%s]}\n"

// TestClockBackByADay: a clock that is set back by a day, while the server runs and over a restart, loses nothing: what was
// there is read, new work is done and sorts behind it, and an answer is repeated for its key.
func TestClockBackByADay(t *testing.T) {
	t.Parallel()
	product, err := testbed.Build(t.Context(), t.TempDir(), "nomsgpack", testbed.ClockTag)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	clock := testbed.NewClock(filepath.Join(dir, "clock"))
	s := configured(t, dir, filepath.Join(dir, "store"), "")
	s.bin, s.env = product, []string{clock.Env()}
	if err := clock.Set(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.put(clockPattern, "clocked", "tick")
	s.join(1, "tick", func(context.Context, int, *agent.Task) (any, error) { return map[string]any{"done": true}, nil })
	var ids []string
	run := func(when string) {
		t.Helper()
		id := s.async("clocked", number(len(ids)))
		if e := s.settled(id); e.Status != "completed" {
			t.Fatalf("%s: %s is %s (%v)", when, id, e.Status, e.Error)
		}
		if len(ids) > 0 && id <= ids[len(ids)-1] {
			t.Errorf("%s: the id %s sorts before %s", when, id, ids[len(ids)-1])
		}
		ids = append(ids, id)
	}
	run("at first")
	if err := clock.Set(t.Context(), -24*time.Hour, s.process); err != nil {
		t.Fatal(err)
	}
	run("a day back")
	s.restart()
	run("a day back, after a restart")
	if err := clock.Set(t.Context(), 0, s.process); err != nil {
		t.Fatal(err)
	}
	run("right again")
	list, err := s.api.ListExecutions(t.Context(), client.ExecutionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Executions) != len(ids) {
		t.Fatalf("%d executions are listed, want %d", len(list.Executions), len(ids))
	}
	for i, e := range list.Executions {
		if want := ids[len(ids)-1-i]; e.ExecutionID != want {
			t.Errorf("execution %d of the list is %s, want %s", i, e.ExecutionID, want)
		}
	}
}
