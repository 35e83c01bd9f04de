package agentcli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// sealed starts an agent that shows its secrets, under a key.
func sealed(t *testing.T, key []byte) (*rig, runtime.Spec) {
	t.Helper()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) { o.StateKey = key })
	declared := bashType
	declared.Env = map[string]string{"PS1": "wardroom$ ", "HISTFILE": "", "TYPE_TOKEN": "typ-5up3rs3cret"}
	spec := runtime.Spec{ID: "b1", Type: "bash", Env: map[string]string{"API_TOKEN": "tok-5up3rs3cret"}, Declared: &declared}
	g.spawn(spec)
	g.status("b1", runtime.StatusReady)
	return g, spec
}

func stored(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// The environment is nowhere on disk in clear, and is there again for the next process: for one that adopts the agent, and
// for a restart of the agent.
func TestEnvironmentIsSealed(t *testing.T) {
	for name, key := range map[string][]byte{"KeyOfTheHost": bytes.Repeat([]byte{7}, agentcli.StateKeySize), "OwnKey": nil} {
		t.Run(name, func(t *testing.T) {
			g, spec := sealed(t, key)
			for range 2 {
				if text := stored(t, g.o.StateDir); strings.Contains(text, "5up3rs3cret") {
					t.Error("a secret is stored in clear")
				}
				g = g.again()
				g.status("b1", runtime.StatusReady)
				if got := g.ask("b1", "echo ${#API_TOKEN} ${#TYPE_TOKEN}").Text; got != "15 15" {
					t.Errorf("the agent has %q", got)
				}
				if _, err := g.Spawn(t.Context(), spec); err != nil {
					t.Errorf("the same spec again: %v", err)
				}
				if _, err := g.Restart(t.Context(), "b1", runtime.RestartOptions{}); err != nil {
					t.Fatal(err)
				}
				g.status("b1", runtime.StatusReady)
			}
		})
	}
}

// Under another key, or with the record of another agent, an agent goes on and cannot be restarted; its spec, or the key, mends that.
func TestEnvironmentDoesNotOpen(t *testing.T) {
	right, wrong := bytes.Repeat([]byte{7}, agentcli.StateKeySize), bytes.Repeat([]byte{8}, agentcli.StateKeySize)
	g, spec := sealed(t, right)
	pid := g.status("b1", runtime.StatusReady).PID
	g.o.StateKey = wrong
	g = g.again()
	if a := g.status("b1", runtime.StatusReady); a.PID != pid {
		t.Errorf("adopted %+v", a)
	}
	if _, err := g.Restart(t.Context(), "b1", runtime.RestartOptions{}); code(err) != runtime.CodeInvalidSpec {
		t.Errorf("restart: %v", err)
	}
	if a := g.status("b1", runtime.StatusReady); a.PID != pid {
		t.Errorf("a refused restart left %+v", a)
	}
	g.o.StateKey = right
	g = g.again()
	if _, err := g.Restart(t.Context(), "b1", runtime.RestartOptions{}); err != nil {
		t.Fatalf("restart with the right key: %v", err)
	}
	g.status("b1", runtime.StatusReady)
	g.o.StateKey = wrong
	g = g.again()
	if _, err := g.Spawn(t.Context(), spec); err != nil {
		t.Fatalf("the spec again: %v", err)
	}
	g = g.again()
	if _, err := g.Restart(t.Context(), "b1", runtime.RestartOptions{}); err != nil {
		t.Errorf("restart after the spec was given: %v", err)
	}
}

// What an earlier version stored in clear is encrypted when it is read, also after a crash in between.
func TestEnvironmentInClear(t *testing.T) {
	g, _ := sealed(t, nil)
	dir := filepath.Join(g.o.StateDir, "agents", "b1")
	inClear := filepath.Join(dir, "env.json")
	write := func() {
		if err := os.WriteFile(inClear, []byte(`{"API_TOKEN":"tok-5up3rs3cret"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g.close()
	path := filepath.Join(dir, "record.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rec map[string]any
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	delete(rec, "sealed")
	spec, _ := rec["spec"].(map[string]any)
	declared, _ := spec["declared"].(map[string]any)
	declared["env"] = map[string]string{"PS1": "wardroom$ ", "TYPE_TOKEN": "typ-5up3rs3cret"}
	if data, err = json.Marshal(rec); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time the record was encrypted, and the file not yet removed
		write()
		g = reopen(t, g.l, g.o)
		if text := stored(t, g.o.StateDir); strings.Contains(text, "5up3rs3cret") {
			t.Error("a secret is still stored in clear")
		}
		if _, err := os.Stat(inClear); err == nil {
			t.Error("the file in clear is still there")
		}
		if _, err := g.Restart(t.Context(), "b1", runtime.RestartOptions{}); err != nil {
			t.Fatal(err)
		}
		g.status("b1", runtime.StatusReady)
		if got := g.ask("b1", "echo ${#API_TOKEN} ${#TYPE_TOKEN}").Text; got != "15 15" {
			t.Errorf("the agent has %q", got)
		}
		g.close()
	}
}
