package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

// An agent's own git commits as the configured identity. Nothing of that is in its environment, whose values count as
// secrets.
func TestIdentity(t *testing.T) {
	r, src := newRig(t), newSource(t)
	w := r.provision("x", core.WorkspaceSpec{Repo: src.url()})
	for name, value := range r.GitEnv(w.ID) {
		if len(value) > 1 {
			t.Errorf("%s=%s would be redacted", name, value)
		}
	}
	author := func() string {
		t.Helper()
		r.agentGit(w, "commit", "--quiet", "--allow-empty", "-m", "work")
		return strings.TrimSpace(r.agentGit(w, "log", "-1", "--format=%an <%ae> %cn <%ce>"))
	}
	if got := author(); got != "Ward <ward@example.com> Ward <ward@example.com>" {
		t.Errorf("committed by %s", got)
	}

	// An identity that is configured anew holds for workspaces that are there.
	cfg := r.opts.Config
	cfg.Identity = workspace.Identity{Name: `O'Hara \ "the quick" One`, Email: "o@example.com"}
	r.ApplyConfig(cfg)
	if _, err := r.InspectWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	if got, want := author(), cfg.Identity.Name+" <o@example.com> "+cfg.Identity.Name+" <o@example.com>"; got != want {
		t.Errorf("committed by %s, want %s", got, want)
	}

	// So it does for mirrors that were made before there was one in them.
	file := filepath.Join(r.mirror(), "config")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	base, _, ok := strings.Cut(string(text), "[user]")
	if !ok {
		t.Fatalf("the configuration is %s", text)
	}
	write(t, file, base)
	if _, err := r.InspectWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(file); string(again) != string(text) {
		t.Errorf("the configuration is %s", again)
	}
	if strings.Contains(r.log.String(), "changed by somebody") {
		t.Errorf("the log blames somebody: %s", r.log)
	}
	r.agentGit(w, "config", "core.pager", "less")
	if _, err := r.InspectWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.log.String(), "changed by somebody") {
		t.Error("a change of an agent is not told")
	}
}
