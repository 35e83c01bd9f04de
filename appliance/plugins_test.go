package appliance_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/client"
)

// A reload stops a plugin that the configuration does not want any more, says so, and refuses where a secret is still
// referred to; a plugin that is not used can be removed, while the service runs and while it does not.
func TestPluginsGo(t *testing.T) {
	dir := t.TempDir()
	plugins, binary := filepath.Join(dir, "bin"), filepath.Join(dir, "secrets-drawer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./testdata/secrets-drawer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	install := func() {
		t.Helper()
		p, err := pluginhost.ReadPackage(binary, plugins, pluginhost.About{Version: "1.0.0"}, pluginhost.Trust{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Install(); err != nil {
			t.Fatal(err)
		}
	}
	install()
	write(t, filepath.Join(dir, "db.json"), `{"hook": "something-long-1"}`)
	file, written := filepath.Join(dir, "wardroom.yaml"), &log{}
	configure := func(entry, hook string) {
		t.Helper()
		write(t, file, fmt.Sprintf(`
server: {listen: "127.0.0.1:0", environment: development}
store: {path: store}
plugins:
  dir: %q
%s
security: {audit: {enabled: true, level: standard, mode: blocking}}
webhooks: {endpoints: [{url: "http://127.0.0.1:9/", events: ["*"], secret: %q}]}
`, plugins, entry, hook))
	}
	const reference = "secrets-drawer:db#hook"
	entry := func(enabled bool) string {
		return fmt.Sprintf("  secrets-drawer: {kind: secret, enabled: %t, config: {directory: %q}}", enabled, dir)
	}
	configure(entry(true), reference)
	a := open(t, appliance.Options{ConfigPath: file, Version: "1.2.3", Stderr: written})
	api := connect(t, a)
	state := func(want string) {
		t.Helper()
		p, err := api.GetPlugin(t.Context(), "secrets-drawer")
		if err != nil || string(p.State) != want {
			t.Fatalf("%+v, %v; want %s", p, err, want)
		}
	}
	state("ready")
	refused := func(words ...string) {
		t.Helper()
		_, err := api.RemovePlugin(t.Context(), "secrets-drawer")
		if err == nil {
			t.Fatal("it was removed")
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q lacks %q", err, word)
			}
		}
	}
	refused("plugins.secrets-drawer", "enabled")

	configure(entry(false), reference)
	if err := a.Reload(); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "plugins.secrets-drawer.enabled is false") {
		t.Errorf("a provider that is referred to: %v", err)
	}
	state("ready")

	configure(entry(false), "plain-secret-of-a-hook")
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	state("disabled")
	if !strings.Contains(written.String(), "the configuration had a plugin stopped") {
		t.Errorf("the log does not say what was done:\n%s", written)
	}
	if strings.Contains(written.String(), "wait for a restart") {
		t.Error("it waits for a restart")
	}
	configure(entry(true), "plain-secret-of-a-hook")
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	state("ready")
	configure("", "plain-secret-of-a-hook")
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	state("disabled")
	removed, err := api.RemovePlugin(t.Context(), "secrets-drawer")
	if err != nil || removed.Version != "1.0.0" {
		t.Fatalf("%+v, %v", removed, err)
	}
	if _, err := os.Stat(filepath.Join(plugins, "secrets-drawer")); err == nil {
		t.Error("its binary is still there")
	}
	actions := map[string]int{}
	page, err := api.ListAudit(t.Context(), client.AuditFilter{Limit: 100, Resource: "plugins/secrets-drawer"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		actions[r.Action+" "+r.Outcome]++
	}
	for what, n := range map[string]int{
		"plugins.disable success": 2, "plugins.enable success": 1, "plugins.remove failure": 1, "plugins.remove success": 1,
	} {
		if actions[what] != n {
			t.Errorf("%s is recorded %d times, not %d: %v", what, actions[what], n, actions)
		}
	}

	// Without the service.
	install()
	loaded, err := config.Load(file, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := store.Location{Path: filepath.Join(dir, "store")}
	if _, err := appliance.OfflineRemovePlugin(t.Context(), loaded, at, "secrets-drawer"); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("while it runs: %v", err)
	}
	a.Close()
	loaded.Plugins.Entries = map[string]*config.Plugin{"secrets-drawer": {Enabled: true}}
	if _, err := appliance.OfflineRemovePlugin(t.Context(), loaded, at, "secrets-drawer"); core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), "plugins.secrets-drawer") {
		t.Errorf("in use: %v", err)
	}
	loaded.Plugins.Entries = nil
	gone, err := appliance.OfflineRemovePlugin(t.Context(), loaded, at, "secrets-drawer")
	if err != nil || gone.Version != "1.0.0" {
		t.Fatalf("%+v, %v", gone, err)
	}
	err = appliance.OfflineAudit(t.Context(), at, func(ctx context.Context, trail core.AuditService) error {
		page, err := trail.FindAudit(ctx, core.AuditFilter{Action: "plugins.remove", Outcome: "success", Limit: 10})
		if err == nil && (len(page.Records) != 2 || page.Records[0].Actor.ID != core.System.ID || page.Records[0].Resource.ID != "secrets-drawer") {
			t.Errorf("records %+v", page.Records)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
