package cmd

import (
	"os"
	"path/filepath"
	"testing"
)

// The token of a socket is called after it; a server of an earlier release that still runs has it in admin.token.
func TestReadAdminToken(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ file, socket, want string }{
		{"admin.token", "own.sock", "former"},
		{"own.token", "own.sock", "own"},
		{"", "admin.sock", "former"},
		{"plain.token", "plain", "plain"},
	} {
		if tt.file != "" {
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.want+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := readAdminToken(filepath.Join(dir, tt.socket)); got != tt.want || err != nil {
			t.Errorf("the token of %s is %q, %v; want %q", tt.socket, got, err, tt.want)
		}
	}
}
