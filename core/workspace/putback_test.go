package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// killedGit is a git that is killed in the midst of an update, once it wrote the files.
const killedGit = "*\" read-tree -m \"*) git \"$@\"; kill -9 $$ ;;"

// failUpdate updates a workspace by a git that is killed once it wrote the files.
func (r *rig) failUpdate(w *core.Workspace) {
	r.t.Helper()
	r.opts.Git = gitThat(r.t, killedGit)
	r.restart()
	if _, err := r.UpdateWorkspace(soon(r.t), w.ID, core.WorkspaceMerge); err == nil {
		r.t.Error("the update went on")
	}
	r.opts.Git = ""
	r.restart()
}

// A link of a repository, whose directory is empty, is put back whatever took its place, and what it took the place of is too.
func TestPutBackLinks(t *testing.T) {
	inner := newSource(t)
	for name, what := range map[string][2]func(src *source){
		"link to file":      {link(inner), func(src *source) { src.write("sub", "a file\n") }},
		"link to directory": {link(inner), func(src *source) { src.write("sub/a", "a file\n") }},
		"link to nothing":   {link(inner), func(src *source) {}},
		"file to link":      {func(src *source) { src.write("sub", "a file\n") }, link(inner)},
		"directory to link": {func(src *source) { src.write("sub/a", "a file\n") }, link(inner)},
		"nothing to link":   {func(src *source) {}, link(inner)},
	} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t)
			src.write("other", "before\n")
			what[0](src)
			src.commit("before")
			r := newRig(t)
			w := r.provision("x", src.spec())
			src.git("rm", "-q", "-r", "--cached", "--ignore-unmatch", "sub")
			if err := os.RemoveAll(filepath.Join(src.dir, "sub")); err != nil {
				t.Fatal(err)
			}
			src.write("other", "after\n")
			what[1](src)
			src.commit("after")
			r.failUpdate(w)
			if status := r.agentGit(w, "status", "--porcelain"); status != "" {
				t.Errorf("status %q", status)
			}
			if _, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge); err != nil {
				t.Errorf("once more: %v", err)
			}
			if status := r.agentGit(w, "status", "--porcelain"); status != "" {
				t.Errorf("status after %q", status)
			}
		})
	}
}

// link adds a link of a repository.
func link(inner *source) func(src *source) {
	return func(src *source) {
		src.git("-c", "protocol.file.allow=always", "clone", "-q", inner.dir, "sub")
	}
}

// A file that is being put back when the disk is full, or the server is killed, is put back by the next try.
func TestPutBackThatDies(t *testing.T) {
	src := newSource(t)
	before := strings.Repeat("before\n", 2000)
	src.write("a.txt", before)
	src.commit("before")
	r := newRig(t)
	w := r.provision("x", src.spec())
	src.write("a.txt", strings.Repeat("after\n", 2000))
	src.commit("after")
	r.opts.Git = gitThat(t, killedGit+"\n*\" checkout-index \"*) printf 'before\nbef' > \"$GIT_WORK_TREE/a.txt\"; kill -9 $$ ;;")
	r.restart()
	if _, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge); err == nil {
		t.Error("the update went on")
	}
	r.opts.Git = ""
	r.restart()
	if read(t, filepath.Join(w.Path, "a.txt")) != before {
		t.Error("half a file is left")
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" {
		t.Errorf("status %q", status)
	}
}

// The commits of an update may be gone when it is put back: then the files stay as they are.
func TestPutBackWithoutTheCommit(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	src, r, w := updatable(t)
	src.commit("theirs")
	r.updateAndKill(w, core.WorkspaceMerge, gitThat(t, "*\" read-tree -m \"*) git \"$@\"; echo $$ > "+there+".new; mv "+there+".new "+there+"; sleep 1000 ;;"), there)()
	for _, left := range []string{"trees/*.new-*", "mirrors/*/worktrees/*.new-*"} {
		found, _ := filepath.Glob(filepath.Join(r.root, left))
		for _, path := range found {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.agentGit(w, "prune", "--expire=now")
	r.start()
	if _, err := r.InspectWorkspace(t.Context(), w.ID); err != nil {
		t.Errorf("it cannot be used: %v", err)
	}
	if exists(filepath.Join(r.root, "notes", w.ID+".move.json")) || !strings.Contains(r.log.String(), "stay as they are") {
		t.Errorf("the note is left, or nothing is logged: %s", r.log)
	}
}

// What an agent links elsewhere meanwhile is not touched there, and keeps nothing from being put back.
func TestPutBackBehindALink(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	src, r, w := updatable(t)
	src.commit("theirs")
	r.updateAndKill(w, core.WorkspaceMerge, gitThat(t, "*\" read-tree -m \"*) git \"$@\"; echo $$ > "+there+".new; mv "+there+".new "+there+"; sleep 1000 ;;"), there)()
	outside := t.TempDir()
	write(t, filepath.Join(outside, "new.txt"), "")
	if err := os.RemoveAll(filepath.Join(w.Path, "deep")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(w.Path, "deep")); err != nil {
		t.Fatal(err)
	}
	r.start()
	if status := r.agentGit(w, "status", "--porcelain"); status != "?? deep\n" || !exists(filepath.Join(outside, "new.txt")) {
		t.Errorf("status %q, log %s", status, r.log)
	}
}

// A git that outlives the server while it puts files back is waited for.
func TestPutBackByAGitThatLivesOn(t *testing.T) {
	dir := t.TempDir()
	there, on := filepath.Join(dir, "there"), filepath.Join(dir, "on")
	src, r, w := updatable(t)
	src.commit("theirs")
	r.updateAndKill(w, core.WorkspaceMerge, gitThat(t, killedGit+"\n*\" checkout-index \"*) echo $$ > "+there+".new; mv "+there+".new "+there+"\n"+
		"  while [ ! -e "+on+" ]; do sleep 0.01; done; printf bef > \"$GIT_WORK_TREE/touched.txt\"; exit 1 ;;"), there)
	r.waitsFor(w)
	write(t, on, "")
	if _, err := r.InspectWorkspace(soon(t), w.ID); err != nil {
		t.Error(err)
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" {
		t.Errorf("status %q", status)
	}
}

// The index of an agent's git may be of another form than ours writes: it is updated all the same.
func TestUpdateOfOddIndexes(t *testing.T) {
	for name, odd := range map[string]func(r *rig, w *core.Workspace){
		"split":     func(r *rig, w *core.Workspace) { r.agentGit(w, "update-index", "--split-index") },
		"version 4": func(r *rig, w *core.Workspace) { r.agentGit(w, "update-index", "--index-version", "4") },
		"untracked cache": func(r *rig, w *core.Workspace) {
			r.agentGit(w, "update-index", "--force-untracked-cache")
			r.agentGit(w, "status")
		},
		"assume unchanged": func(r *rig, w *core.Workspace) { r.agentGit(w, "update-index", "--assume-unchanged", "README.md") },
		"skip":             func(r *rig, w *core.Workspace) { r.agentGit(w, "update-index", "--skip-worktree", "README.md") },
		"sparse": func(r *rig, w *core.Workspace) {
			r.agentGit(w, "sparse-checkout", "set", "--cone", "--sparse-index", "src")
		},
		"threads": func(r *rig, w *core.Workspace) { r.agentGit(w, "-c", "index.threads=4", "reset", "-q", "--hard") },
	} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t)
			src.write("deep/in/it.txt", "before\n")
			src.commit("deep")
			r := newRig(t)
			w := r.provision("x", src.spec())
			odd(r, w)
			src.write("README.md", "after\n")
			src.write("deep/in/it.txt", "after\n")
			src.write("deep/more.txt", "after\n")
			src.commit("after")
			status := r.agentGit(w, "status", "--porcelain")
			r.failUpdate(w)
			if got := r.agentGit(w, "status", "--porcelain"); got != status {
				t.Errorf("status was %q and is %q", status, got)
			}
			if _, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge); err != nil {
				t.Fatal(err)
			}
			if got := r.agentGit(w, "status", "--porcelain"); got != status || read(t, filepath.Join(w.Path, "README.md")) != "after\n" {
				t.Errorf("status was %q and is %q", status, got)
			}
		})
	}
}

// A thread that takes a workspace whose update was cut off, and could not be put back at the start, does not find half of it.
func TestProvisionPutsBack(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	src, r, w := updatable(t)
	src.commit("theirs")
	r.updateAndKill(w, core.WorkspaceMerge, gitThat(t, "*\" read-tree -m \"*) git \"$@\"; echo $$ > "+there+".new; mv "+there+".new "+there+"; sleep 1000 ;;"), there)()
	well := filepath.Join(t.TempDir(), "well")
	r.opts.Git = gitThat(t, "*\" diff --raw \"*) [ -e "+well+" ] || kill -9 $$ ;;")
	r.start()
	_, err := r.ProvisionWorkspace(t.Context(), w.ID)
	wantError(t, err, core.CodeInternal, "killed")
	write(t, well, "")
	if made, err := r.ProvisionWorkspace(t.Context(), w.ID); err != nil || made.Status != core.WorkspaceReady {
		t.Errorf("%+v, %v", made, err)
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" {
		t.Errorf("status %q", status)
	}
}

// Half of a file that a killed git was writing goes, however large it is, and what an agent has there stays.
func TestPutBackHalfOfALargeFile(t *testing.T) {
	const size = 65 << 20
	line := strings.Repeat("l", 1023) + "\n"
	text := strings.Repeat(line, size/len(line))
	there := t.TempDir() // what is in the worktree when git ends
	for name, left := range map[string]string{
		"known": text[:size-1000], "fresh": text[:size-2000], "known-mine": text[:size-1000] + "x", "fresh-mine": text[:size-2000] + "x", "fresh-longer": text + "x",
	} {
		write(t, filepath.Join(there, name), left)
	}
	src := newSource(t)
	src.write("known", "small\n")
	src.write("known-mine", "small\n")
	src.commit("before")
	r := newRig(t)
	w := r.provision("x", src.spec())
	for _, name := range []string{"known", "fresh", "known-mine", "fresh-mine", "fresh-longer"} {
		src.write(name, text)
	}
	src.commit("after")
	r.opts.Git = gitThat(t, "*\" read-tree -m \"*) cp "+there+"/* \"$GIT_WORK_TREE\"; kill -9 $$ ;;")
	r.restart()
	if _, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge); err == nil {
		t.Error("the update went on")
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != " M known-mine\n?? fresh-longer\n?? fresh-mine\n" {
		t.Errorf("status %q", status)
	}
}
