package workspace_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

func TestProvision(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.reserve("Fix the parser!", src.spec())
	head := src.git("rev-parse", "HEAD")
	if w.Status != core.WorkspaceReserved || w.Branch != "main" || w.BaseCommit != head || w.WorkBranch != "wardroom/exec_1/coder-fix-the-parser" {
		t.Fatalf("reserved %+v", w)
	}
	if exists(w.Path) || len(r.mirrors()) != 0 {
		t.Fatal("a reservation checked something out")
	}
	made, err := r.ProvisionWorkspace(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	if made.Status != core.WorkspaceReady || made.SizeBytes == 0 || len(made.Warnings) != 0 {
		t.Fatalf("provisioned %+v", made)
	}
	if got := read(t, filepath.Join(w.Path, "src/main.go")); !strings.HasPrefix(got, "package main") {
		t.Errorf("src/main.go is %q", got)
	}
	if got := strings.TrimSpace(r.agentGit(w, "status", "--porcelain=2", "--branch")); !strings.Contains(got, "branch.head wardroom/exec_1/coder-fix-the-parser") || strings.Count(got, "\n") != 1 {
		t.Errorf("git status in the workspace says %q", got)
	}
	again, err := r.ProvisionWorkspace(t.Context(), w.ID)
	if err != nil || again.Status != core.WorkspaceReady {
		t.Errorf("a second provision: %+v, %v", again, err)
	}
}

func TestProvisionEmpty(t *testing.T) {
	r := newRig(t)
	w := r.provision("x", core.WorkspaceSpec{})
	entries, err := os.ReadDir(w.Path)
	if err != nil || len(entries) != 0 || w.WorkBranch != "" {
		t.Fatalf("%+v holds %v, %v", w, entries, err)
	}
	if changes, err := r.InspectWorkspace(t.Context(), w.ID); changes != nil || err != nil {
		t.Errorf("inspect: %v, %v", changes, err)
	}
}

// TestCopiedStore opens a store with another directory of workspaces, as the copy of a data folder has: workspaces of the first
// one are given to no thread, and what was only reserved is made in the second.
func TestCopiedStore(t *testing.T) {
	r := newRig(t)
	ready := r.reserve("ready", core.WorkspaceSpec{})
	if _, err := r.ProvisionWorkspace(t.Context(), ready.ID); err != nil {
		t.Fatal(err)
	}
	reserved := r.reserve("reserved", core.WorkspaceSpec{})
	r.opts.Root = filepath.Join(t.TempDir(), "copy")
	r.restart()
	if _, err := r.ProvisionWorkspace(t.Context(), ready.ID); core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), "another threads.root") {
		t.Errorf("a ready one: %v", err)
	}
	err := r.store.Update(t.Context(), func(tx core.Tx) error {
		_, err := r.AdoptWorkspace(tx, ready.ID, "thread_2", "exec_1")
		return err
	})
	if core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("a thread that takes it: %v", err)
	}
	w, err := r.ProvisionWorkspace(t.Context(), reserved.ID)
	if err != nil || w.Path != filepath.Join(r.opts.Root, "trees", w.ID) {
		t.Fatalf("a reserved one: %+v, %v", w, err)
	}
	if _, err := os.Stat(w.Path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(reserved.Path); err == nil {
		t.Error("it was made in the directory of the original")
	}
}

// Two services never have the same root, by whatever path they name it, and the second one touches nothing.
func TestRootOfAnother(t *testing.T) {
	r := newRig(t)
	half := filepath.Join(r.root, "trees", "ws_1.new-01ABC")
	if err := os.MkdirAll(half, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.root, link); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{r.root, link} {
		opts := r.opts
		opts.Root = root
		second := workspace.New(opts)
		if err := second.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "in use by another server") {
			t.Errorf("a second service in %s: %v", root, err)
		}
		second.Close()
	}
	if _, err := os.Stat(half); err != nil {
		t.Errorf("what the first one makes: %v", err)
	}
	r.restart()
	if _, err := os.Stat(half); err == nil {
		t.Error("what a crash left over is still there")
	}
}

func TestProvisionStartsAt(t *testing.T) {
	src := newSource(t)
	first := src.git("rev-parse", "HEAD")
	src.git("tag", "-a", "-m", "one", "v1")
	src.git("checkout", "-q", "-b", "feature/login")
	src.write("login.go", "package login\n")
	second := src.commit("login")
	src.git("checkout", "-q", "main")
	src.write("main.txt", "x")
	third := src.commit("third")
	r := newRig(t)
	for branch, want := range map[string]string{
		"": third, "main": third, "refs/heads/main": third, "feature/login": second, "v1": first, first: first, second: second,
	} {
		w := r.provision("x", core.WorkspaceSpec{Repo: src.url(), Branch: branch})
		if got := strings.TrimSpace(r.agentGit(w, "rev-parse", "HEAD")); got != want || w.BaseCommit != want {
			t.Errorf("branch %q begins at %s (record %s), want %s", branch, got, w.BaseCommit, want)
		}
	}
	if len(r.mirrors()) != 1 {
		t.Errorf("mirrors: %v", r.mirrors())
	}
}

func TestProvisionFetchesWhatIsNew(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	r.provision("a", src.spec())
	src.write("new.txt", "new\n")
	head := src.commit("second")
	w := r.provision("b", src.spec())
	if w.BaseCommit != head || !exists(filepath.Join(w.Path, "new.txt")) {
		t.Errorf("the second workspace is at %s, want %s", w.BaseCommit, head)
	}
}

func TestProvisionAfterRewrite(t *testing.T) {
	src := newSource(t)
	src.git("config", "uploadpack.allowAnySHA1InWant", "false")
	r := newRig(t)
	src.write("gone.txt", "x")
	src.commit("gone")
	w := r.reserve("a", src.spec())
	src.git("commit", "-q", "--amend", "-m", "rewritten")
	src.git("reflog", "expire", "--expire=now", "--all")
	src.git("gc", "-q", "--prune=now")
	made, err := r.ProvisionWorkspace(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	if made.BaseCommit != src.git("rev-parse", "HEAD") || len(made.Warnings) != 1 || !strings.Contains(made.Warnings[0], "rewritten") {
		t.Errorf("%+v", made)
	}
}

func TestWorkBranchesAreUnique(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	var got []string
	for range 3 {
		got = append(got, r.provision("same", src.spec()).WorkBranch)
	}
	want := []string{"wardroom/exec_1/coder-same", "wardroom/exec_1/coder-same-2", "wardroom/exec_1/coder-same-3"}
	if !slices.Equal(got, want) {
		t.Errorf("branches %v, want %v", got, want)
	}
	w := r.provision("x", core.WorkspaceSpec{Repo: src.url(), WorkBranch: "feature/mine"})
	if got := strings.TrimSpace(r.agentGit(w, "symbolic-ref", "HEAD")); got != "refs/heads/feature/mine" {
		t.Errorf("HEAD is %s", got)
	}
}

func TestShallowAndPartial(t *testing.T) {
	src := newSource(t)
	for _, name := range []string{"a", "b", "c"} {
		src.write(name+".txt", name+"\n")
		src.commit(name)
	}
	r := newRig(t)
	shallow := r.provision("shallow", core.WorkspaceSpec{Repo: src.url(), Depth: 2})
	if got := strings.TrimSpace(r.agentGit(shallow, "rev-list", "--count", "HEAD")); got != "2" {
		t.Errorf("a copy of depth 2 has %s commits", got)
	}
	partial := r.provision("partial", core.WorkspaceSpec{Repo: src.url(), Filter: "blob:none"})
	if got := read(t, filepath.Join(partial.Path, "c.txt")); got != "c\n" {
		t.Errorf("c.txt is %q", got)
	}
	if partial.SizeBytes == 0 {
		t.Error("the size of a partial clone is not known")
	}
	missing := runGit(t, partial.Path, nil, "rev-list", "--objects", "--all", "--missing=print", "--quiet")
	_ = missing // whether something is missing is the remote's choice; the workspace must work
	if got := r.agentGit(partial, "status", "--porcelain"); got != "" {
		t.Errorf("status of the partial clone: %q", got)
	}
	for _, w := range []*core.Workspace{shallow, partial} {
		write(t, filepath.Join(w.Path, "a.txt"), "changed\n")
		changes, err := r.InspectWorkspace(t.Context(), w.ID)
		if err != nil || changes.FileCount != 1 {
			t.Errorf("changes of %s: %+v, %v", w.WorkBranch, changes, err)
		}
	}
	if len(r.mirrors()) != 2 {
		t.Errorf("mirrors: %v", r.mirrors())
	}
}

func TestRefusals(t *testing.T) {
	src := newSource(t)
	empty := filepath.Join(t.TempDir(), "empty")
	runGit(t, "", nil, "init", "-q", "--bare", empty)
	r := newRig(t, func(o *workspace.Options) {
		o.Config.Repositories = map[string]workspace.Repository{"app": {URL: src.url()}}
	})
	for name, c := range map[string]struct {
		spec  core.WorkspaceSpec
		field string
		words string
	}{
		"repository missing":   {core.WorkspaceSpec{Repo: "file:///nonexistent/app.git"}, "preparation.workspace.repo", "no repository"},
		"branch missing":       {core.WorkspaceSpec{Repo: "app", Branch: "nope"}, "preparation.workspace.branch", `"nope"`},
		"commit missing":       {core.WorkspaceSpec{Repo: "app", Branch: strings.Repeat("0123", 10)}, "preparation.workspace.branch", "no branch, tag or commit"},
		"empty repository":     {core.WorkspaceSpec{Repo: "file://" + empty}, "preparation.workspace.branch", "has no HEAD: it is empty, or has no default branch"},
		"option for a branch":  {core.WorkspaceSpec{Repo: "app", Branch: "--upload-pack=touch /tmp/x"}, "preparation.workspace.branch", "blank"},
		"option for a URL":     {core.WorkspaceSpec{Repo: "--upload-pack=x"}, "preparation.workspace.repo", "begins with a -"},
		"ext transport":        {core.WorkspaceSpec{Repo: "ext::sh -c true"}, "preparation.workspace.repo", "blank"},
		"ext without blanks":   {core.WorkspaceSpec{Repo: "ext::true"}, "preparation.workspace.repo", "configured are app"},
		"unknown name":         {core.WorkspaceSpec{Repo: "other"}, "preparation.workspace.repo", "configured are app"},
		"password in a URL":    {core.WorkspaceSpec{Repo: "https://a:b@example.com/x"}, "preparation.workspace.repo", "threads.repositories"},
		"plain http":           {core.WorkspaceSpec{Repo: "http://example.com/x"}, "preparation.workspace.repo", "https"},
		"traversal":            {core.WorkspaceSpec{Repo: "file://" + src.dir + "/../source"}, "preparation.workspace.repo", ".."},
		"our own directory":    {core.WorkspaceSpec{Repo: "file://" + r.root + "/mirrors/x"}, "preparation.workspace.repo", "directory of the workspaces"},
		"branch without repo":  {core.WorkspaceSpec{Branch: "main"}, "preparation.workspace.branch", "without repo"},
		"bad filter":           {core.WorkspaceSpec{Repo: "app", Filter: "sparse:oid=x"}, "preparation.workspace.filter", "blob:none"},
		"bad depth":            {core.WorkspaceSpec{Repo: "app", Depth: -1}, "preparation.workspace.depth", "from 0"},
		"work branch in ours":  {core.WorkspaceSpec{Repo: "app", WorkBranch: "wardroom/x"}, "preparation.workspace.workBranch", "other threads"},
		"work branch of a ref": {core.WorkspaceSpec{Repo: "app", WorkBranch: "a..b"}, "preparation.workspace.workBranch", "not the name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.ReserveWorkspace(soon(t), core.WorkspaceRequest{ExecutionID: "exec_1", Spec: c.spec})
			e := wantError(t, err, core.CodeValidation, c.words)
			if e.Details["field"] != c.field {
				t.Errorf("field is %v, want %s", e.Details["field"], c.field)
			}
		})
	}
	if all, _ := r.store.AllWorkspaces(t.Context()); len(all) != 0 {
		t.Errorf("refused requests left %d reservations", len(all))
	}
}

func TestAllowedURLs(t *testing.T) {
	src, other := newSource(t), newSource(t)
	r := newRig(t, func(o *workspace.Options) {
		o.Config.AllowedURLs = []string{"file://" + filepath.Dir(src.dir) + "/*", "https://*.example.com/*"}
		o.Config.Repositories = map[string]workspace.Repository{"other": {URL: other.url(), Branch: "main"}}
	})
	if w := r.reserve("x", src.spec()); w.URL != src.url() {
		t.Errorf("%+v", w)
	}
	if w := r.reserve("x", core.WorkspaceSpec{Repo: "other"}); w.URL != other.url() || w.Repo != "other" {
		t.Errorf("%+v", w)
	}
	for _, url := range []string{"file:///srv/x", "https://example.org/a", "https://evil.org/x.example.com/y", "git@a.example.com:x/y"} {
		_, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1", Spec: core.WorkspaceSpec{Repo: url}})
		wantError(t, err, core.CodeValidation, "not among")
	}
}

func TestQuotas(t *testing.T) {
	src := newSource(t)
	src.write("large.bin", strings.Repeat("x", 100_000))
	src.commit("large")
	r := newRig(t, func(o *workspace.Options) { o.Config.MaxWorkspaces = 2 })
	r.provision("a", src.spec())
	r.reserve("b", src.spec())
	_, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1", Spec: src.spec()})
	wantError(t, err, core.CodeRateLimited, "wardroom workspace prune")

	limits := r.opts.Config
	limits.MaxWorkspaces, limits.MaxBytes = 10, 50_000
	r.ApplyConfig(limits)
	w := r.reserve("c", src.spec())
	_, err = r.ProvisionWorkspace(t.Context(), w.ID)
	wantError(t, err, core.CodeValidation, "maxBytes")
	if exists(w.Path) {
		t.Error("a refused checkout left its directory")
	}

	limits.MaxBytes, limits.MaxTotalBytes = 0, 150_000
	r.ApplyConfig(limits)
	_, err = r.ProvisionWorkspace(t.Context(), w.ID)
	wantError(t, err, core.CodeRateLimited, "maxTotalBytes")
}

func TestWarnings(t *testing.T) {
	src := newSource(t)
	src.write("Makefile", "a\n")
	src.write("makefile", "b\n")
	src.write("Docs/a.md", "a\n")
	src.write("docs/b.md", "b\n")
	src.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	src.write("x.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("0", 64)+"\nsize 1\n")
	src.commit("odd")
	// A name that no file system takes is put into a tree by hand.
	blob := src.git("hash-object", "-w", "README.md")
	src.git("update-index", "--add", "--cacheinfo", "100644,"+blob+",deep/"+strings.Repeat("n", 300))
	src.git("update-index", "--add", "--cacheinfo", "160000,"+src.git("rev-parse", "HEAD")+",vendor/lib")
	src.git("commit", "-q", "-m", "odder")
	r := newRig(t)
	w := r.provision("x", src.spec())
	text := strings.Join(w.Warnings, "\n")
	for _, want := range []string{"differ only by case: ", "Makefile, docs, makefile", "git LFS", "too long", "submodules were left out: vendor/lib"} {
		if !strings.Contains(strings.ReplaceAll(text, "case, of which some file systems keep one only: ", "case: "), want) {
			t.Errorf("the warnings do not say %q:\n%s", want, text)
		}
	}
	if got := read(t, filepath.Join(w.Path, "x.bin")); !strings.HasPrefix(got, "version https://git-lfs") {
		t.Errorf("the pointer became %q", got)
	}
	changes, err := r.InspectWorkspace(t.Context(), w.ID)
	if err != nil || changes.FileCount != 0 || changes.Uncommitted != 0 {
		t.Errorf("changes of a fresh workspace: %+v, %v", changes, err)
	}
}

// TestPreparedWorkBranches: what was prepared before its execution was there gets a branch that no other preparation of
// the same name gets later, since it may have been pushed.
func TestPreparedWorkBranches(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	seen := make(map[string]bool)
	for range 2 {
		w, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: core.NewExecution, Role: "coder", Name: "coder-same", Spec: src.spec()})
		if err != nil {
			t.Fatal(err)
		}
		if ok, _ := path.Match("wardroom/new-????????/coder-same", w.WorkBranch); !ok || seen[w.WorkBranch] {
			t.Errorf("the branch is %s", w.WorkBranch)
		}
		seen[w.WorkBranch] = true
		if _, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResolveWorkspace(t *testing.T) {
	r := newRig(t, func(o *workspace.Options) {
		o.Git = "/nonexistent/git" // none is needed
		o.Config.Repositories = map[string]workspace.Repository{"app": {URL: "https://git.example.com/app.git", Branch: "next"}}
		o.Config.AllowedURLs = []string{"https://git.example.com/*"}
	})
	for _, tt := range []struct{ name, repo, branch, want, wantBranch string }{
		{"Name", "app", "", "https://git.example.com/app.git", "next"},
		{"NameAndBranch", "app", "main", "https://git.example.com/app.git", "main"},
		{"URL", "https://git.example.com/other.git", "", "https://git.example.com/other.git", ""},
		{"Empty", "", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := r.ResolveWorkspace(&core.WorkspaceSpec{Repo: tt.repo, Branch: tt.branch, Depth: map[bool]int{true: 3}[tt.repo != ""]})
			if err != nil || got.Repo != tt.want || got.Branch != tt.wantBranch || tt.repo != "" && got.Depth != 3 {
				t.Errorf("resolved %+v, %v", got, err)
			}
		})
	}
	for name, spec := range map[string]*core.WorkspaceSpec{
		"Unknown": {Repo: "nothing"}, "NotAllowed": {Repo: "https://elsewhere.example.com/app.git"}, "Branch": {Repo: "app", Branch: "-x"},
	} {
		if _, err := r.ResolveWorkspace(spec); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := r.ResolveWorkspace(nil); got != nil || err != nil {
		t.Errorf("nothing became %+v, %v", got, err)
	}
}
