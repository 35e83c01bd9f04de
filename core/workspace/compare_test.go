package workspace_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Any number of files that cannot be read is left out, whatever the length of their names: they are no arguments.
func TestCompareWithManyUnreadableFiles(t *testing.T) {
	src := newSource(t)
	deep := strings.Repeat(strings.Repeat("d", 240)+"/", 7)
	name := func(i int) string { return fmt.Sprintf("%s%d", deep, i) }
	const many = 1500
	for i := range many {
		src.write(name(i), "x\n")
	}
	src.commit("many")
	r := newRig(t)
	w := r.provision("x", src.spec())
	for i := range many {
		pipe(t, filepath.Join(w.Path, name(i)))
	}
	r.agentGit(w, "rm", "-q", "--cached", name(0)) // the base has it, the index not
	write(t, filepath.Join(w.Path, "README.md"), "# changed\n")
	d, err := r.DiffWorkspace(t.Context(), w.ID, "", 0)
	if err != nil || strings.Count(d.Patch, "diff --git") != 1 || !strings.Contains(d.Patch, "+# changed") {
		t.Fatalf("%+v, %v", d, err)
	}
	if got := d.Changes; got.FileCount != many+1 || got.Insertions != 1 || got.Deletions != 1 {
		t.Errorf("%d files, %d and %d lines", got.FileCount, got.Insertions, got.Deletions)
	}
}
