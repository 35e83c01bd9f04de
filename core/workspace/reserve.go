package workspace

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/wardroom/wardroom/core"
)

// maxDepth bounds the depth of a shallow copy: beyond it a full one is what is wanted.
const maxDepth = 100_000

var filters = regexp.MustCompile(`^(blob:none|tree:0|blob:limit=[0-9]{1,12}[kmg]?)$`)

// ReserveWorkspace implements core.WorkspaceService.
func (s *Service) ReserveWorkspace(ctx context.Context, req core.WorkspaceRequest) (*core.Workspace, error) {
	if err := checkSpec(&req.Spec); err != nil {
		return nil, err
	}
	w := &core.Workspace{
		ID: s.opts.IDs.New(core.PrefixWorkspace), ThreadID: req.ThreadID, ExecutionID: req.ExecutionID,
		Status: core.WorkspaceReserved, Repo: req.Spec.Repo,
		Depth: req.Spec.Depth, Filter: req.Spec.Filter, Submodules: req.Spec.Submodules,
	}
	if req.Spec.Repo != "" {
		if err := s.usableGit(ctx); err != nil {
			return nil, err
		}
		rem, err := s.resolve(req.Spec.Repo)
		if err != nil {
			return nil, err
		}
		if err := s.quota(ctx, 1, 0); err != nil {
			return nil, err // before the remote is bothered
		}
		name := req.Spec.Branch
		f, err := s.lookup(ctx, rem, mirrorNote{URL: rem.url, Depth: w.Depth, Filter: w.Filter}, name)
		if err != nil {
			return nil, explain(err, rem, name)
		}
		w.URL, w.Branch, w.BaseCommit = rem.url, f.branch, f.hash
		if warning := s.uncommitted(ctx, rem, f); warning != "" {
			w.Warnings = append(w.Warnings, warning)
		}
		w.WorkBranch = req.Spec.WorkBranch
		w.WorkBranch = cmp.Or(w.WorkBranch, workBranch(branchOwner(req.ExecutionID, w.ID), req.Role, req.Name))
	}
	return s.reserve(ctx, w)
}

// ResolveWorkspace implements core.WorkspaceService.
func (s *Service) ResolveWorkspace(spec *core.WorkspaceSpec) (*core.WorkspaceSpec, error) {
	if spec == nil {
		return nil, nil
	}
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	out := *spec
	if spec.Repo != "" {
		rem, err := s.resolve(spec.Repo)
		if err != nil {
			return nil, err
		}
		out.Repo = rem.url
		out.Branch = cmp.Or(out.Branch, rem.branch)
	}
	return &out, nil
}

// reserve gives a workspace a branch that no other has, and a place in the quota.
func (s *Service) reserve(ctx context.Context, w *core.Workspace) (*core.Workspace, error) {
	s.reserving.Lock()
	defer s.reserving.Unlock()
	all, err := s.opts.Store.AllWorkspaces(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkQuota(all, 1, 0); err != nil {
		return nil, err
	}
	if w.WorkBranch != "" {
		w.WorkBranch = freeBranch(all, w)
	}
	now := s.opts.Clock.Now()
	w.Path = s.treePath(w.ID)
	w.CreatedAt = now
	if w.ThreadID == "" {
		expires := now.Add(s.config().ReserveTTL)
		w.ExpiresAt = &expires
	}
	if err := s.update(ctx, func(tx core.Tx) error { return tx.PutWorkspace(w) }); err != nil {
		return nil, err
	}
	return w, nil
}

// takenBranches are the work branches of other workspaces of the repository of w.
func takenBranches(all []*core.Workspace, w *core.Workspace) map[string]bool {
	taken := make(map[string]bool)
	for _, other := range all {
		if other.ID != w.ID && other.URL == w.URL && other.Status != core.WorkspaceRemoved {
			taken[other.WorkBranch] = true
		}
	}
	return taken
}

// freeBranch adds a number to a branch that another workspace of the repository has.
func freeBranch(all []*core.Workspace, w *core.Workspace) string {
	taken := takenBranches(all, w)
	n := 1
	for taken[numbered(w.WorkBranch, n)] {
		n++
	}
	return numbered(w.WorkBranch, n)
}

// checkSpec checks what needs no look at the remote.
func checkSpec(spec *core.WorkspaceSpec) error {
	const at = "preparation.workspace."
	if spec.Repo == "" {
		for name, set := range map[string]bool{
			"branch": spec.Branch != "", "workBranch": spec.WorkBranch != "", "depth": spec.Depth != 0,
			"filter": spec.Filter != "", "submodules": spec.Submodules,
		} {
			if set {
				return core.Invalid(at+name, "means nothing without repo; name a repository, or leave it out")
			}
		}
		return nil
	}
	if spec.Branch != "" {
		if err := checkRef(spec.Branch); err != nil {
			return core.Invalid(at+"branch", "%v", err)
		}
	}
	if spec.WorkBranch != "" {
		if err := checkRef(spec.WorkBranch); err != nil {
			return core.Invalid(at+"workBranch", "%v", err)
		}
		// A branch of the name of a folder would leave no room for those in it.
		if ok, _ := filepath.Match("wardroom/*", spec.WorkBranch); ok || spec.WorkBranch == "wardroom" {
			return core.Invalid(at+"workBranch", "%q is where the branches of other threads are; choose another name", spec.WorkBranch)
		}
		if fullHash.MatchString(spec.WorkBranch) || spec.WorkBranch == "HEAD" {
			return core.Invalid(at+"workBranch", "reads like a commit; choose another name")
		}
	}
	if spec.Depth < 0 || spec.Depth > maxDepth {
		return core.Invalid(at+"depth", "must be from 0 (all history) to %d commits", maxDepth)
	}
	if spec.Filter != "" && !filters.MatchString(spec.Filter) {
		return core.Invalid(at+"filter", "must be blob:none, tree:0 or blob:limit=SIZE, such as blob:limit=1m")
	}
	return nil
}

// quota reports whether there is room for more workspaces, or for the bytes of one that is counted already.
func (s *Service) quota(ctx context.Context, more int, bytes int64) error {
	all, err := s.opts.Store.AllWorkspaces(ctx)
	if err != nil {
		return err
	}
	return s.checkQuota(all, more, bytes)
}

func (s *Service) checkQuota(all []*core.Workspace, more int, bytes int64) error {
	cfg := s.config()
	count, sum := more, bytes
	for _, w := range all {
		if w.Status != core.WorkspaceRemoved {
			count++
			sum += w.SizeBytes
		}
	}
	limited := func(reason string, limit int64, message string) error {
		e := core.RateLimited(limit, 0, 0, "%s; remove some with wardroom workspace prune, or try again when threads are over", message)
		e.Details["reason"] = reason
		return e
	}
	switch {
	case cfg.MaxBytes > 0 && bytes > cfg.MaxBytes:
		return core.Invalid("preparation.workspace.repo", "takes %d bytes checked out, and a workspace may have %d (threads.workspaces.maxBytes)", bytes, cfg.MaxBytes)
	case count > cfg.MaxWorkspaces:
		return limited("workspaces", int64(cfg.MaxWorkspaces), fmt.Sprintf("there are %d workspaces, as many as there may be (threads.workspaces.maxCount)", cfg.MaxWorkspaces))
	case cfg.MaxTotalBytes > 0 && sum > cfg.MaxTotalBytes:
		return limited("workspace_bytes", cfg.MaxTotalBytes, fmt.Sprintf("the workspaces take %d bytes together, of %d that they may (threads.workspaces.maxTotalBytes)", sum, cfg.MaxTotalBytes))
	}
	return nil
}
