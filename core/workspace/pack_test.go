package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Packs are joined, and what nothing refers to stays all the same.
func TestPacksAreJoined(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	mirror := r.mirror()
	for i := range 25 {
		src.write("moving.txt", fmt.Sprintln(i))
		src.commit(fmt.Sprint("moved ", i))
		runGit(t, mirror, nil, "-c", "fetch.unpackLimit=1", "fetch", "-q", "origin")
	}
	write(t, filepath.Join(w.Path, "staged.txt"), "staged only\n")
	r.agentGit(w, "add", "staged.txt")
	write(t, filepath.Join(w.Path, "dropped.txt"), "dropped\n")
	dropped := strings.TrimSpace(r.agentGit(w, "hash-object", "-w", "dropped.txt"))
	packs := func() int {
		found, _ := filepath.Glob(filepath.Join(mirror, "objects/pack/*.pack"))
		return len(found)
	}
	before := packs()
	r.sweep()
	if after := packs(); before <= 20 || after > 10 {
		t.Errorf("%d packs before, %d after", before, after)
	}
	for _, object := range []string{dropped, ":staged.txt", "HEAD", "origin/main"} {
		r.agentGit(w, "cat-file", "-e", object)
	}
	r.agentGit(w, "fsck", "--connectivity-only")
}

// A git that is killed leaves the pack that it was getting, which may be as large as the repository.
func TestHalfPacksGo(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	r.provision("x", src.spec())
	dir := filepath.Join(r.mirror(), "objects/pack")
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{"tmp_pack_old", "tmp_idx_old", ".tmp-12-pack-old.pack"} {
		write(t, filepath.Join(dir, name), "half")
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "tmp_pack_new"), "half")
	r.sweep()
	for _, name := range []string{"tmp_pack_old", "tmp_idx_old", ".tmp-12-pack-old.pack"} {
		if exists(filepath.Join(dir, name)) {
			t.Errorf("%s is still there", name)
		}
	}
	if !exists(filepath.Join(dir, "tmp_pack_new")) {
		t.Error("one that a git may be writing is gone")
	}
	r.provision("y", src.spec())
}
