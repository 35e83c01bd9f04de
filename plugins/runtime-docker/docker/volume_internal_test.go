package docker

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMayMountBelowWritable has a directory that agents may write to in one that they may read all of: what lies below the former
// could be put in place of what was checked, and is not mounted because of the latter.
func TestMayMountBelowWritable(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"plain/sub", "shared/sub"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 { // roots are looked at in any order
		l := &Launcher{config: Config{
			Socket: "/nowhere/docker.sock", StateDir: "/nowhere/state",
			Volumes: map[string]string{root: modeRead, filepath.Join(root, "shared"): modeWrite},
		}}
		l.rooms.Dir = "/nowhere/rooms"
		for _, tt := range []struct {
			dir       string
			write, ok bool
		}{
			{"", false, true}, {"", true, false}, {"plain/sub", false, true}, {"shared", true, true}, {"shared", false, true}, {"shared/sub", false, false}, {"shared/sub", true, false},
		} {
			dir := filepath.Join(root, tt.dir)
			why, _ := l.mayMount(&volume{source: dir, real: dir, target: "/x", write: tt.write})
			if (why == "") != tt.ok {
				t.Fatalf("%q, to write %t: %q", tt.dir, tt.write, why)
			}
		}
	}
}
