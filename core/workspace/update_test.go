package workspace_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/workspace"
)

func TestDiff(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	d, err := r.DiffWorkspace(t.Context(), w.ID, "", 0)
	if err != nil || d.Patch != "" || d.Truncated || d.BaseCommit != w.BaseCommit {
		t.Fatalf("a fresh workspace: %+v, %v", d, err)
	}
	write(t, filepath.Join(w.Path, "src/main.go"), "package main\n\nfunc main() { run() }\n")
	r.agentGit(w, "commit", "-q", "-a", "-m", "first")
	write(t, filepath.Join(w.Path, "README.md"), "# changed\n")
	write(t, filepath.Join(w.Path, "new ä.txt"), "one\n")
	write(t, filepath.Join(w.Path, ".wardroom/thread-memory.md"), "not work\n")
	status := r.agentGit(w, "status", "--porcelain")
	d, err = r.DiffWorkspace(t.Context(), w.ID, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+func main() { run() }", "+# changed", "new ä.txt", "+one"} {
		if !strings.Contains(d.Patch, want) {
			t.Errorf("no %q in %s", want, d.Patch)
		}
	}
	if strings.Contains(d.Patch, "not work") || d.Changes.FileCount != 3 || d.Changes.Uncommitted != 2 {
		t.Errorf("%+v %s", d.Changes, d.Patch)
	}
	if now := r.agentGit(w, "status", "--porcelain"); now != status {
		t.Errorf("the index changed: %q, was %q", now, status)
	}
	write(t, filepath.Join(w.Path, "large.txt"), strings.Repeat("a line of it\n", 100_000))
	d, err = r.DiffWorkspace(t.Context(), w.ID, "", 5000)
	if err != nil || !d.Truncated || len(d.Patch) > 5000 || !strings.HasSuffix(d.Patch, "\n") {
		t.Errorf("truncated %v, %d bytes, %v", d.Truncated, len(d.Patch), err)
	}
	for path, want := range map[string]string{"src/main.go": "+func main() { run() }", "new ä.txt": "+one", "README.md": "+# changed"} {
		d, err := r.DiffWorkspace(t.Context(), w.ID, path, 0)
		if err != nil || !strings.Contains(d.Patch, want) || strings.Count(d.Patch, "diff --git") != 1 || len(d.Changes.Files) != 1 || d.Changes.Files[0].Path != path {
			t.Errorf("%s: %+v, %v", path, d, err)
		}
	}
	r.agentGit(w, "mv", "README.md", "READ ME.md")
	if d, err = r.DiffWorkspace(t.Context(), w.ID, "READ ME.md", 0); err != nil || !strings.Contains(d.Patch, "/dev/null") && !strings.Contains(d.Patch, "rename from README.md") {
		t.Errorf("%+v, %v", d, err)
	}
	for _, path := range []string{"gone.txt", "missing", "../x", ".wardroom/thread-memory.md", "src", ":(top)src", "*"} {
		_, err := r.DiffWorkspace(t.Context(), w.ID, path, 0)
		wantError(t, err, core.CodeNotFound)
	}
	_, err = r.DiffWorkspace(t.Context(), w.ID, "", -1)
	wantError(t, err, core.CodeValidation)
	left, _ := filepath.Glob(filepath.Join(r.root, "private", "diff-*"))
	if len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
}

// A name that is no text is listed with a mark in it, and found by that.
func TestDiffOfAnOddName(t *testing.T) {
	src := newSource(t)
	src.write("[odd]*\xff.txt", "one\n")
	src.commit("odd")
	r := newRig(t)
	w := r.provision("x", src.spec())
	for _, name := range []string{"[odd]*\xff.txt", "new\xff\xfe", "newer"} {
		write(t, filepath.Join(w.Path, name), "two\n")
	}
	for _, path := range []string{"[odd]*\ufffd.txt", "new\ufffd"} {
		d, err := r.DiffWorkspace(t.Context(), w.ID, path, 0)
		if err != nil || strings.Count(d.Patch, "diff --git") != 1 || !strings.Contains(d.Patch, "+two") {
			t.Errorf("%s: %+v, %v", path, d, err)
		}
	}
}

// An agent may write git's index: one with a hole of hundreds of megabytes, which git passes over, is not copied.
func TestDiffOfAHugeIndex(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	path := strings.TrimSpace(r.agentGit(w, "rev-parse", "--path-format=absolute", "--git-path", "index"))
	index, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const hole = 200 << 20
	head := binary.BigEndian.AppendUint32(append(index[:len(index)-20:len(index)-20], "ZZZZ"...), hole) // an extension that may be left out
	if err := errors.Join(os.WriteFile(path, head, 0o644), os.Truncate(path, int64(len(head))+hole+20)); err != nil {
		t.Fatal(err)
	}
	_, err = r.DiffWorkspace(t.Context(), w.ID, "", 0)
	if wantError(t, err, core.CodeConflict); !strings.Contains(fmt.Sprint(err), "at most 134217728 are read") {
		t.Error(err)
	}
}

func TestUpdate(t *testing.T) {
	for _, how := range []core.WorkspaceUpdateMethod{core.WorkspaceMerge, core.WorkspaceRebase} {
		t.Run(string(how), func(t *testing.T) {
			src := newSource(t)
			r := newRig(t)
			w := r.provision("x", src.spec())
			got, err := r.UpdateWorkspace(t.Context(), w.ID, how)
			if err != nil || got.Changed || got.BaseCommit != w.BaseCommit {
				t.Fatalf("nothing new: %+v, %v", got, err)
			}
			write(t, filepath.Join(w.Path, "mine.txt"), "mine\n")
			r.agentGit(w, "add", "-A")
			r.agentGit(w, "commit", "-q", "-m", "work")
			src.write("theirs.txt", "theirs\n")
			tip := src.commit("theirs")
			write(t, filepath.Join(w.Path, "README.md"), "# open\n")
			_, err = r.UpdateWorkspace(t.Context(), w.ID, how)
			wantError(t, err, core.CodeConflict, "1 files are changed and not committed")
			r.agentGit(w, "checkout", "-q", "README.md")
			got, err = r.UpdateWorkspace(t.Context(), w.ID, how)
			if err != nil || !got.Changed || got.BaseCommit != tip || got.Branch != "main" {
				t.Fatalf("update: %+v, %v", got, err)
			}
			if read(t, filepath.Join(w.Path, "theirs.txt")) != "theirs\n" || r.find(w.ID).BaseCommit != tip {
				t.Error("it is not there")
			}
			merges := strings.Fields(r.agentGit(w, "rev-list", "--merges", "HEAD"))
			if want := map[core.WorkspaceUpdateMethod]int{core.WorkspaceMerge: 1}[how]; len(merges) != want {
				t.Errorf("%d merges", len(merges))
			}
			if branch := strings.TrimSpace(r.agentGit(w, "rev-parse", "--abbrev-ref", "HEAD")); branch != w.WorkBranch {
				t.Errorf("it is on %s", branch)
			}
			if changes, err := r.InspectWorkspace(t.Context(), w.ID); err != nil || changes.FileCount != 1 || changes.Uncommitted != 0 {
				t.Errorf("changes %+v, %v", changes, err)
			}
			// Both change the same: it is told which files, and nothing changes.
			write(t, filepath.Join(w.Path, "README.md"), "# mine\n")
			r.agentGit(w, "commit", "-q", "-a", "-m", "mine")
			head := r.agentGit(w, "rev-parse", "HEAD")
			src.write("README.md", "# theirs\n")
			src.commit("theirs again")
			_, err = r.UpdateWorkspace(t.Context(), w.ID, how)
			e := wantError(t, err, core.CodeConflict, "nothing was changed", "README.md")
			if files, _ := e.Details["conflicts"].([]string); len(files) != 1 || files[0] != "README.md" {
				t.Errorf("details %v", e.Details)
			}
			if r.agentGit(w, "rev-parse", "HEAD") != head || strings.TrimSpace(r.agentGit(w, "status", "--porcelain")) != "" ||
				read(t, filepath.Join(w.Path, "README.md")) != "# mine\n" || r.find(w.ID).BaseCommit != tip {
				t.Errorf("something changed: %s", r.agentGit(w, "status"))
			}
			if branch := strings.TrimSpace(r.agentGit(w, "rev-parse", "--abbrev-ref", "HEAD")); branch != w.WorkBranch {
				t.Errorf("it is on %s", branch)
			}
			// An agent that is in the middle of a merge is left alone.
			write(t, filepath.Join(r.mirror(), "worktrees", w.ID, "MERGE_HEAD"), head)
			_, err = r.UpdateWorkspace(t.Context(), w.ID, how)
			wantError(t, err, core.CodeConflict, "under way")
		})
	}
}

// A workspace whose thread is over can be taken by another, with its files; one that was removed cannot.
func TestAdoptReleased(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	r.adopt(w.ID, "thread_1")
	write(t, filepath.Join(w.Path, "half.txt"), "half\n")
	adopt := func(thread string) error {
		return r.store.Update(t.Context(), func(tx core.Tx) error {
			_, err := r.AdoptWorkspace(tx, w.ID, thread, "exec_2")
			return err
		})
	}
	wantError(t, adopt("thread_2"), core.CodeConflict, "belongs to another thread")
	r.store.putThread("thread_1", core.ThreadFailed)
	r.release(w.ID)
	if err := adopt("thread_2"); err != nil {
		t.Fatal(err)
	}
	got, err := r.ProvisionWorkspace(t.Context(), w.ID)
	if err != nil || got.Status != core.WorkspaceReady || got.ThreadID != "thread_2" || got.ExecutionID != "exec_2" || got.ExpiresAt != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if text, err := os.ReadFile(filepath.Join(w.Path, "half.txt")); err != nil || string(text) != "half\n" {
		t.Errorf("the files are gone: %v", err)
	}
	r.store.putThread("thread_2", core.ThreadStopped)
	r.release(w.ID)
	if _, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}, Force: true}); err != nil {
		t.Fatal(err)
	}
	wantError(t, adopt("thread_3"), core.CodeConflict, "removed")
}

// A copy without history has no commit in common with what is new: the work begins at the base, and only a rebase can
// do without one.
func TestUpdateOfAShallowCopy(t *testing.T) {
	src := newSource(t)
	src.write("README.md", "# second\n")
	src.commit("second")
	r := newRig(t)
	spec := src.spec()
	spec.Depth = 1
	w := r.provision("x", spec)
	write(t, filepath.Join(w.Path, "mine.txt"), "mine\n")
	r.agentGit(w, "add", "-A")
	r.agentGit(w, "commit", "-q", "-m", "work")
	src.write("README.md", "# theirs\n")
	tip := src.commit("theirs")
	_, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge)
	wantError(t, err, core.CodeConflict, "no commit in common", "rebase")
	got, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceRebase)
	if err != nil || !got.Changed || got.BaseCommit != tip {
		t.Fatalf("%+v, %v", got, err)
	}
	if text := read(t, filepath.Join(w.Path, "README.md")); text != "# theirs\n" {
		t.Errorf("the file holds %q", text)
	}
	changes, err := r.InspectWorkspace(t.Context(), w.ID)
	if err != nil || changes.CommitCount != 1 || changes.FileCount != 1 || changes.Files[0].Path != "mine.txt" {
		t.Errorf("%+v, %v", changes, err)
	}
}

// A caller who leaves does not cut an update in half.
func TestUpdateWithoutItsCaller(t *testing.T) {
	src := newSource(t)
	dir := t.TempDir()
	there, on := filepath.Join(dir, "there"), filepath.Join(dir, "on")
	git := gitThat(t, "*\" read-tree -m \"*)\n"+
		"  echo lock > \"$GIT_INDEX_FILE.lock\"; echo half > \"$GIT_WORK_TREE/README.md\"; : > "+there+"\n"+
		"  while [ ! -e "+on+" ]; do sleep 0.01; done\n"+
		"  rm \"$GIT_INDEX_FILE.lock\"; git cat-file blob HEAD:README.md > \"$GIT_WORK_TREE/README.md\" ;;")
	r := newRig(t, func(o *workspace.Options) { o.Git = git })
	w := r.provision("x", src.spec())
	src.write("theirs.txt", "theirs\n")
	tip := src.commit("theirs")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.UpdateWorkspace(ctx, w.ID, core.WorkspaceMerge)
		done <- err
	}()
	coretest.WaitFor(t, "the merge to begin", func() bool { return exists(there) })
	cancel()
	write(t, on, "")
	err := <-done
	if status := r.agentGit(w, "status", "--porcelain"); err != nil || status != "" || r.find(w.ID).BaseCommit != tip {
		t.Errorf("%v; status %q, base %s, want %s", err, status, r.find(w.ID).BaseCommit, tip)
	}
	if _, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// A git that takes too long is killed, and what it left is put back as it was.
func TestUpdateThatTakesTooLong(t *testing.T) {
	for name, step := range map[string]string{"rebase": "rebase", "files": "read-tree -m"} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t)
			there := filepath.Join(t.TempDir(), "there")
			git := gitThat(t, "*\" --abort \"*) ;;\n*\" "+step+" \"*) git \"$@\"; : > \"${GIT_INDEX_FILE:-$GIT_DIR/index}.lock\"; : > "+there+"; sleep 1000 ;;")
			r := newRig(t, func(o *workspace.Options) { o.Git = git })
			w := r.provision("x", src.spec())
			write(t, filepath.Join(w.Path, "mine.txt"), "mine\n")
			r.agentGit(w, "add", "-A")
			r.agentGit(w, "commit", "-q", "-m", "mine")
			src.write("README.md", "# theirs\n")
			src.commit("theirs")
			r.ApplyConfig(workspace.Config{CheckoutTimeout: 3 * time.Second})
			if _, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceRebase); err == nil || !exists(there) {
				t.Fatalf("the rebase ended with %v", err)
			}
			if branch := strings.TrimSpace(r.agentGit(w, "rev-parse", "--abbrev-ref", "HEAD")); branch != w.WorkBranch {
				t.Errorf("it is on %s", branch)
			}
			if status := r.agentGit(w, "status", "--porcelain"); status != "" || exists(filepath.Join(r.mirror(), "worktrees", w.ID, "index.lock")) {
				t.Errorf("status %q", status)
			}
			if left, _ := filepath.Glob(filepath.Join(r.root, "*", "*.new-*")); len(left) != 0 {
				t.Errorf("left behind %v", left)
			}
		})
	}
}

// Files of a thread that works come and go while its changes are looked at.
func TestDiffWhileFilesGo(t *testing.T) {
	src := newSource(t)
	dir := t.TempDir()
	passing := filepath.Join(dir, "passing")
	// The file is gone once git has listed it for the patch, which is what it lists after the diff by numbers.
	git := gitThat(t, "*\" rev-list --count \"*\" --not \"*) : > "+dir+"/looked ;;\n"+
		"*\" ls-files --others \"*) git \"$@\" || exit; [ -e "+dir+"/looked ] && rm -f \"$(cat "+passing+")\"; exit 0 ;;")
	r := newRig(t, func(o *workspace.Options) { o.Git = git })
	w := r.provision("x", src.spec())
	write(t, passing, filepath.Join(w.Path, "passing.tmp"))
	write(t, filepath.Join(w.Path, "passing.tmp"), "x\n")
	write(t, filepath.Join(w.Path, "stays.txt"), "stays\n")
	d, err := r.DiffWorkspace(t.Context(), w.ID, "", 0)
	if exists(filepath.Join(w.Path, "passing.tmp")) {
		t.Fatal("the file did not go")
	}
	if err != nil || !strings.Contains(d.Patch, "+stays") || strings.Contains(d.Patch, "passing.tmp") {
		t.Errorf("%+v, %v", d, err)
	}
}

// An update that is cut off while git writes files leaves some of them behind, which go, and nothing else does.
func TestMergeThatIsCutOff(t *testing.T) {
	for name, how := range map[string]core.WorkspaceUpdateMethod{
		"merge": core.WorkspaceMerge, "rebase": core.WorkspaceRebase, "close": core.WorkspaceMerge,
	} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t)
			src.write("plain", "a file\n")
			src.commit("plain")
			there := filepath.Join(t.TempDir(), "there")
			// git writes files first, then the index.
			git := gitThat(t, "*\" read-tree -m \"*) cp \"$GIT_INDEX_FILE\" \"$GIT_INDEX_FILE.lock\"\n"+
				"  rm \"$GIT_WORK_TREE/src/main.go\"; echo theirs > \"$GIT_WORK_TREE/README.md\"; echo theirs > \"$GIT_WORK_TREE/theirs.txt\"\n"+
				"  rm \"$GIT_WORK_TREE/plain\"; mkdir \"$GIT_WORK_TREE/plain\"; echo theirs > \"$GIT_WORK_TREE/plain/in\"\n"+
				"  : > "+there+"; sleep 1000 ;;")
			r := newRig(t, func(o *workspace.Options) { o.Git = git })
			w := r.provision("x", src.spec())
			write(t, filepath.Join(w.Path, "mine.txt"), "mine\n")
			src.write("README.md", "theirs\n")
			src.write("theirs.txt", "theirs\n")
			src.git("rm", "-q", "src/main.go", "plain")
			src.write("plain/in", "theirs\n")
			src.commit("theirs")
			if name != "close" {
				r.ApplyConfig(workspace.Config{CheckoutTimeout: 3 * time.Second})
			}
			done := make(chan error, 1)
			go func() {
				_, err := r.UpdateWorkspace(soon(t), w.ID, how)
				done <- err
			}()
			coretest.WaitFor(t, "git to write", func() bool { return exists(there) })
			if name == "close" {
				r.Service.Close()
			}
			if err := <-done; err == nil {
				t.Fatal("it went on")
			}
			if status := r.agentGit(w, "status", "--porcelain"); status != "?? mine.txt\n" {
				t.Errorf("status %q", status)
			}
			r.opts.Git = ""
			r.restart()
			if got, err := r.UpdateWorkspace(soon(t), w.ID, how); err != nil || !got.Changed || read(t, filepath.Join(w.Path, "mine.txt")) != "mine\n" {
				t.Errorf("once more: %+v, %v", got, err)
			}
		})
	}
}

// A git that ends in the middle leaves what it wrote, whatever ended it: the machine is out of memory, or the disk is full. What the
// thread removed, or has of its own under a name that is new on the branch, is as it was.
func TestMergeThatDies(t *testing.T) {
	for name, end := range map[string]string{
		"killed":    "kill -9 $$",
		"disk full": "rm \"$LOCKED.lock\"; echo 'error: unable to write file README.md: No space left on device' >&2; exit 128",
	} {
		for _, step := range []string{"merge", "read-tree -m"} {
			t.Run(name+" in "+step, func(t *testing.T) { testMergeThatDies(t, step, end) })
		}
	}
}

func testMergeThatDies(t *testing.T, step, end string) {
	src := newSource(t)
	src.write("gone.txt", "one\n")
	src.write(".gitignore", "both.txt\n")
	src.commit("gone")
	theirs := []string{"README.md", "theirs.txt"}
	if step == "merge" { // of which nothing reaches the worktree, whatever it writes
		theirs = append(theirs, "gone.txt", "both.txt")
	}
	git := gitThat(t, "*\" "+step+" \"*) LOCKED=\"${GIT_INDEX_FILE:-$GIT_DIR/index}\"; cp \"$LOCKED\" \"$LOCKED.lock\"\n"+
		"  for f in "+strings.Join(theirs, " ")+"; do echo theirs > \"$GIT_WORK_TREE/$f\"; done\n  "+end+" ;;")
	r := newRig(t, func(o *workspace.Options) { o.Git = git })
	w := r.provision("x", src.spec())
	r.agentGit(w, "rm", "-q", "gone.txt")
	write(t, filepath.Join(w.Path, "both.txt"), "mine\n")
	r.agentGit(w, "add", "-A")
	r.agentGit(w, "commit", "-q", "-m", "mine")
	for _, f := range theirs {
		src.write(f, "theirs\n")
	}
	src.commit("theirs")
	_, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge)
	if err == nil || !core.AsError(err).Unavailable {
		t.Errorf("it ended with %v", err)
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" || exists(filepath.Join(r.mirror(), "worktrees", w.ID, "index.lock")) {
		t.Errorf("status %q", status)
	}
	if read(t, filepath.Join(w.Path, "both.txt")) != "mine\n" || exists(filepath.Join(w.Path, "gone.txt")) {
		t.Error("the thread's own files are not as they were")
	}
}

// A git that does not know an option newer than the oldest one that is usable can rebase.
func TestRebaseByAnOldGit(t *testing.T) {
	src, r, w := updatable(t)
	src.commit("theirs")
	r.opts.Git = gitThat(t, "*\" --no-update-refs \"*) echo 'error: unknown option' >&2; exit 129 ;;")
	r.restart()
	if _, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceRebase); err != nil {
		t.Error(err)
	}
}
