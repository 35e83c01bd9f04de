package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/workspace"
)

// doomed holds the parameters of a process of TestUpdateUntilKilled, as JSON in its environment.
type doomed struct {
	Root, Git string
	Workspace *core.Workspace
	How       core.WorkspaceUpdateMethod
}

const doomedVariable = "WARDROOM_TEST_DOOMED"

// TestUpdateUntilKilled is the process that updateAndKill kills.
func TestUpdateUntilKilled(t *testing.T) {
	text := os.Getenv(doomedVariable)
	if text == "" {
		return
	}
	var d doomed
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	store := newMemory(t)
	store.Put(func(tx core.Tx) error { return tx.PutWorkspace(d.Workspace) })
	s := workspace.New(workspace.Options{Store: store, Clock: coretest.NewClock(), Root: d.Root, Git: d.Git})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := s.UpdateWorkspace(t.Context(), d.Workspace.ID, d.How)
	t.Fatalf("the update ended: %v", err)
}

// updateAndKill updates a workspace in another process, with a git that notes its process in the file there and waits at some
// point, and kills that process there. It returns what ends the git, which lives on. The service of the rig is closed.
func (r *rig) updateAndKill(w *core.Workspace, how core.WorkspaceUpdateMethod, git, there string) func() {
	r.t.Helper()
	text, err := json.Marshal(doomed{Root: r.root, Git: git, Workspace: r.find(w.ID), How: how})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Service.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestUpdateUntilKilled$")
	cmd.Env = append(os.Environ(), doomedVariable+"="+string(text))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // the git that lives on may have its output
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	coretest.WaitFor(r.t, "git to arrive", func() bool { return exists(there) || len(ended) > 0 })
	if !exists(there) {
		<-ended
		r.t.Fatalf("the process ended: %s", out.String())
	}
	if err := cmd.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	<-ended
	group, err := strconv.Atoi(strings.TrimSpace(read(r.t, there)))
	if err != nil {
		r.t.Fatal(err)
	}
	end := func() { _ = syscall.Kill(-group, syscall.SIGKILL) } // it may have ended
	r.t.Cleanup(end)
	return end
}

// A server that is killed in the midst of an update leaves no half of it: the next one puts the files back as they were, or finds
// all of them changed. What an agent, which lives on, wrote meanwhile stays.
func TestUpdateOfAKilledServer(t *testing.T) {
	const wait = "echo $$ > \"$THERE.new\"; mv \"$THERE.new\" \"$THERE\"; sleep 1000 ;;"
	const half = "*\" read-tree -m \"*) cp \"$GIT_INDEX_FILE\" \"$GIT_INDEX_FILE.lock\"; cd \"$GIT_WORK_TREE\"\n" +
		"  printf 'th' > README.md; rm src/main.go plain; mkdir plain; echo theirs > plain/in; echo theirs > new.txt; mkdir deep; : > deep/new.txt\n" +
		"  echo theirs > edited.txt; echo theirs > touched.txt; " + wait
	for name, c := range map[string]struct {
		how     core.WorkspaceUpdateMethod
		at      string
		arrived bool
	}{
		"before any file":      {core.WorkspaceMerge, "*\" read-tree -m \"*) " + wait, false},
		"in a merge aside":     {core.WorkspaceMerge, "*\" merge \"*) " + wait, false},
		"among files":          {core.WorkspaceMerge, half, false},
		"among files, rebased": {core.WorkspaceRebase, half, false},
		"before the index":     {core.WorkspaceMerge, "*\" read-tree -m \"*) git \"$@\"; " + wait, false},
		"before HEAD":          {core.WorkspaceRebase, "*\" update-ref -m \"*) " + wait, false},
		"after HEAD":           {core.WorkspaceMerge, "*\" update-ref -m \"*) git \"$@\"; " + wait, true},
	} {
		t.Run(name, func(t *testing.T) {
			there := filepath.Join(t.TempDir(), "there")
			src, r, w := updatable(t)
			tip := src.commit("theirs")
			head := r.agentGit(w, "rev-parse", "HEAD")
			r.updateAndKill(w, c.how, gitThat(t, strings.ReplaceAll(c.at, "$THERE", there)), there)()
			write(t, filepath.Join(w.Path, "edited.txt"), "the agent's\n")
			write(t, filepath.Join(w.Path, "deep/agent.txt"), "the agent's\n")
			r.start()
			status := r.agentGit(w, "status", "--porcelain", "-uall")
			if want := " M edited.txt\n?? deep/agent.txt\n"; status != want {
				t.Errorf("status %q, want %q", status, want)
			}
			for name, want := range map[string]string{"edited.txt": "the agent's\n", "deep/agent.txt": "the agent's\n", "mine.txt": "mine\n"} {
				if got := read(t, filepath.Join(w.Path, name)); got != want {
					t.Errorf("%s holds %q, want %q", name, got, want)
				}
			}
			got, base := r.agentGit(w, "rev-parse", "HEAD"), r.find(w.ID).BaseCommit
			if (got != head) != c.arrived || (base == tip) != c.arrived {
				t.Errorf("HEAD was %s and is %s, base %s, tip %s", head, got, base, tip)
			}
			if left, _ := filepath.Glob(filepath.Join(r.root, "notes", "*")); len(left) != 0 || exists(filepath.Join(r.mirror(), "worktrees", w.ID, "index.lock")) {
				t.Errorf("left behind %v, or a lock", left)
			}
			r.agentGit(w, "checkout", "-q", "edited.txt")
			if _, err := r.UpdateWorkspace(t.Context(), w.ID, c.how); err != nil {
				t.Errorf("once more: %v", err)
			}
			if read(t, filepath.Join(w.Path, "README.md")) != "theirs\n" || exists(filepath.Join(w.Path, "src/main.go")) || read(t, filepath.Join(w.Path, "plain/in")) != "theirs\n" {
				t.Error("the update is not there")
			}
			if status := r.agentGit(w, "status", "--porcelain", "-uall"); status != "?? deep/agent.txt\n" {
				t.Errorf("status %q", status)
			}
		})
	}
}

// A partial copy is put back without its remote: what git did not fetch it did not write either.
func TestUpdateOfAKilledServerWithoutTheRemote(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	src := newSource(t)
	r := newRig(t)
	spec := src.spec()
	spec.Filter = "blob:none"
	w := r.provision("x", spec)
	src.write("README.md", "theirs\n")
	src.commit("theirs")
	r.updateAndKill(w, core.WorkspaceMerge, gitThat(t, "*\" read-tree -m \"*) echo $$ > "+there+".new; mv "+there+".new "+there+"; sleep 1000 ;;"), there)()
	write(t, filepath.Join(w.Path, "README.md"), "the")
	if err := os.Rename(src.dir, src.dir+".away"); err != nil {
		t.Fatal(err)
	}
	r.start()
	if exists(filepath.Join(r.root, "notes", w.ID+".move.json")) || read(t, filepath.Join(w.Path, "README.md")) != "the" {
		t.Errorf("it was not put back, or the agent's file is gone: %s", r.log)
	}
}

// updatable is a workspace with work, and a source with changes that are not committed yet.
func updatable(t *testing.T) (*source, *rig, *core.Workspace) {
	src := newSource(t)
	for _, name := range []string{"plain", "edited.txt", "touched.txt"} {
		src.write(name, "before\n")
	}
	src.commit("more")
	r := newRig(t)
	w := r.provision("x", src.spec())
	write(t, filepath.Join(w.Path, "mine.txt"), "mine\n")
	r.agentGit(w, "add", "-A")
	r.agentGit(w, "commit", "-q", "-m", "mine")
	src.git("rm", "-q", "src/main.go", "plain")
	for _, name := range []string{"README.md", "plain/in", "new.txt", "deep/new.txt", "edited.txt", "touched.txt"} {
		src.write(name, "theirs\n")
	}
	return src, r, w
}

// waitsFor opens the service of the rig anew, which waits to use a workspace in which a git writes.
func (r *rig) waitsFor(w *core.Workspace) {
	r.t.Helper()
	r.Service = workspace.New(r.opts)
	brief, cancel := context.WithTimeout(r.t.Context(), time.Second)
	defer cancel()
	if err := r.Open(brief); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.Service.Close)
	if _, err := r.InspectWorkspace(brief, w.ID); !errors.Is(err, context.DeadlineExceeded) {
		r.t.Errorf("while git writes: %v", err)
	}
}

// A git that outlives the server is waited for: what it writes is put back as well.
func TestUpdateOfAGitThatLivesOn(t *testing.T) {
	dir := t.TempDir()
	there, on := filepath.Join(dir, "there"), filepath.Join(dir, "on")
	src, r, w := updatable(t)
	src.commit("theirs")
	r.updateAndKill(w, core.WorkspaceMerge, gitThat(t, "*\" read-tree -m \"*) echo $$ > "+there+".new; mv "+there+".new "+there+"\n"+
		"  while [ ! -e "+on+" ]; do sleep 0.01; done ;;"), there)
	r.waitsFor(w)
	write(t, on, "")
	changes, err := r.InspectWorkspace(soon(t), w.ID)
	if err != nil || changes.Uncommitted != 0 || changes.CommitCount != 1 {
		t.Errorf("%+v, %v", changes, err)
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" {
		t.Errorf("status %q", status)
	}
}

// An agent that commits in a worktree which is half updated keeps its commit.
func TestUpdateOfAKilledServerAndACommit(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	src, r, w := updatable(t)
	src.commit("theirs")
	r.updateAndKill(w, core.WorkspaceMerge, gitThat(t, "*\" read-tree -m \"*) cd \"$GIT_WORK_TREE\"; echo theirs > README.md; echo theirs > touched.txt\n"+
		"  echo $$ > "+there+".new; mv "+there+".new "+there+"; sleep 1000 ;;"), there)()
	if err := os.Remove(filepath.Join(r.mirror(), "worktrees", w.ID, "index.lock")); err != nil { // as git advises
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Path, "README.md"), "theirs\nand the agent's\n")
	r.agentGit(w, "commit", "-q", "-m", "the agent's", "README.md")
	head := r.agentGit(w, "rev-parse", "HEAD")
	r.start()
	if got := r.agentGit(w, "rev-parse", "HEAD"); got != head {
		t.Errorf("HEAD was %s and is %s", head, got)
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" || read(t, filepath.Join(w.Path, "touched.txt")) != "before\n" {
		t.Errorf("status %q", status)
	}
}

// The lock of the index that an agent's git has stays when an update fails, which waits for it.
func TestUpdateBesideTheLockOfAnAgent(t *testing.T) {
	src, r, w := updatable(t)
	src.commit("theirs")
	lock := filepath.Join(r.mirror(), "worktrees", w.ID, "index.lock")
	dir := t.TempDir()
	killed, looking := filepath.Join(dir, "killed"), filepath.Join(dir, "looking")
	r.opts.Git = gitThat(t, "*\" read-tree -m \"*) rm -f "+lock+"; printf DIRC > "+lock+"; : > "+killed+"; kill -9 $$ ;;\n"+
		"*\" diff --raw \"*) [ -e "+killed+" ] && : > "+looking+" ;;")
	r.restart()
	done := make(chan error, 1)
	go func() {
		_, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge)
		done <- err
	}()
	coretest.WaitFor(t, "the update to be put back", func() bool { return exists(looking) || len(done) > 0 })
	if len(done) > 0 || read(t, lock) != "DIRC" {
		t.Error("it did not wait")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("it went on")
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" || exists(lock) {
		t.Errorf("status %q", status)
	}
}

// What the thread renamed is put back as it was, whatever the branch did to it under the name before.
func TestUpdateOfARenamedFile(t *testing.T) {
	src, r, w := updatable(t)
	text := strings.Repeat("a line\n", 20)
	src.git("checkout", "-q", "-f", "HEAD")
	src.write("old.txt", text)
	src.commit("old")
	if _, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge); err != nil {
		t.Fatal(err)
	}
	r.agentGit(w, "mv", "old.txt", "renamed.txt")
	r.agentGit(w, "commit", "-q", "-m", "rename")
	src.write("old.txt", text+"theirs\n")
	src.commit("theirs")
	r.opts.Git = gitThat(t, "*\" read-tree -m \"*) git \"$@\"; kill -9 $$ ;;")
	r.restart()
	if _, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge); err == nil {
		t.Error("it went on")
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" || read(t, filepath.Join(w.Path, "renamed.txt")) != text {
		t.Errorf("status %q", status)
	}
	r.opts.Git = ""
	r.restart()
	if _, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge); err != nil || read(t, filepath.Join(w.Path, "renamed.txt")) != text+"theirs\n" {
		t.Errorf("once more: %v", err)
	}
}

// A file that git does not know is not overwritten by one that is new on the branch, and the caller gets to know of it.
func TestUpdateOfAFileInTheWay(t *testing.T) {
	src, r, w := updatable(t)
	src.commit("theirs")
	write(t, filepath.Join(w.Path, "new.txt"), "the agent's\n")
	_, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge)
	e := wantError(t, err, core.CodeConflict, "in the way")
	if text, _ := e.Details["git"].(string); !strings.Contains(text, "new.txt") || e.Details["failure"] != "files_in_the_way" {
		t.Errorf("details %v", e.Details)
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "?? new.txt\n" || read(t, filepath.Join(w.Path, "new.txt")) != "the agent's\n" {
		t.Errorf("status %q", status)
	}
}

// A submodule that the thread and the branch moved on is at the newer commit, if that has the other in its history.
func TestUpdateOfASubmodule(t *testing.T) {
	for _, how := range []core.WorkspaceUpdateMethod{core.WorkspaceMerge, core.WorkspaceRebase} {
		t.Run(string(how), func(t *testing.T) {
			outer, _, inner := newNested(t)
			outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.url(), "sub")
			outer.commit("sub")
			one := inner.git("commit-tree", "-p", "HEAD", "-m", "one", "HEAD^{tree}")
			two := inner.git("commit-tree", "-p", one, "-m", "two", "HEAD^{tree}")
			inner.git("update-ref", "refs/heads/main", two)
			r := newRig(t)
			w := r.provision("x", core.WorkspaceSpec{Repo: outer.url(), Submodules: true})
			sub := filepath.Join(w.Path, "sub")
			runGit(t, sub, nil, "fetch", "-q", "origin")
			runGit(t, sub, nil, "checkout", "-q", one)
			r.agentGit(w, "commit", "-q", "-a", "-m", "one")
			outer.git("-C", "sub", "fetch", "-q", "origin")
			outer.git("-C", "sub", "checkout", "-q", two)
			outer.commit("two")
			if _, err := r.UpdateWorkspace(t.Context(), w.ID, how); err != nil {
				t.Fatal(err)
			}
			if got := r.agentGit(w, "ls-tree", "HEAD", "sub"); !strings.Contains(got, two) {
				t.Errorf("it is at %s, want %s", got, two)
			}
		})
	}
}

// An agent that commits while an update is made keeps its commit, no file is touched, and the caller is asked to try again.
func TestUpdateBesideACommit(t *testing.T) {
	src, r, w := updatable(t)
	src.commit("theirs")
	wrote := filepath.Join(t.TempDir(), "wrote")
	r.opts.Git = gitThat(t, "*\" merge \"*) echo more >> "+w.Path+"/mine.txt\n"+
		"  env -i PATH=\"$PATH\" git -C "+w.Path+" -c user.name=a -c user.email=a@example.com commit -q -a -m meanwhile ;;\n"+
		"*\" read-tree -m \"*) : > "+wrote+" ;;")
	r.restart()
	_, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge)
	if e := wantError(t, err, core.CodeInternal, "try again"); !e.Unavailable || exists(wrote) {
		t.Errorf("%+v, or files were written", e)
	}
	if subject := r.agentGit(w, "log", "-1", "--format=%s"); subject != "meanwhile\n" || r.agentGit(w, "status", "--porcelain") != "" {
		t.Errorf("HEAD is %q", subject)
	}
	r.opts.Git = ""
	r.restart()
	if _, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge); err != nil || read(t, filepath.Join(w.Path, "mine.txt")) != "mine\nmore\n" {
		t.Errorf("once more: %v", err)
	}
}

// A submodule in which an agent works is not removed for a file that takes its place.
func TestUpdateInThePlaceOfASubmodule(t *testing.T) {
	outer, _, inner := newNested(t)
	outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.url(), "sub")
	outer.commit("sub")
	r := newRig(t)
	w := r.provision("x", core.WorkspaceSpec{Repo: outer.url(), Submodules: true})
	write(t, filepath.Join(w.Path, "sub/work.txt"), "work\n")
	outer.git("rm", "-q", "-f", "sub")
	outer.write("sub", "a file\n")
	outer.commit("vendored")
	_, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge)
	if !exists(filepath.Join(w.Path, "sub/work.txt")) {
		t.Errorf("the work is gone: %v", err)
	} else {
		wantError(t, err, core.CodeConflict, "in the way")
	}
}

// A name that no file system takes keeps no update away, whether it is changed or not.
func TestUpdateWithLongNames(t *testing.T) {
	src := newSource(t)
	long := strings.Repeat("n", 300)
	add := func(text string) {
		write(t, filepath.Join(src.dir, ".git/blob"), text)
		blob := src.git("hash-object", "-w", ".git/blob")
		src.git("update-index", "--add", "--cacheinfo", "100644,"+blob+","+long)
		src.git("commit", "-q", "-m", text)
	}
	add("before")
	r := newRig(t)
	w := r.provision("x", src.spec())
	add("after")
	if _, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge); err != nil {
		t.Errorf("%+v", err)
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" {
		t.Errorf("status %q", status)
	}
}
