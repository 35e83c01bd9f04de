package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// What an agent has under a name that git ignores is not lost to a file that is new on the branch: not where it has that name, nor
// that of a directory of it, nor where it lies in a directory of that name.
func TestUpdateOverIgnoredFiles(t *testing.T) {
	link := func(to string) func(testing.TB, string) {
		return func(t testing.TB, path string) {
			if err := os.Symlink(to, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	mine := func(t testing.TB, path string) { write(t, path, "the agent's\n") }
	for name, test := range map[string]struct {
		theirs string // new on the branch
		path   string // of what the agent has
		make   func(t testing.TB, path string)
	}{
		"file":                     {".env", ".env", mine},
		"file in a directory":      {"out/a/b", "out/a/b", mine},
		"file for a directory":     {"out/a/b", "out", mine},
		"directory for a file":     {"out", "out/a/b", mine},
		"directory of known files": {"known", "known/.env", mine},
		"link":                     {".env", ".env", link("/nowhere")},
		"link for a directory":     {"out/a", "out", link("src")},
		"repository":               {"out", "out/.git/HEAD", mine},
		"pipe":                     {".env", ".env", pipe},
	} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t)
			src.write(".gitignore", ".env\nout\n")
			src.write("known/a", "a\n")
			src.write("known/b", "b\n")
			src.commit("before")
			r := newRig(t)
			w := r.provision("x", src.spec())
			path := filepath.Join(w.Path, test.path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			test.make(t, path)
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if status := r.agentGit(w, "status", "--porcelain"); status != "" {
				t.Fatalf("it is not ignored: %q", status)
			}
			if test.theirs == "known" {
				src.git("rm", "-q", "-r", "known")
			}
			src.write(test.theirs, "theirs\n")
			src.write("theirs.txt", "theirs\n")
			src.git("add", "-f", test.theirs)
			src.commit("theirs")
			_, err = r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge)
			if after, lost := os.Lstat(path); lost != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
				t.Fatalf("what the agent had is lost: %v; the update ended with %v", lost, err)
			}
			e := wantError(t, err, core.CodeConflict, "in the way")
			if text, _ := e.Details["git"].(string); !strings.Contains(text, test.path) || e.Details["failure"] != "files_in_the_way" {
				t.Errorf("details %v, which do not name %s", e.Details, test.path)
			}
			if status := r.agentGit(w, "status", "--porcelain"); status != "" {
				t.Errorf("status %q", status)
			}
			// Once it is out of the way the update is made.
			if err := os.Rename(filepath.Join(w.Path, strings.Split(test.path, "/")[0]), filepath.Join(t.TempDir(), "moved")); err != nil {
				t.Fatal(err)
			}
			if test.theirs == "known" {
				r.agentGit(w, "checkout", "-q", "known")
			}
			if _, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge); err != nil || read(t, filepath.Join(w.Path, test.theirs)) != "theirs\n" {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// An ignored file that holds what the branch has is in nothing's way, and stays if the update is cut off behind it.
func TestUpdateOverTheSameIgnoredFile(t *testing.T) {
	src := newSource(t)
	src.write(".gitignore", ".env\n")
	src.commit("before")
	r := newRig(t)
	w := r.provision("x", src.spec())
	write(t, filepath.Join(w.Path, ".env"), "same\n")
	src.write(".env", "same\n")
	src.git("add", "-f", ".env")
	src.commit("theirs")
	r.opts.Git = gitThat(t, "*\" read-tree -m \"*) git \"$@\"; kill -9 $$ ;;")
	r.restart()
	if _, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge); err == nil || read(t, filepath.Join(w.Path, ".env")) != "same\n" {
		t.Errorf("cut off: %v", err)
	}
	r.opts.Git = ""
	r.restart()
	if _, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge); err != nil || read(t, filepath.Join(w.Path, ".env")) != "same\n" {
		t.Errorf("once more: %v", err)
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" {
		t.Errorf("status %q", status)
	}
}
