package e2e_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/sdk/client"
)

// roleKills are where the work of a role is when the core and the plugin are killed together. Each of hold brings it there.
var roleKills = []struct {
	name string
	hold func(s *staff, worker *client.ManagedAgent, plugin int)
	// over reports whether the turn is had while both are down; else it ends when they are back: the command line tells that it
	// begins a turn, and waits until that is heard.
	over bool
}{
	{name: "typed", hold: func(s *staff, worker *client.ManagedAgent, plugin int) {
		// Its Enter comes when the command line has read the rest: both at once would be a paste.
		_ = syscall.Kill(worker.PID, syscall.SIGSTOP)
		s.letGo("first")
		eventually(s.t, "the typing of the work", func() bool { return typedAhead(s.t, worker.PID) > 0 })
		_ = syscall.Kill(plugin, syscall.SIGSTOP)
		_ = syscall.Kill(worker.PID, syscall.SIGCONT)
		eventually(s.t, "the work in the line", func() bool { return typedAhead(s.t, worker.PID) == 0 })
		_ = syscall.Kill(worker.PID, syscall.SIGSTOP)
		_ = syscall.Kill(plugin, syscall.SIGCONT)
		eventually(s.t, "its Enter", func() bool { return typedAhead(s.t, worker.PID) > 0 })
	}, over: false},
	{name: "taken", hold: func(s *staff, _ *client.ManagedAgent, _ int) {
		s.letGo("first")
		s.heldAt("second")
	}, over: true},
	{name: "ended", hold: func(s *staff, _ *client.ManagedAgent, plugin int) {
		s.letGo("first")
		s.heldAt("second")
		_ = syscall.Kill(plugin, syscall.SIGSTOP)
		s.letGo("second")
		s.answered("work-words")
	}, over: true},
}

func (s *staff) letGo(door string) {
	s.t.Helper()
	if _, err := s.model.Release(door); err != nil {
		s.t.Fatal(err)
	}
}

func (s *staff) heldAt(door string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.model.AwaitHeld(ctx, door); err != nil {
		s.t.Fatal(err)
	}
}

// finish has the model answer the work.
func (s *staff) finish() {
	s.t.Helper()
	if s.prompts("work-words") == 0 {
		s.heldAt("second")
	}
	_, _ = s.model.Release("second") // it may have been
	s.answered("work-words")
}

// answered waits until the model gave its whole answer to a text that holds words.
func (s *staff) answered(words string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if _, err := s.model.Await(ctx, func(q fakemodel.Request) bool {
		return q.Kind == "text" && strings.Contains(q.User, words) && q.DoneNs != 0
	}); err != nil {
		s.t.Fatal(err)
	}
}

// typedAhead returns how many bytes wait in the terminal of a process that does not read them.
func typedAhead(t *testing.T, pid int) int {
	t.Helper()
	tty, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", pid), os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	n, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The core and the plugin are killed together while a role is at its work, and the turn ends before they are back, where it can:
// the work reaches the model once, and its answer is the role's.
func TestRoleOverKillOfBoth(t *testing.T) {
	t.Parallel()
	whole := strings.Split(*killTools, ",")
	for _, tool := range []string{"claude", "codex", "gemini"} {
		if *killTools != "all" && !slices.Contains(whole, tool) && (*killTools != "" || tool != "claude") {
			continue
		}
		for _, kill := range roleKills {
			t.Run(tool+"/"+kill.name, func(t *testing.T) {
				s := staffed(t)
				other := map[string]string{"claude": "gemini", "codex": "claude", "gemini": "claude"}[tool]
				id := s.begin("pair", fmt.Sprintf(`
name: pair
structure:
  name: pair
  roles:
    keeper: {managed: true, agentType: %s}
    worker: {managed: true, agentType: %s, reportsTo: keeper}
workflow:
  steps:
    - {type: assign, role: worker, task: "SAY[ready]"}
    - {type: assign, role: keeper, task: "HOLD[first] SAY[go]"}
    - {type: assign, role: worker, task: "HOLD[second] SAY[made] work-words"}
  output: "${step_2_result}"
`, other, tool), `{}`)
				s.heldAt("first")
				agents := s.serving(t.Context())
				i := slices.IndexFunc(agents, func(a client.ManagedAgent) bool { return a.Name == "worker-0" })
				if i < 0 {
					t.Fatalf("there is no worker: %+v", agents)
				}
				worker, plugin := s.agent(agents[i].ID), s.pluginPID()
				t.Cleanup(func() { _ = syscall.Kill(worker.PID, syscall.SIGCONT) })
				kill.hold(s, worker, plugin)
				_ = syscall.Kill(plugin, syscall.SIGSTOP) // it must not see the core go
				s.kill()
				killed(t, plugin)
				_ = syscall.Kill(worker.PID, syscall.SIGCONT)
				if kill.over {
					s.finish()
				}
				s.start()
				s.runtimeReady()
				if !kill.over {
					s.finish()
				}
				if e := s.over(id, "completed"); !strings.Contains(string(e.Output), "made") {
					t.Errorf("the execution: %s", e.Body)
				}
				if n := s.prompts("work-words"); n != 1 {
					t.Errorf("the work reached the model %d times", n)
				}
			})
		}
	}
}
