package appliance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/sdk/client"
)

// Plugins of each kind that are new in the configuration are at work after a reload: the provider resolves, the sink takes the trail, and the runtime spawns. Where one does not start nothing changes, and the error says why.
func TestNewPluginsAtReload(t *testing.T) {
	dir, err := os.MkdirTemp("", "wr") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d, plugins := newDrawer(t), filepath.Join(dir, "bin")
	d.put("db", map[string]string{"hook": "something-long-1"})
	sums := map[string]string{}
	for _, name := range []string{"runtime-local", "audit-file", "holder"} {
		sum, err := pluginhost.FileSHA256(build(t, plugins, name))
		if err != nil {
			t.Fatal(err)
		}
		sums[name] = sum
	}
	file, written := filepath.Join(dir, "wardroom.yaml"), &log{}
	configure := func(entries, more string) {
		t.Helper()
		write(t, file, fmt.Sprintf(`
server: {listen: "127.0.0.1:0", environment: development}
store: {path: store}
agentTypes: {shell: {command: sh, env: {PS1: "$ ", TOKEN: plain-text-of-a-token}, ready: {pattern: '^\$ ?$'}, exit: exit}}
security: {audit: {enabled: true, level: standard, mode: blocking}}
plugins:
  dir: %q
%s
%s`, plugins, entries, more))
	}
	configure("", "")
	a := open(t, appliance.Options{ConfigPath: file, Version: "1.2.3", Stderr: written})
	api := connect(t, a)
	ctx := t.Context()
	entries := func(sumOfLocal string) string {
		return fmt.Sprintf(`
  secrets-drawer: {kind: secret, path: %q, sha256: %s, config: {directory: %q}}
  audit-file: {kind: audit, sha256: %s, config: {path: %q}}
  runtime-local: {kind: runtime, sha256: %s}
`, filepath.Join(d.dir, "bin", "secrets-drawer"), d.sum, d.dir, sums["audit-file"], filepath.Join(dir, "trail.jsonl"), sumOfLocal)
	}
	more := "runtimes: {local: {plugin: runtime-local}, far: {url: 'http://127.0.0.1:1'}}\nwebhooks: {endpoints: [{url: 'http://127.0.0.1:9/', events: ['*'], secret: 'secrets-drawer:db#hook'}]}\n"

	configure(entries(strings.Repeat("a", 64)), more)
	if err := a.Reload(); err == nil || !strings.Contains(err.Error(), "runtime-local") || !strings.Contains(err.Error(), "checksum") {
		t.Fatalf("a plugin that cannot start: %v", err)
	}
	list, err := api.ListPlugins(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Plugins {
		t.Errorf("there is %+v", p)
	}
	if runtimes, err := api.ListRuntimes(ctx); err != nil || len(runtimes.Runtimes) != 0 {
		t.Errorf("there is %+v, %v", runtimes, err)
	}
	if tested, err := api.TestSecret(ctx, "secrets-drawer:db#hook"); err != nil || tested.Resolves || !strings.Contains(tested.Reason, "is configured") {
		t.Errorf("the provider is known: %+v, %v", tested, err)
	}
	if hooks, err := api.ListWebhooks(ctx, client.WebhookFilter{}); err != nil || len(hooks.Webhooks) != 0 {
		t.Errorf("the rest was taken over: %+v, %v", hooks, err)
	}

	configure(entries(sums["runtime-local"]), more)
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(written.String(), "wait for a restart") {
		t.Error("it waits for a restart")
	}
	for _, name := range []string{"secrets-drawer", "audit-file", "runtime-local"} {
		if p, err := api.GetPlugin(ctx, name); err != nil || p.State != "ready" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if tested, err := api.TestSecret(ctx, "secrets-drawer:db#hook"); err != nil || !tested.Resolves {
		t.Errorf("the provider: %+v, %v", tested, err)
	}
	coretest.WaitFor(t, "the runtime", func() bool {
		list, err := api.ListRuntimes(ctx)
		return err == nil && len(list.Runtimes) == 2 && list.Runtimes[0].Name == "local" && list.Runtimes[0].Ready
	})
	agent, err := api.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: "shell", Runtime: "local"})
	if err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the agent", func() bool {
		now, err := api.GetManagedAgent(ctx, agent.ID)
		return err == nil && now.Status == client.ManagedReady
	})
	if err := api.StopManagedAgent(ctx, agent.ID, true, 0); err != nil {
		t.Error(err)
	}
	coretest.WaitFor(t, "the trail in the sink", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "trail.jsonl"))
		return err == nil && strings.Contains(string(text), "config.reload") && strings.Contains(string(text), agent.ID)
	})
	health, err := api.HealthDetailed(ctx)
	if err != nil || !strings.Contains(string(health.Body), "plugin:audit-file") || !strings.Contains(string(health.Body), "runtime:far") {
		t.Errorf("health: %+v, %v", health, err)
	}
	// It stays so over another reload, and what it has differs in nothing from what a restart has.
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	if p, err := api.GetPlugin(ctx, "audit-file"); err != nil || p.State != "ready" {
		t.Errorf("after another reload: %+v, %v", p, err)
	}
}
