package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// TestClockWithinATurn sets the clock back and forward while the turns of a thread run, and over a restart: each turn lasts as long
// as its work, and has its own answer; messages that wait come after it, in order; and events keep their order.
func TestClockWithinATurn(t *testing.T) {
	t.Parallel()
	product, err := testbed.Build(t.Context(), t.TempDir(), "nomsgpack", testbed.ClockTag)
	if err != nil {
		t.Fatal(err)
	}
	dir := shortDir(t)
	clock := testbed.NewClock(filepath.Join(dir, "clock"))
	if err := clock.Set(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	c := &crew{}
	t.Cleanup(func() { c.clear() })
	c.server = configured(t, dir, filepath.Join(dir, "store"), "plugins.dir: "+plugins+"\nruntimes.local: {plugin: runtime-local}\n"+shellType)
	c.bin, c.env = product, []string{clock.Env()}
	c.start()
	c.runtimeReady()
	s := &staff{crew: c}
	gate := func(n int) string { return fmt.Sprintf("gate%d", n) } // in the workspace
	work := func(n int) string {
		return fmt.Sprintf("touch %[1]s.runs; bash -c 'while ! test -e %[1]s; do sleep 0.1; done'; echo turn $((%[2]d * 10))", gate(n), n)
	}
	steps := []time.Duration{-time.Hour, -24 * time.Hour, time.Hour, 25 * time.Hour, 0}
	th := s.spawnThread(client.ThreadSpec{ExecutionID: "new", AgentType: "shell", Objective: work(0)})
	th = s.awaitThread(th.ID, "a workspace", func(th *client.Thread) bool { return th.Workspace != nil })
	at := func(name string) string { return filepath.Join(th.Workspace.Path, name) }
	for n := 1; n < len(steps); n++ {
		s.tellThread(th.ID, work(n))
	}
	for n, step := range steps {
		eventually(t, fmt.Sprintf("turn %d", n), func() bool { return exists(at(gate(n) + ".runs")) })
		if err := clock.Set(t.Context(), step, c.process); err != nil {
			t.Fatal(err)
		}
		if n == 2 {
			c.kill()
			c.start()
			c.runtimeReady()
		}
		// That its message was taken may be learned a moment later; after a kill only once the agent is ready, and can be asked.
		s.awaitThread(th.ID, fmt.Sprintf("turn %d alone at the clock %v", n, step), func(th *client.Thread) bool {
			left := len(steps) - 1 - n
			return th.TurnCount == n && (th.QueuedInputs == left || n == 2 && th.QueuedInputs == left+1)
		})
		if err := os.WriteFile(at(gate(n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.awaitThread(th.ID, fmt.Sprintf("the end of turn %d", n), func(th *client.Thread) bool { return th.TurnCount > n })
	}
	turn, last := 0, uint64(0)
	for _, e := range s.threadEvents(th.ID) {
		if e.Sequence <= last {
			t.Errorf("event %d comes after event %d", e.Sequence, last)
		}
		last = e.Sequence
		if e.Type != "thread_turn_complete" {
			continue
		}
		var data struct {
			Output     string `json:"output"`
			DurationMs int64  `json:"durationMs"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("turn %d", turn*10); data.Output != want {
			t.Errorf("turn %d said %q, want %q", turn, data.Output, want)
		}
		if data.DurationMs < 0 || data.DurationMs > (4*patience).Milliseconds() {
			t.Errorf("turn %d lasted %d ms", turn, data.DurationMs)
		}
		turn++
	}
	if turn != len(steps) {
		t.Errorf("%d turns, want %d", turn, len(steps))
	}
}
