package e2e_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/holder/proc"
)

// marked returns the processes of an agent, whoever their parent is by now.
func marked(t testing.TB, agentID string) []int {
	t.Helper()
	found, err := testbed.OfAgents(agentID)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// holders returns the processes that hold terminals of agents with their rooms below one of the folders: each room has
// a holder of its own.
func holders(t testing.TB, dirs ...string) []int {
	t.Helper()
	found, err := testbed.Running("holder", dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func procFile(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// zombie reports whether a process has ended.
func zombie(pid int) bool {
	info, err := proc.Stat(pid)
	return err != nil || info.State == 'Z'
}

// parent returns the parent of a process.
func parent(t testing.TB, pid int) int {
	t.Helper()
	info, err := proc.Stat(pid)
	if err != nil {
		t.Fatalf("there is no process %d: %v", pid, err)
	}
	return info.Parent
}

// killed ends a process as a crash does.
func killed(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
	eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool { return zombie(pid) })
}
