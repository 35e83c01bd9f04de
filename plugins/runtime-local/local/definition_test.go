package local_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// host is that of a plugin in tests.
type host struct {
	plugin.Host
	dir string
}

func (h host) Logger() hclog.Logger { return hclog.NewNullLogger() }
func (h host) StateDir() string     { return filepath.Join(h.dir, "state") }
func (h host) RunDir() string       { return filepath.Join(h.dir, "run") }
func (h host) Private() []string    { return nil }
func (h host) Workspaces() string   { return "" }
func (h host) Has(string) bool      { return false }

func config(t *testing.T, values map[string]any) json.RawMessage {
	t.Helper()
	all := map[string]any{"holder": holderBinary}
	for name, value := range values {
		all[name] = value
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestValidate(t *testing.T) {
	def := local.Definition("1.0.0")
	for name, test := range map[string]struct {
		config   json.RawMessage
		path     string // of the problem; empty: none
		severity string
	}{
		"Fine":          {config(t, map[string]any{"stuckAfter": "1m30s", "env": map[string]string{"A": "b"}}), "", ""},
		"HolderMissing": {json.RawMessage(`{"holder": "/no/such"}`), "/holder", plugin.SeverityError},
		"Loader":        {config(t, map[string]any{"env": map[string]string{"LD_PRELOAD": "hidden"}}), "/env", plugin.SeverityError},
		"Credentials":   {config(t, map[string]any{"credentials": map[string]string{"claude": "/no/such"}}), "/credentials/claude", plugin.SeverityError},
		"RootMissing":   {config(t, map[string]any{"workdirs": []string{"/no/such"}}), "/workdirs/0", plugin.SeverityWarning},
		"RootUnclean":   {config(t, map[string]any{"workdirs": []string{"/tmp/../etc"}}), "/workdirs/0", plugin.SeverityError},
		"StuckAfter":    {config(t, map[string]any{"stuckAfter": "0s"}), "/stuckAfter", plugin.SeverityError},
		"TypeEnv": {config(t, map[string]any{"types": map[string]any{"x": map[string]any{"command": "x", "env": map[string]string{"WARDROOM_X": "hidden"}}}}),
			"/types/x/env", plugin.SeverityError},
	} {
		t.Run(name, func(t *testing.T) {
			problems := def.Validate(t.Context(), test.config)
			if test.path == "" {
				if len(problems) > 0 {
					t.Errorf("problems %+v", problems)
				}
				return
			}
			if len(problems) != 1 || problems[0].Path != test.path || problems[0].Severity != test.severity || strings.Contains(problems[0].Text, "hidden") {
				t.Errorf("problems %+v, want one %s at %s", problems, test.severity, test.path)
			}
		})
	}
}

// TestConfigure runs an agent through a new configuration, and through a wrong one.
func TestConfigure(t *testing.T) {
	def, h := local.Definition("1.0.0"), host{dir: t.TempDir()}
	first, err := def.Configure(t.Context(), config(t, map[string]any{"cgroups": "off", "maxAgents": 1}), h)
	if err != nil {
		t.Fatal(err)
	}
	spec := runtime.Spec{ID: "agent", Type: "sh", Declared: &runtime.DeclaredType{Command: "/bin/sh", Idle: runtime.Duration(50 * time.Millisecond)}}
	agent, err := first.Runtime.Spawn(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	other := spec
	other.ID = "other"
	if _, err := first.Runtime.Spawn(t.Context(), other); runtime.ErrorCode(err) != runtime.CodeResourceLimit {
		t.Errorf("one agent too many: %v, want RESOURCE_LIMIT", err)
	}
	if _, err := def.Configure(t.Context(), config(t, map[string]any{"holder": "/no/such"}), h); err == nil {
		t.Error("a configuration without a holder is taken")
	}
	if health := first.Health(t.Context()); health.Status != plugin.StatusOK {
		t.Errorf("after a refused configuration: %+v", health)
	}

	second, err := def.Configure(t.Context(), config(t, map[string]any{"cgroups": "off", "maxAgents": 5}), h)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil { // as the sdk does
		t.Error(err)
	}
	if health := first.Health(t.Context()); health.Status != plugin.StatusFailed {
		t.Errorf("the former service says %+v", health)
	}
	found, err := second.Runtime.Inspect(t.Context(), "agent")
	if err != nil || found.PID != agent.PID {
		t.Fatalf("the agent is %+v, error %v, want pid %d", found, err, agent.PID)
	}
	capabilities, err := second.Runtime.Capabilities(t.Context())
	if err != nil || capabilities.MaxAgents != 5 || capabilities.Limits || !capabilities.Recover || len(capabilities.Types) != 3 {
		t.Errorf("capabilities %+v, error %v", capabilities, err)
	}
	if i := capabilities.Isolation; i == nil || !i.NoNewPrivs || i.User != "" || (i.Landlock > 0) != (i.Reason == "") {
		t.Errorf("isolation %+v", i)
	}
	eventually(t, "the agent's first prompt", func() bool {
		return strings.Contains(string(second.Metrics()), `status="ready"} 1`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := second.Runtime.Stop(ctx, "agent", runtime.StopOptions{Force: true}); err != nil {
		t.Error(err)
	}
	if err := second.Close(ctx); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Join(h.dir, "run")); len(left) > 0 {
		t.Errorf("sockets are left: %v", left)
	}
}
