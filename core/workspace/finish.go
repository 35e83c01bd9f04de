package workspace

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

const (
	maxMessage     = 16 << 10 // bytes of a commit message
	defaultMessage = "Work of a thread"
)

// CheckFinish implements core.WorkspaceService.
func (s *Service) CheckFinish(spec *core.WorkspaceSpec, finish *core.ThreadFinish) error {
	if finish == nil {
		return nil
	}
	if !finish.Commit && !finish.Push {
		if finish.Branch != "" {
			return core.Invalid("policy.finish.branch", "means nothing without push: true")
		}
		return nil
	}
	if spec == nil || spec.Repo == "" {
		return core.Invalid("policy.finish", "needs a workspace with a repository; name one in preparation.workspace.repo")
	}
	cfg := s.config()
	if finish.Commit && !cfg.AllowCommit {
		return forbidden("policy.finish.commit", "commits at the end of threads are not allowed here (threads.finish.commit)")
	}
	if !finish.Push {
		return nil
	}
	if !cfg.AllowPush {
		return forbidden("policy.finish.push", "pushes are not allowed here (threads.finish.push)")
	}
	if finish.Branch != "" {
		if err := checkRef(finish.Branch); err != nil {
			return core.Invalid("policy.finish.branch", "%v", err)
		}
	}
	branch := cmp.Or(finish.Branch, spec.WorkBranch)
	if branch == "" {
		branch = workBranch("execution", "role", "name") // as its name will look
	}
	return checkPush(cfg, branch)
}

func checkPush(cfg Config, branch string) error {
	for _, glob := range cfg.PushBranches {
		if globMatch(glob, branch) {
			return nil
		}
	}
	allowed := "none is"
	if len(cfg.PushBranches) > 0 {
		allowed = "allowed are " + strings.Join(cfg.PushBranches, ", ")
	}
	return forbidden("policy.finish.branch", "pushes to the branch "+branch+" are not allowed here; "+allowed+" (threads.finish.branches)")
}

func forbidden(field, message string) error {
	return &core.Error{Code: core.CodeForbidden, Message: message, Details: map[string]any{"field": field, "reason": message}}
}

// FinishWorkspace implements core.WorkspaceService.
func (s *Service) FinishWorkspace(ctx context.Context, id string, finish core.ThreadFinish, message string) ([]core.Artifact, error) {
	unlock, err := s.locks.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w, err := s.checkedOut(ctx, id)
	if err != nil {
		return nil, err
	}
	if w.Repo == "" || !finish.Commit && !finish.Push {
		return nil, nil
	}
	spec := &core.WorkspaceSpec{Repo: w.Repo, WorkBranch: w.WorkBranch}
	if err := s.CheckFinish(spec, &finish); err != nil { // the policy may have changed since the spawn
		return nil, err
	}
	t := s.treeOf(w)
	if err := t.secure(); err != nil {
		return nil, explain(err, nil, "")
	}
	if finish.Commit {
		if finish.Message != "" {
			message = finish.Message
		}
		if err := s.commit(ctx, t, message); err != nil {
			return nil, explain(err, nil, "")
		}
	}
	artifacts, head, err := t.commits(ctx)
	if err != nil {
		return nil, explain(err, nil, "")
	}
	if finish.Push && len(artifacts) > 0 {
		branch := cmp.Or(finish.Branch, w.WorkBranch)
		if err := s.push(ctx, t, w, head, branch); err != nil {
			return artifacts, err
		}
		artifacts = append(artifacts, core.Artifact{Type: core.ArtifactURL, Value: w.URL + "#" + branch})
	}
	size := diskUse(t.dir)
	if _, err := s.change(ctx, id, func(w *core.Workspace) error { w.SizeBytes = size; return nil }); err != nil {
		s.log.Warn("the size of a workspace was not stored", "workspace", id, "error", err) // the next look tells it
	}
	return artifacts, nil
}

// commit commits what is not committed, if there is anything. It is put together from git's plumbing, which runs no
// hook, asks for no signature and opens no editor.
func (s *Service) commit(ctx context.Context, t *tree, message string) error {
	ctx, cancel := context.WithTimeout(ctx, s.config().CheckoutTimeout)
	defer cancel()
	if err := t.awaitIndex(ctx, false); err != nil {
		return err
	}
	untracked, err := t.untracked(ctx)
	if err != nil {
		return err
	}
	specs := []string{"."}
	for _, name := range untracked {
		if strings.HasSuffix(name, "/") { // a repository of its own: it would become a submodule that cannot be fetched
			specs = append(specs, ":(exclude,top,literal)"+strings.TrimSuffix(name, "/"))
		}
	}
	add := t.call(nil, "add", "--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
	add.stdin = []byte(strings.Join(specs, "\x00") + "\x00")
	if _, err := s.git(ctx, add); err != nil {
		// A pipe in the place of a file, or a name that could be taken for .git, is no reason to commit nothing.
		var exit *exec.ExitError
		if failureOf(err) != failOther || !errors.As(err, &exit) || exit.ExitCode() != 1 {
			return err
		}
		left, looking := t.git(ctx, nil, append([]string{"ls-files", "--others", "--modified", "--exclude-standard", "-z"}, notContext...)...)
		if looking != nil {
			return looking
		}
		s.log.Warn("git does not take some files of a workspace; the others are committed", "worktree", t.dir, "files", listed(splitNul(left)), "error", err)
	}
	// Context files are excluded, but an agent may have added them by force, or changed what is ignored. git add itself
	// would complain about a pathspec that leaves out what is ignored anyway.
	if _, err := t.git(ctx, nil, "reset", "--quiet", "--", contextDir); err != nil {
		return err
	}
	wrote, err := t.git(ctx, nil, "write-tree")
	if err != nil {
		return err
	}
	head, err := t.head(ctx)
	if err != nil {
		return err
	}
	parents, old := []string(nil), t.m.emptyTree()
	if head != "" {
		out, err := t.git(ctx, nil, "rev-parse", "--verify", head+"^{tree}")
		if err != nil {
			return err
		}
		parents, old = []string{"-p", head}, strings.TrimSpace(string(out))
	}
	made := strings.TrimSpace(string(wrote))
	if made == old {
		return nil
	}
	by := s.config().Identity
	who := []string{
		"GIT_AUTHOR_NAME=" + by.Name, "GIT_AUTHOR_EMAIL=" + by.Email, "GIT_COMMITTER_NAME=" + by.Name, "GIT_COMMITTER_EMAIL=" + by.Email,
	}
	commit := t.call(nil, append(append([]string{"commit-tree"}, parents...), "-F", "-", made)...)
	commit.stdin, commit.env = []byte(commitMessage(message)), who
	out, err := s.git(ctx, commit)
	if err != nil {
		return err
	}
	if head == "" {
		head = strings.Repeat("0", len(made)) // the branch is not there
	}
	move := t.call(nil, "update-ref", "-m", "commit: wardroom", "HEAD", strings.TrimSpace(string(out)), head)
	move.env = who
	_, err = s.git(ctx, move)
	return err
}

// commitMessage makes a message of what people and agents wrote.
func commitMessage(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	text = strings.TrimSpace(text)
	text = cmp.Or(clip.Text(text, maxMessage), defaultMessage)
	return text + "\n"
}

// commits returns the commits since the base as artifacts, oldest first, and the newest one.
func (t *tree) commits(ctx context.Context) ([]core.Artifact, string, error) {
	head, err := t.head(ctx)
	if err != nil || head == "" {
		return nil, "", err
	}
	out, err := t.git(ctx, nil, "rev-list", "--reverse", "--max-count=100", t.base+".."+head, "--")
	if err != nil {
		return nil, "", err
	}
	var artifacts []core.Artifact
	for hash := range strings.FieldsSeq(string(out)) {
		artifacts = append(artifacts, core.Artifact{Type: core.ArtifactCommit, Value: hash})
	}
	return artifacts, head, nil
}

// push sends a commit to a branch of the remote. It never forces: other commits there are a CONFLICT.
func (s *Service) push(ctx context.Context, t *tree, w *core.Workspace, head, branch string) error {
	rem, err := s.remoteOf(w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.config().FetchTimeout)
	defer cancel()
	_, err = t.m.git(ctx, rem, "push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no",
		"--", "origin", head+":refs/heads/"+branch)
	return explain(err, rem, branch)
}
