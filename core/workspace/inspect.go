package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Bounds of what is reported about changes.
const (
	maxCommits   = 100
	maxFiles     = 500
	maxCounted   = 1 << 20 // bytes of an untracked file of which lines are counted
	maxUntracked = 2000    // untracked files of which lines are counted
)

// contextDir is where context files are; they are never part of the work.
const contextDir = ".wardroom"

// notContext leaves the context files out of what git looks at.
var notContext = []string{"--", ".", ":(exclude,top)" + contextDir}

// InspectWorkspace implements core.WorkspaceService.
func (s *Service) InspectWorkspace(ctx context.Context, id string) (*core.WorkspaceChanges, error) {
	unlock, err := s.locks.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w, err := s.checkedOut(ctx, id)
	if err != nil || w.Repo == "" {
		return nil, err
	}
	changes, err := s.inspect(ctx, w)
	return changes, explain(err, nil, "")
}

// checkedOut returns a workspace that has a directory, which stands at one commit and not between two. The caller holds the lock of
// the workspace.
func (s *Service) checkedOut(ctx context.Context, id string) (*core.Workspace, error) {
	w, err := s.FindWorkspace(ctx, id)
	if err != nil {
		return nil, err
	}
	if w.Status != core.WorkspaceReady && w.Status != core.WorkspaceReleased {
		return nil, core.Conflict("workspace", id, string(w.Status), "workspace %q is %s; it has no files", id, w.Status)
	}
	w, err = s.recoverMove(ctx, w)
	return w, explain(err, nil, "")
}

// inspect reports what happened. The caller holds the lock of the workspace.
func (s *Service) inspect(ctx context.Context, w *core.Workspace) (*core.WorkspaceChanges, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config().CheckoutTimeout)
	defer cancel()
	t := s.treeOf(w)
	if err := t.secure(); err != nil {
		return nil, err
	}
	rem := s.lazyRemote(w)
	changes := &core.WorkspaceChanges{Commits: []core.WorkspaceCommit{}, Files: []core.WorkspaceFile{}}
	head, err := t.head(ctx)
	if err != nil {
		return nil, err
	}
	if head != "" {
		out, err := t.git(ctx, nil, "log", "-z", "--reverse", "--max-count="+strconv.Itoa(maxCommits), "--no-color", "--no-show-signature",
			"--format=%H%x1f%an%x1f%ct%x1f%s", t.base+".."+head, "--")
		if err != nil {
			return nil, err
		}
		changes.Commits = append(changes.Commits, parseLog(out)...)
		if changes.CommitCount, err = t.count(ctx, t.base+".."+head); err != nil {
			return nil, err
		}
	}
	// Renames of a partial clone would fetch what they compare.
	renames := "--find-renames"
	if w.Filter != "" {
		renames = "--no-renames"
	}
	untracked, err := t.untracked(ctx)
	if err != nil {
		return nil, err
	}
	diff := t.call(rem, "diff", "--raw", "--numstat", "-z", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", renames, t.base)
	out, unreadable, err := t.compare(ctx, diff, notContext, untracked)
	if err != nil {
		return nil, err
	}
	files := parseDiff(out)
	loose := make(map[string]bool, len(untracked))
	for _, name := range untracked {
		loose[name] = true
	}
	for _, name := range unreadable {
		if !loose[name] {
			files = append(files, core.WorkspaceFile{Path: legible(name), Status: "modified"})
		}
	}
	for i, name := range untracked {
		file := core.WorkspaceFile{Path: legible(name), Status: "untracked"}
		if i < maxUntracked {
			file.Insertions = countLines(filepath.Join(t.dir, filepath.FromSlash(name)))
		}
		files = append(files, file)
	}
	for _, file := range files {
		changes.Insertions += file.Insertions
		changes.Deletions += file.Deletions
	}
	changes.FileCount = len(files)
	changes.Files = append(changes.Files, files[:min(len(files), maxFiles)]...)
	changes.Uncommitted, changes.Unpushed, err = t.open(ctx, untracked)
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{}
	for _, part := range s.submodules(w.ID) {
		uncommitted, unpushed, err := part.look(ctx)
		if err != nil {
			return nil, err
		}
		changes.Uncommitted += uncommitted
		changes.Unpushed += unpushed
		ours[part.dir] = true
	}
	links, err := t.links(ctx, out)
	if err != nil {
		return nil, err
	}
	for _, name := range links {
		if dir := filepath.Join(t.dir, filepath.FromSlash(name)); !ours[dir] {
			uncommitted, unpushed, err := t.lookInto(ctx, dir, name)
			if err != nil {
				return nil, err
			}
			changes.Uncommitted += uncommitted
			changes.Unpushed += unpushed
		}
	}
	return changes, nil
}

// inspectCommits is inspect of a workspace without files: it counts what is not pushed of its branch, and of what it stood at.
func (s *Service) inspectCommits(ctx context.Context, w *core.Workspace) (*core.WorkspaceChanges, error) {
	m := s.mirrorOfWorkspace(w)
	if err := m.secure(); err != nil {
		return nil, err
	}
	unpushed, err := s.treeOf(w).stranded(ctx, "refs/heads/"+w.WorkBranch)
	if err != nil {
		return nil, err
	}
	for _, part := range s.submodules(w.ID) {
		_, more, err := part.look(ctx)
		if err != nil {
			return nil, err
		}
		unpushed += more
	}
	return &core.WorkspaceChanges{Unpushed: unpushed}, nil
}

// stranded counts the commits that the remote does not have of what a tree without files stood at, and of some refs.
func (t *tree) stranded(ctx context.Context, refs ...string) (int, error) {
	args := append([]string{"rev-list", "--count", "--ignore-missing", "worktrees/" + filepath.Base(t.admin) + "/HEAD"}, refs...)
	out, err := t.m.git(ctx, nil, append(args, "--not", t.base, "--remotes", "--")...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// lazyRemote is whom git may ask for what a partial clone lacks; nil for others.
func (s *Service) lazyRemote(w *core.Workspace) *remote {
	if w.Filter == "" {
		return nil
	}
	rem, err := s.remoteOf(w)
	if err != nil {
		return nil // not allowed any more: what is here has to do
	}
	return rem
}

// look reports how many files of a submodule are not committed, and how many of its commits the remote does not have. A
// submodule that is gone has no files.
func (t *tree) look(ctx context.Context) (uncommitted, unpushed int, err error) {
	if _, err := os.Lstat(t.dir); missing(err) {
		if !t.m.exists() {
			return 0, 0, nil
		}
		if err := t.m.secure(); err != nil {
			return 0, 0, err
		}
		unpushed, err = t.stranded(ctx)
		return 0, unpushed, err
	}
	if err := t.secure(); err != nil {
		return 0, 0, err
	}
	untracked, err := t.untracked(ctx)
	if err != nil {
		return 0, 0, err
	}
	return t.open(ctx, untracked)
}

// open counts files that are not committed and commits that the remote does not have, as far as our copy knows: those
// of HEAD, and those of the work branch if the agent went elsewhere.
func (t *tree) open(ctx context.Context, untracked []string) (uncommitted, unpushed int, err error) {
	head, err := t.head(ctx)
	if err != nil {
		return 0, 0, err
	}
	var heads []string
	against := t.m.emptyTree()
	if head != "" {
		heads, against = append(heads, head), head
	}
	changed, err := t.changed(ctx, against)
	if err != nil {
		return 0, 0, err
	}
	uncommitted = len(changed) + len(untracked)
	if t.work != "" {
		ref := "refs/heads/" + t.work
		if _, err := t.git(ctx, nil, "rev-parse", "--verify", "--quiet", ref); err == nil {
			heads = append(heads, ref)
		} else if failureOf(err) != failOther || ctx.Err() != nil {
			return 0, 0, err
		}
	}
	if len(heads) == 0 {
		return uncommitted, 0, nil
	}
	unpushed, err = t.count(ctx, append(heads, "--not", t.base, "--remotes")...)
	return uncommitted, unpushed, err
}

// head returns the commit that the worktree stands at. It is "" on a branch without one, as after git checkout --orphan.
func (t *tree) head(ctx context.Context) (string, error) {
	out, err := t.git(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD")
	if err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	if _, unborn := t.git(ctx, nil, "symbolic-ref", "--quiet", "HEAD"); unborn == nil && failureOf(err) == failOther && ctx.Err() == nil {
		return "", nil
	}
	return "", err
}

// changed lists the files that git knows and that are not as a commit, or a tree, has them.
func (t *tree) changed(ctx context.Context, from string) ([]string, error) {
	args := []string{"diff", "--name-only", "-z", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty", from}
	out, err := t.git(ctx, nil, append(args, notContext...)...)
	return splitNul(out), err
}

func (t *tree) count(ctx context.Context, revisions ...string) (int, error) {
	out, err := t.git(ctx, nil, append(append([]string{"rev-list", "--count"}, revisions...), "--")...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// untracked lists the files that git does not know and that are not ignored. Directories with a repository of their own
// are one entry, with a slash at the end.
func (t *tree) untracked(ctx context.Context) ([]string, error) {
	out, err := t.git(ctx, nil, append([]string{"ls-files", "--others", "--exclude-standard", "-z"}, notContext...)...)
	if err != nil {
		return nil, err
	}
	return splitNul(out), nil
}

func splitNul(out []byte) []string {
	var names []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// countLines counts the lines of a text file; of a binary, large or odd one none, as git's numstat does of binaries.
func countLines(path string) int {
	text, err := readRegular(path, maxCounted+1)
	if err != nil || len(text) > maxCounted || strings.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return 0
	}
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	return lines
}
