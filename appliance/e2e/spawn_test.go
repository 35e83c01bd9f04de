package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Types of agents that do not get far.
const (
	absentType  = `agentTypes.absent: {command: no-such-command-at-all, ready: {pattern: x}}`
	quitterType = `agentTypes.quitter: {command: bash, args: [-c, "echo no luck today; exit 3"], ready: {pattern: "^never$"}}`
	sleeperType = `agentTypes.sleeper: {command: bash, args: [-c, "echo one moment; sleep 1000"], ready: {pattern: "^never$", timeout: 1s}}`
	brokenType  = `agentTypes.broken: {command: %s, ready: {pattern: x}}`
)

// What cannot be spawned is refused with a code and the field, and leaves nothing behind.
func TestSpawnRefusals(t *testing.T) {
	t.Parallel()
	roots, elsewhere := shortDir(t), shortDir(t)
	file := filepath.Join(roots, "a-file")
	broken := filepath.Join(elsewhere, "broken")
	for path, text := range map[string]string{file: "", broken: "\x7fELF and nothing more"} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(roots, "out")); err != nil {
		t.Fatal(err)
	}
	c := crewed(t, nil, []string{
		absentType, fmt.Sprintf(brokenType, broken), "plugins.dir: " + plugins,
		fmt.Sprintf("runtimes.local: {plugin: runtime-local, config: {maxAgents: 2, workdirs: [%s], env: {PATH: /usr/bin:/bin}}}", roots),
	})
	for _, tt := range []struct {
		body, field, runtimeCode string
		status                   int
	}{
		{`{}`, "type", "", 400},
		{`{"type":"nobody"}`, "type", "UNKNOWN_TYPE", 400},
		{`{"type":"absent"}`, "type", "CLI_NOT_FOUND", 422},
		{`{"type":"claude"}`, "type", "CLI_NOT_FOUND", 422},
		{`{"type":"shell","workdir":"relative"}`, "workdir", "INVALID_SPEC", 400},
		{`{"type":"shell","workdir":"` + roots + `/missing"}`, "workdir", "WORKDIR_NOT_ALLOWED", 400},
		{`{"type":"shell","workdir":"` + file + `"}`, "workdir", "WORKDIR_NOT_ALLOWED", 400},
		{`{"type":"shell","workdir":"` + elsewhere + `"}`, "workdir", "WORKDIR_NOT_ALLOWED", 400},
		{`{"type":"shell","workdir":"` + roots + `/out"}`, "workdir", "WORKDIR_NOT_ALLOWED", 400},
		{`{"type":"shell","workdir":"/etc"}`, "workdir", "WORKDIR_NOT_ALLOWED", 400},
		{`{"type":"shell","runtime":"moon"}`, "runtime", "", 400},
		{`{"type":"shell","image":"debian"}`, "image", "", 400},
		{`{"type":"shell","approvalPreset":"yolo"}`, "approvalPreset", "", 400},
		{`{"type":"shell","memory":"lots"}`, "memory", "", 400},
		{`{"type":"shell","cpu":-1}`, "cpu", "", 400},
		{`{"type":"shell","env":{"LD_PRELOAD":"/tmp/x"}}`, "env.LD_PRELOAD", "", 400},
		{`{"type":"shell","env":{"A=B":"x"}}`, "env", "", 400},
		{`{"type":"shell","colour":"red"}`, "colour", "", 400},
	} {
		f := c.failed(c.post("/api/managed-agents", tt.body), tt.status, "VALIDATION_ERROR")
		code, _ := f.Error.Details["runtimeCode"].(string)
		if code != tt.runtimeCode || f.Error.Details["field"] != tt.field {
			t.Errorf("%s: details %v, want %s of %s", tt.body, f.Error.Details, tt.runtimeCode, tt.field)
		}
	}
	c.refused(c.post("/api/managed-agents", `{"type":"broken"}`), 500, "INTERNAL_ERROR", "SPAWN_FAILED")
	if list, err := c.api.ListManagedAgents(t.Context(), client.ManagedAgentFilter{}); err != nil || list.Total != 0 {
		t.Errorf("what was refused is listed: %+v, %v", list, err)
	}
	one, two := c.shell(), c.shell()
	f := c.refused(c.post("/api/managed-agents", `{"type":"shell"}`), 503, "INTERNAL_ERROR", "RESOURCE_LIMIT")
	if !strings.Contains(f.Error.Message, "raise the limit") {
		t.Errorf("one too many: %+v", f)
	}
	c.retire(one.ID)
	three := c.shell()

	if _, err := c.api.DisablePlugin(t.Context(), "runtime-local"); err != nil {
		t.Fatal(err)
	}
	f = c.failed(c.post("/api/managed-agents", `{"type":"shell"}`), 503, "NO_AGENTS")
	if !strings.Contains(f.Error.Message, "runtime") {
		t.Errorf("no runtime: %+v", f)
	}
	c.awaitAgent(two.ID, "unreachable", func(a *client.ManagedAgent) bool { return a.Status == client.ManagedUnreachable })
	c.failed(c.agentPost(two.ID, "send", `{"message":"x"}`), 503, "INTERNAL_ERROR")
	if _, err := c.api.EnablePlugin(t.Context(), "runtime-local"); err != nil {
		t.Fatal(err)
	}
	c.runtimeReady()
	for _, a := range []*client.ManagedAgent{two, three} {
		c.await(a.ID, client.ManagedReady)
		c.told(a.ID, "echo here", "here")
		c.retire(a.ID)
	}
}

// A command that exits at its start, or never gets ready, is an agent in error that says why.
func TestBadStarts(t *testing.T) {
	t.Parallel()
	c := managed(t, quitterType, sleeperType)
	quitter := c.spawn(client.ManagedAgentSpec{Type: "quitter"})
	a := c.await(quitter.ID, client.ManagedError)
	if !strings.HasPrefix(a.StatusReason, runtime.ReasonExitedAtStart) || a.ExitCode == nil || *a.ExitCode != 3 || a.StoppedAt == nil {
		t.Errorf("it exits at its start: %s", a.Body)
	}
	if lines := strings.Join(c.logs(a.ID, "terminal"), "\n"); !strings.Contains(lines, "no luck today") {
		t.Errorf("its last words are %q", lines)
	}
	c.refused(c.agentPost(a.ID, "send", `{"message":"x"}`), 409, "CONFLICT", "NOT_RUNNING")
	c.nobodyLeft(a.ID)

	sleeper := c.spawn(client.ManagedAgentSpec{Type: "sleeper"})
	a = c.await(sleeper.ID, client.ManagedError)
	if a.StatusReason != runtime.ReasonNotReady || a.StoppedAt != nil || zombie(a.PID) {
		t.Errorf("it never gets ready: %s", a.Body)
	}
	v := c.view(a.ID, runtime.AttachOptions{})
	v.sees("one moment")
	f := c.failed(c.agentPost(a.ID, "send", `{"message":"x","timeout":300}`), 408, "TIMEOUT")
	t.Logf("a message to an agent that never got ready: %s", f.Error.Message)
	c.retire(a.ID)
}
