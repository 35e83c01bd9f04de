package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// clearWorkspace removes all that a workspace has on disk but its branch: the tree, unfinished ones of it, its note, and
// what git keeps of it in any mirror. What is not there is no error.
func (s *Service) clearWorkspace(w *core.Workspace) error {
	var problems []error
	for _, tree := range append(glob(s.opts.Root, "trees/"+w.ID+".*"), s.treePath(w.ID)) {
		problems = append(problems, s.removeAside(tree))
	}
	for _, admin := range glob(s.opts.Root, "mirrors/*/worktrees/"+w.ID+"*") {
		problems = append(problems, removeTree(admin))
	}
	for _, note := range []string{s.notePath(w.ID), s.movePath(w.ID)} {
		if err := os.Remove(note); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// removeAside renames a tree before it removes it, so that a crash leaves no half of one under its name.
func (s *Service) removeAside(tree string) error {
	if _, err := os.Lstat(tree); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	aside := filepath.Join(filepath.Dir(tree), s.attempt(".gone-"))
	if err := os.Rename(tree, aside); err != nil {
		return err
	}
	return removeTree(aside)
}

// halfRemoved matches trees whose removal was not brought to its end.
const halfRemoved = "trees/.gone-*"

// clearLeftovers removes what a crash left half made or half removed. A git that outlived the crash may still write
// there; what it writes goes at the next start.
func (s *Service) clearLeftovers() {
	s.clear(halfRemoved, "trees/*.new-*", "mirrors/*.new-*", "mirrors/*/worktrees/*.new-*")
}

// bringBack returns mirrors to their places that a crash left aside in the middle of a repair.
func (s *Service) bringBack() {
	for _, m := range s.knownMirrors() {
		for _, old := range glob(s.opts.Root, "mirrors/"+m.key+".old-*") {
			back := m.setAside
			if !m.exists() {
				back = func(old string) error { return os.Rename(old, m.dir) }
			}
			if err := back(old); err != nil {
				s.log.Warn("a mirror that was being repaired could not be put back", "path", old, "error", err)
			}
		}
	}
}

// clear removes what matches patterns below the root.
func (s *Service) clear(patterns ...string) {
	for _, pattern := range patterns {
		for _, path := range glob(s.opts.Root, pattern) {
			if err := removeTree(path); err != nil {
				s.log.Warn("what is left over could not be removed", "path", path, "error", err)
			}
		}
	}
}

// knownMirrors returns the mirrors that are noted, whether they are there or not.
func (s *Service) knownMirrors() []*mirror {
	var mirrors []*mirror
	for _, path := range glob(s.opts.Root, "mirrors/*.json") {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it went meanwhile
		}
		var note mirrorNote
		if json.Unmarshal(text, &note) != nil {
			continue
		}
		if m := s.mirrorOf(note); m.key == strings.TrimSuffix(filepath.Base(path), ".json") { // else it is not what we wrote
			mirrors = append(mirrors, m)
		}
	}
	return mirrors
}

// pruneMirrors removes the mirrors that no workspace uses. One with commits that the remote does not have is used.
func (s *Service) pruneMirrors(ctx context.Context, dryRun bool) ([]core.WorkspacePruned, error) {
	var results []core.WorkspacePruned
	for _, m := range s.knownMirrors() {
		result, err := s.pruneMirror(ctx, m, dryRun)
		if err != nil {
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}

func (s *Service) pruneMirror(ctx context.Context, m *mirror, dryRun bool) (core.WorkspacePruned, error) {
	kept := func(reason string) core.WorkspacePruned { return core.WorkspacePruned{ID: m.URL, Reason: reason} }
	unlock, err := m.lock(ctx)
	if err != nil {
		return core.WorkspacePruned{}, err
	}
	defer unlock()
	all, err := s.opts.Store.AllWorkspaces(ctx)
	if err != nil {
		return core.WorkspacePruned{}, err
	}
	for _, w := range all {
		if w.Status != core.WorkspaceRemoved && w.Repo != "" && s.mirrorOfWorkspace(w).key == m.key {
			return kept("workspaces use it"), nil
		}
	}
	if m.inUse() {
		return kept("workspaces use it"), nil
	}
	if m.exists() {
		if err := m.secure(); err != nil {
			return core.WorkspacePruned{}, err
		}
		reason, err := m.holds(ctx)
		if err != nil {
			return core.WorkspacePruned{}, err
		}
		if reason != "" {
			return kept(reason), nil
		}
	}
	result := core.WorkspacePruned{ID: m.URL, Removed: true, FreedBytes: diskUse(m.dir)}
	if dryRun {
		return result, nil
	}
	aside := filepath.Join(filepath.Dir(m.dir), m.key+s.attempt(".new-"))
	if err := os.Rename(m.dir, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return core.WorkspacePruned{}, err
	}
	if err := os.Remove(m.dir + ".json"); err != nil {
		return core.WorkspacePruned{}, err
	}
	return result, removeTree(aside)
}

// holds returns why a mirror without worktrees must stay, and what to do: work would be lost with it. "" when there is none.
func (m *mirror) holds(ctx context.Context) (string, error) {
	if old := glob(m.damaged(), "*.old-*"); len(old) > 0 {
		return fmt.Sprintf("a damaged copy that may hold work is in it; get from %s what is needed, and remove that", old[0]), nil
	}
	// A stash is work as well. Tags came with the rest.
	out, err := m.git(ctx, nil, "rev-list", "--count", "--exclude=refs/tags/*", "--all", "--not", "--remotes", "--")
	switch {
	case unanswered(err):
		return "", err
	case err == nil && strings.TrimSpace(string(out)) == "0":
		return "", nil
	}
	refs, listing := m.git(ctx, nil, "for-each-ref", "--format=%(refname)")
	names := slices.DeleteFunc(strings.Fields(string(refs)), func(name string) bool {
		return strings.HasPrefix(name, "refs/tags/") || strings.HasPrefix(name, "refs/remotes/")
	})
	switch {
	case unanswered(listing):
		return "", listing
	case err == nil:
		return fmt.Sprintf("it holds %s commits that are not pushed, in %s; push them with git -C %s push origin, or delete these refs with git -C %[3]s update-ref -d",
			strings.TrimSpace(string(out)), listed(names), m.dir), nil
	case listing == nil && len(names) == 0: // without branches of its own nothing is lost with it
		return "", nil
	}
	return fmt.Sprintf("it is damaged, and what it holds cannot be told; get from %s what is needed, and remove that and %[1]s.json", m.dir), nil
}
