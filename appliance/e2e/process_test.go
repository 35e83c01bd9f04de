package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// marked returns the processes that carry the mark of an agent, whoever their parent is by now.
func marked(t testing.TB, agentID string) []int {
	t.Helper()
	mark := []byte("WARDROOM_AGENT_ID=" + agentID + "\x00")
	var found []int
	for _, pid := range processes(t) {
		env, err := os.ReadFile(procFile(pid, "environ"))
		if err == nil && (bytes.HasPrefix(env, mark) || bytes.Contains(env, append([]byte{0}, mark...))) && !zombie(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// holders returns the processes that hold terminals of agents with their rooms below one of the folders: each room has
// a holder of its own.
func holders(t testing.TB, dirs ...string) []int {
	t.Helper()
	var found []int
	for _, pid := range processes(t) {
		exe, err := os.Readlink(procFile(pid, "exe"))
		if err != nil || filepath.Base(exe) != "holder" {
			continue
		}
		for _, dir := range dirs {
			if strings.HasPrefix(exe, dir+"/") {
				found = append(found, pid)
			}
		}
	}
	return found
}

// processes lists every process of the machine.
func processes(t testing.TB) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func procFile(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// stat returns the state and the parent of a process; ok is false when there is none.
func stat(pid int) (state string, parent int, ok bool) {
	text, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return "", 0, false
	}
	// The name of the program stands in brackets and may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return "", 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return fields[0], parent, err == nil
}

func zombie(pid int) bool {
	state, _, ok := stat(pid)
	return !ok || state == "Z"
}

// parent returns the parent of a process.
func parent(t testing.TB, pid int) int {
	t.Helper()
	_, ppid, ok := stat(pid)
	if !ok {
		t.Fatalf("there is no process %d", pid)
	}
	return ppid
}

// killed ends a process as a crash does.
func killed(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
	eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool { return zombie(pid) })
}

// kill9 sends the signal to a process that may be gone.
func kill9(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
