package appliance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// A reload that is refused leaves in force what was, also of the rules whose files were right.
func TestRefusedReloadKeepsPolicies(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	approvals := func(answer string) string {
		return fmt.Sprintf("package wardroom.approvals\n\ndecision := {\"answer\": %q, \"rule\": \"one\"}\n", answer)
	}
	if err := os.Mkdir(filepath.Join(dir, "policy"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("wardroom.yaml", "server: {listen: '127.0.0.1:0'}\nstore: {path: store}\nplugins: {dir: plugins}\nsecurity: {authentication: {apiKeys: {enabled: true}}, policy: {dir: policy}}\n")
	write("policy/approvals.rego", approvals("deny"))
	write("policy/authz.rego", PolicyText())
	a, err := New(Options{ConfigPath: filepath.Join(dir, "wardroom.yaml"), Stderr: new(strings.Builder)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	inForce := func() string {
		ruling, _ := a.approvals.Decide(t.Context(), core.PromptQuestion{Tool: "Bash", Input: map[string]any{}})
		return ruling.Answer + " " + a.policy.Revision()
	}
	before := inForce()
	write("policy/approvals.rego", approvals("allow"))
	write("policy/authz.rego", "package wardroom.authz\n\ndecision := {\"allow\": false, \"reason\": \"nothing\"}\n")
	if err := a.Reload(); core.ErrorCode(err) != core.CodeValidation {
		t.Fatalf("a policy that refuses administrators: %v", err)
	}
	if now := inForce(); now != before {
		t.Errorf("in force is %s, and was %s", now, before)
	}
	write("policy/authz.rego", PolicyText())
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	if now := inForce(); !strings.HasPrefix(now, core.RulingAllow+" ") {
		t.Errorf("after a reload that is right: %s", now)
	}
}
