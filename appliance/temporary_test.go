package appliance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
)

// TestAgentsOfServersSideBySide starts two servers whose stores lie in one folder, in production, with the local
// runtime: neither sees the agents of the other, an agent outlives its server, and it ends with a temporary one.
func TestAgentsOfServersSideBySide(t *testing.T) {
	dir := t.TempDir()
	plugins := filepath.Join(dir, "bin")
	plugin := build(t, plugins, "runtime-local")
	build(t, plugins, "holder")
	binary, err := os.ReadFile(plugin)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(binary)
	serve := func(name string) appliance.Options {
		file := filepath.Join(dir, name+".yaml")
		write(t, file, fmt.Sprintf(`
server: {listen: "127.0.0.1:0"}
store: {path: %q}
plugins: {dir: %q, runtime-local: {sha256: %s}}
runtimes: {local: {plugin: runtime-local, required: true}}
agentTypes: {cat: {command: cat, idle: 100ms}}
`, name, plugins, hex.EncodeToString(sum[:])))
		return appliance.Options{ConfigPath: file}
	}
	spawn := func(a *appliance.App) int {
		agent, err := connect(t, a).SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Type: "cat"})
		if err != nil {
			t.Fatal(err)
		}
		return agent.PID
	}
	one, two := open(t, serve("one")), open(t, serve("two"))
	first := spawn(one)
	if list, err := connect(t, two).ListManagedAgents(t.Context(), client.ManagedAgentFilter{}); err != nil || list.Total != 0 {
		t.Errorf("the other server has %d agents, error %v", list.Total, err)
	}
	two.Close()
	one.Close()
	if err := syscall.Kill(first, 0); err != nil {
		t.Errorf("the agent did not outlive its server: %v", err)
	}

	opts := serve("one")
	opts.Temporary = true
	last := open(t, opts)
	second := spawn(last)
	last.Close()
	for _, pid := range []int{first, second} {
		coretest.WaitFor(t, fmt.Sprintf("the end of the agent with pid %d", pid), func() bool {
			return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
		})
	}
}

func connect(t *testing.T, a *appliance.App) *client.Client {
	t.Helper()
	c, err := client.New("http://"+a.Addr(), client.Options{HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// build compiles a program below plugins into dir.
func build(t *testing.T, dir, name string) string {
	t.Helper()
	binary := filepath.Join(dir, name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/wardroom/wardroom/plugins/"+name).CombinedOutput()
	if err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, strings.TrimSpace(string(out)))
	}
	return binary
}
