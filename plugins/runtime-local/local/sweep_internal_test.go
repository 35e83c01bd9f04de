package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/sdk/holder"
)

// TestSweepLeavesStarts has what is on disk of an agent that is being started: another configuration, which takes over meanwhile,
// leaves its group alone. Without the start the group is a leftover of a crash.
func TestSweepLeavesStarts(t *testing.T) {
	dir := t.TempDir()
	l := New(Options{StateDir: filepath.Join(dir, "state"), RunDir: filepath.Join(dir, "run"), Holder: "/bin/sh"})
	if err := l.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	group := filepath.Join(dir, "group")
	for _, made := range []string{group, l.room("a")} {
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Boot: l.bootID, Socket: l.socket("a"), Groups: []string{group}, Owner: l.owner}
	if err := l.save(h); err != nil {
		t.Fatal(err)
	}
	release, err := l.children.claims.Claim("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, starting := range []bool{true, false} {
		if !starting {
			release()
		}
		if err := l.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(group); (err == nil) != starting {
			t.Errorf("being started: %t; its group: %v", starting, err)
		}
	}
}
