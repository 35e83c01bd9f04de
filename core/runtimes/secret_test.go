package runtimes_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/runtimes"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// vault is a core.SecretSource of one secret.
type vault struct{ ref, text string }

func (v *vault) SecretText(_ context.Context, text string) (string, error) {
	switch {
	case text == v.ref:
		return v.text, nil
	case strings.HasPrefix(text, "vault:"):
		return "", core.Errorf(core.CodeValidation, "the secret %s is not there", text)
	}
	return text, nil
}

func (v *vault) SecretEnv(ctx context.Context, env map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for name, text := range env {
		secret, err := v.SecretText(ctx, text)
		if err != nil {
			return nil, err
		}
		out[name] = secret
	}
	return out, nil
}

// The environment that a new agent gets has the secrets of the moment; its record never does.
func TestSpawnSecrets(t *testing.T) {
	users, types := &vault{"vault:db#p", "first"}, &vault{"file:/run/token", "of the type"}
	f, store := newFake("claude", "shell"), newMemory(t)
	s := runtimes.New(runtimes.Options{
		Store: store, Streams: store, Clock: coretest.NewClock(), Installation: "inst",
		Sources: []runtimes.Source{{Name: "local", Runtime: f}}, Secrets: users, TypeSecrets: types,
		Types: map[string]runtime.DeclaredType{"shell": {Command: "bash", Env: map[string]string{"TOKEN": "file:/run/token"}}},
	})
	if err := s.Open(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	spec := core.ManagedAgentSpec{Type: "shell", Env: map[string]string{"PASSWORD": "vault:db#p", "MODE": "plain", "PATHS": "file:/run/token"}}
	for _, want := range []string{"first", "second"} {
		users.text = want
		a, err := s.SpawnManagedAgent(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		got := f.specs[a.ID]
		f.mu.Unlock()
		if got.Env["PASSWORD"] != want || got.Env["MODE"] != "plain" || got.Env["PATHS"] != "file:/run/token" || got.Declared.Env["TOKEN"] != "of the type" {
			t.Errorf("the agent got %v and %v", got.Env, got.Declared.Env)
		}
		records, err := store.AllManagedAgents(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			for _, value := range r.Spec.Env {
				if value == want {
					t.Error("the record has the secret")
				}
			}
		}
	}
	_, err := s.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude", Env: map[string]string{"A": "vault:none#x"}})
	if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "vault:none#x") {
		t.Errorf("got %v", err)
	}
	users.text = strings.Repeat("x", 200<<10)
	if _, err := s.SpawnManagedAgent(ctx, spec); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "env.PASSWORD") {
		t.Errorf("a value that no environment holds: %v", err)
	}
}
