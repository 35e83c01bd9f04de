package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// The library for agents in Python keeps its promises.
func TestPythonLibrary(t *testing.T) {
	t.Parallel()
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import websockets").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatal("no python3 with the websockets package (Debian: apt-get install python3-websockets)")
		}
		t.Skip("no python3 with the websockets package (Debian: apt-get install python3-websockets)")
	}
	keepsPromises(t, syscall.SIGUSR1, func(server, place string) *exec.Cmd {
		cmd := exec.Command(python, "testdata/agent.py", server, place)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+filepath.Join("..", "..", "sdk", "agent", "python"))
		return cmd
	})
}

// The library for agents in TypeScript keeps its promises. It is installed as users install it.
func TestTypeScriptLibrary(t *testing.T) {
	t.Parallel()
	library, err := filepath.Abs(filepath.Join("..", "..", "sdk", "agent", "typescript"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--install-links", library)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatalf("no npm (Debian: apt-get install nodejs npm), or it cannot install: %v\n%s", err, out)
		}
		t.Skipf("no npm (Debian: apt-get install nodejs npm), or it cannot install: %v\n%s", err, out)
	}
	keepsPromises(t, syscall.SIGUSR2, func(server, place string) *exec.Cmd {
		return exec.Command("node", "testdata/agent.mjs", filepath.Join(dir, "node_modules", "wardroom-agent", "dist", "index.js"), server, place)
	})
}

// keepsPromises has an agent of a library go through a kill of the server, a kill of the agent and a drain, for which it gets a
// signal. start makes its command; it meets the test in a directory.
func keepsPromises(t *testing.T, drain syscall.Signal, start func(server, place string) *exec.Cmd) {
	t.Helper()
	s := dev(t)
	s.put(single, "twice", "double")
	place := t.TempDir()
	var output bytes.Buffer
	launch := func() *exec.Cmd {
		t.Helper()
		cmd := start(s.url, place)
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	agent := launch()
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = agent.Process.Kill()
			_ = agent.Wait()
		}
		if t.Failed() {
			t.Logf("output of the agent:\n%s", &output)
		}
	})
	began := func(n string) int {
		text, err := os.ReadFile(filepath.Join(place, "began-"+n))
		if err != nil {
			return 0
		}
		return strings.Count(string(text), "\n")
	}
	release := func(n string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(place, "go-"+n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(id, want string) {
		t.Helper()
		e := s.settled(id)
		if e.Status != client.StatusCompleted || string(e.Result) != want {
			t.Fatalf("%s is %s with %s: %+v, want %s", id, e.Status, e.Result, e.Error, want)
		}
	}
	work := func(n string) string {
		t.Helper()
		id := s.async("twice", []byte(`{"n":`+n+`}`))
		eventually(t, "the handler for "+n, func() bool { return began(n) > 0 })
		return id
	}

	id := work("1")
	s.restart()
	release("1")
	check(id, `{"answer":2}`)
	if n := began("1"); n != 1 {
		t.Errorf("the task was worked on %d times over a kill of the server", n)
	}

	id = work("2")
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	release("2")
	agent = launch()
	check(id, `{"answer":4}`)
	if n := began("2"); n != 2 {
		t.Errorf("the task was begun %d times over a kill of the agent", n)
	}
	list, err := s.api.ListAgents(t.Context(), client.AgentFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Agents) != 1 {
		t.Errorf("the agent did not resume its session: %+v", list.Agents)
	}

	id = s.async("twice", []byte(`{"n":-1}`))
	if e := s.settled(id); e.Status != client.StatusFailed || e.Error == nil || !strings.Contains(e.Error.Message, "n is below 0") {
		t.Errorf("%+v: %+v", e, e.Error)
	}

	id = work("3")
	if err := agent.Process.Signal(drain); err != nil {
		t.Fatal(err)
	}
	release("3")
	check(id, `{"answer":6}`)
	err = agent.Wait()
	ended = true
	if err != nil {
		t.Errorf("after a drain the agent ends with %v", err)
	}
	if _, err := os.Stat(filepath.Join(place, "state")); err != nil { // it comes back without another use of its token
		t.Errorf("the state of an agent that left: %v", err)
	}
}
