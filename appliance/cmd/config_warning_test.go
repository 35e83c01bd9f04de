package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The warning about a section that nothing switches on has its name, and the file is valid.
func TestConfigValidateWarns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wardroom.yaml")
	if err := os.WriteFile(path, []byte("security:\n  secrets:\n    vault: {address: 'https://vault.example.com:8200'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := execute(t, "", "config", "validate", path)
	r.expect(t, 0)
	if text := r.stdout.String(); !strings.Contains(text, "valid: ") || !strings.Contains(text, "warning: ") || !strings.Contains(text, "wardroom.yaml:3: security.secrets.vault: is given and does nothing: security.secrets.provider is not set") {
		t.Errorf("%s", text)
	}
	r = execute(t, "", "config", "validate", path, "-o", "json")
	r.expect(t, 0)
	if text := r.stdout.String(); !strings.Contains(text, `"warnings"`) || !strings.Contains(text, "security.secrets.vault") {
		t.Errorf("%s", text)
	}
}
