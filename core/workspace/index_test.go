package workspace_test

import (
	"bytes"
	"crypto/sha1" // an index of git ends with one
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// A file that was changed at the very time that the index was written, to one of the same size, is seen.
func TestDiffOfAFileAsOldAsTheIndex(t *testing.T) {
	src := newSource(t)
	src.write("f.txt", "one\n")
	src.commit("one")
	r := newRig(t)
	w := r.provision("x", src.spec())
	path := filepath.Join(w.Path, "f.txt")
	one := strings.TrimSpace(r.agentGit(w, "rev-parse", "HEAD:f.txt"))
	write(t, path, "two\n")
	r.agentGit(w, "add", "f.txt")
	two := strings.TrimSpace(r.agentGit(w, "rev-parse", ":f.txt"))
	// As if git had read the file before it was changed.
	index := filepath.Join(r.mirror(), "worktrees", w.ID, "index")
	text := []byte(read(t, index))
	text = bytes.Replace(text[:len(text)-sha1.Size], unhex(t, two), unhex(t, one), 1)
	if i := bytes.Index(text, []byte("TREE")); i > 0 { // what git keeps of trees may be left out
		text = text[:i]
	}
	sum := sha1.Sum(text)
	write(t, index, string(text)+string(sum[:]))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(index, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if status := r.agentGit(w, "--no-optional-locks", "status", "--porcelain"); status != " M f.txt\n" {
		t.Fatalf("git sees %q", status)
	}
	coretest.WaitFor(t, "the second to be over, which is all that some gits compare", func() bool { return time.Now().Unix() > info.ModTime().Unix() })
	d, err := r.DiffWorkspace(t.Context(), w.ID, "f.txt", 0)
	if err != nil || !strings.Contains(d.Patch, "+two") {
		t.Errorf("%+v, %v", d, err)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	out, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An agent's git that has the index for so long that its lock is taken does not leave the lock in the place of the index.
func TestUpdateBesideALongGit(t *testing.T) {
	src, r, w := updatable(t)
	src.commit("theirs")
	index := filepath.Join(r.mirror(), "worktrees", w.ID, "index")
	write(t, index+".lock", "")
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(index+".lock", old, old); err != nil {
		t.Fatal(err)
	}
	r.opts.Git = gitThat(t, "*\" read-tree -m \"*) mv "+index+".lock "+index+"; kill -9 $$ ;;")
	r.restart()
	if _, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge); err == nil {
		t.Error("it went on")
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" {
		t.Errorf("status %q", status)
	}
}

// The index that comes of an update that was put back can be read by whoever could read it before.
func TestPutBackKeepsTheModeOfTheIndex(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	src.write("README.md", "after\n")
	src.commit("after")
	index := filepath.Join(r.mirror(), "worktrees", w.ID, "index")
	was, err := os.Stat(index)
	if err != nil {
		t.Fatal(err)
	}
	r.opts.Git = gitThat(t, "*\" read-tree -m \"*) kill -9 $$ ;;")
	r.restart()
	if _, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge); err == nil {
		t.Error("the update went on")
	}
	if is, err := os.Stat(index); err != nil || is.Mode() != was.Mode() {
		t.Errorf("the mode was %v and is %v, %v", was.Mode(), is.Mode(), err)
	}
}
