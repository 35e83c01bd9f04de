package workspace_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

// newLarge makes a repository of many files.
func newLarge(b *testing.B, files int) *source {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "large")
	runGit(b, "", nil, "init", "-q", "--bare", "-b", "main", dir)
	var stream bytes.Buffer
	stream.WriteString("commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 4\nbase\n")
	for i := range files {
		body := fmt.Sprintf("package p\n// file %d\n", i) + strings.Repeat("func f() { /* filler text for a source file */ }\n", i%20+1)
		fmt.Fprintf(&stream, "M 100644 inline d%02d/e%02d/f%05d.go\ndata %d\n%s\n", i%100, i/100%20, i, len(body), body)
	}
	cmd := gitCommand(dir, nil, "fast-import", "--quiet")
	cmd.Stdin = &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("fast-import: %v\n%s", err, out)
	}
	return &source{t: b, dir: dir}
}

// BenchmarkProvision makes a workspace of a repository with 50,000 files from a warm mirror, reservation included, and
// beside it what git worktree add alone does in the same mirror, in turns.
func BenchmarkProvision(b *testing.B) {
	src := newLarge(b, 50_000)
	r := newRig(b, func(o *workspace.Options) { o.Config.MaxWorkspaces = 1 << 20 })
	r.provision("warm", src.spec())
	var ours, plain time.Duration
	n := 0
	for b.Loop() {
		n++
		begin := time.Now()
		w := r.provision("x", src.spec())
		ours += time.Since(begin)

		b.StopTimer()
		dir := filepath.Join(b.TempDir(), "plain")
		begin = time.Now()
		runGit(b, r.mirror(), nil, "worktree", "add", "-q", "-b", fmt.Sprint("plain-", n), dir, w.BaseCommit)
		plain += time.Since(begin)
		runGit(b, r.mirror(), nil, "worktree", "remove", "--force", dir)
		if _, err := r.PruneWorkspaces(b.Context(), core.WorkspacePrune{IDs: []string{w.ID}}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(ours.Seconds()/float64(n), "s/provision")
	b.ReportMetric(plain.Seconds()/float64(n), "s/worktree-add")
	b.ReportMetric(ours.Seconds()/plain.Seconds(), "ratio")
}

// BenchmarkInspectUnreadable looks at a workspace with many files that cannot be read, and as many that git does not know.
func BenchmarkInspectUnreadable(b *testing.B) {
	src := newSource(b)
	const many = 20_000
	deep := strings.Repeat("n", 200) + "/"
	name := func(kind string, i int) string { return fmt.Sprintf("%s%s%05d", deep, kind, i) }
	for i := range many {
		src.write(name("k", i), "x\n")
	}
	src.commit("many")
	r := newRig(b)
	w := r.provision("x", src.spec())
	for i := range many {
		pipe(b, filepath.Join(w.Path, name("k", i)))
		write(b, filepath.Join(w.Path, name("u", i)), "")
	}
	for b.Loop() {
		if changes, err := r.InspectWorkspace(b.Context(), w.ID); err != nil || changes.FileCount < 2*many {
			b.Fatalf("%+v, %v", changes, err)
		}
	}
}
