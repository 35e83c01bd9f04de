package workspace_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
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
