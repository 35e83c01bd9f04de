package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/wardroom/wardroom/core"
)

// failure is why git failed, as far as its words tell.
type failure string

const (
	failOther    failure = "git_failed"
	failMissing  failure = "repository_missing"
	failBranch   failure = "branch_missing"
	failAuth     failure = "authentication_refused"
	failHost     failure = "host_unreachable"
	failDisk     failure = "disk_full"
	failBroken   failure = "mirror_broken"
	failRejected failure = "push_rejected"
	failLocked   failure = "repository_locked"
	failRefTaken failure = "branch_taken"
	failOwner    failure = "repository_owner"
	failTimeout  failure = "timeout"
	failFormat   failure = "object_format"
	failLarge    failure = "too_many_files"
	failKilled   failure = "git_killed" // by a signal that is not ours
	failInTheWay failure = "files_in_the_way"
	// failHalfMade is of a worktree that git makes or removes meanwhile: its files are empty for a moment.
	failHalfMade failure = "worktree_half_made"
)

// signs are what git and ssh say, in lower case; the first that fits counts. LC_ALL=C keeps them in English.
var signs = []struct {
	text string
	kind failure
}{
	{"no space left on device", failDisk},
	{"/commondir: success", failHalfMade},
	{"disk quota exceeded", failDisk},
	{"unable to write file", failDisk}, // of a checkout; git does not say why, and there is hardly another reason
	{"unable to write new index file", failDisk},
	{"write error. out of diskspace", failDisk},
	{"couldn't write '", failDisk}, // of a ref
	{"detected dubious ownership", failOwner},
	{"mismatched algorithms: client", failFormat},
	{"host key verification failed", failAuth},
	{"permission denied (", failAuth},
	{"authentication failed", failAuth},
	{"could not read username", failAuth},
	{"could not read password", failAuth},
	{"unable to read askpass response", failAuth},
	{"returned error: 401", failAuth},
	{"returned error: 403", failAuth},
	{"access denied", failAuth},
	{"could not resolve host", failHost},
	{"failed to connect to", failHost},
	{"couldn't connect to server", failHost},
	{"connection refused", failHost},
	{"connection timed out", failHost},
	{"connection reset", failHost},
	{"operation too slow", failHost},
	{"no route to host", failHost},
	{"network is unreachable", failHost},
	{"ssl certificate problem", failHost},
	{"server certificate verification failed", failHost},
	{"returned error: 5", failHost},
	{"couldn't find remote ref", failBranch},
	{"not our ref", failBranch},
	{"no such remote ref", failBranch},
	{"unadvertised object", failBranch},
	{"repository not found", failMissing},
	{"does not appear to be a git repository", failMissing},
	{"returned error: 404", failMissing},
	{"' not found", failMissing},
	{"project you were looking for could not be found", failMissing},
	{"would be overwritten by merge", failInTheWay},
	{"not uptodate. cannot merge", failInTheWay},
	{"[rejected]", failRejected},
	{"[remote rejected]", failRejected},
	{"non-fast-forward", failRejected},
	{"failed to push some refs", failRejected},
	{"reference already exists", failRefTaken},
	{"cannot create '", failRefTaken},
	{"': unable to create", failLocked},
	{".lock': file exists", failLocked},
	{"another git process seems to be running", failLocked},
	{"not a git repository", failBroken},
	{"bad object", failBroken},
	{"missing blob", failBroken},
	{"missing tree", failBroken},
	{"unable to read", failBroken},
	{"invalid sha1 pointer", failBroken},
	{"is corrupt", failBroken},
	{"object file", failBroken},
	{"could not read from remote repository", failHost},
	{"the remote end hung up", failHost},
	{"early eof", failHost},
	{"unable to access", failHost},
}

func classify(stderr string) failure {
	text := strings.ToLower(stderr)
	for _, sign := range signs {
		if strings.Contains(text, sign.text) {
			return sign.kind
		}
	}
	return failOther
}

// gitError is a run of git that failed. Its text holds no secret.
type gitError struct {
	op   string
	kind failure
	tail string
	err  error
}

// Error implements error.
func (e *gitError) Error() string { return fmt.Sprintf("git %s: %v: %s", e.op, e.err, e.tail) }

// Unwrap returns how the process ended.
func (e *gitError) Unwrap() error { return e.err }

// failureOf returns why a step failed.
func failureOf(err error) failure {
	var g *gitError
	switch {
	case errors.As(err, &g):
		return g.kind
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return failDisk
	case errors.Is(err, context.DeadlineExceeded):
		return failTimeout
	}
	return failOther
}

// unanswered reports whether a git failed because it was ended before it could answer: its failure is no answer to what it was asked.
func unanswered(err error) bool {
	var g *gitError
	return err != nil && (!errors.As(err, &g) || g.kind == failKilled)
}

// explain turns the failure of a step into the error for the caller. rem may be nil.
func explain(err error, rem *remote, branch string) error {
	var known *core.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	url := ""
	if rem != nil {
		url = rem.url
	}
	var e *core.Error
	kind := failureOf(err)
	switch kind {
	case failMissing:
		e = core.Invalid("preparation.workspace.repo", "there is no repository at %s; check the address", url)
	case failAuth:
		e = core.Invalid("preparation.workspace.repo", "%s refuses our credentials; %s", url, rem.advice())
	case failOwner:
		e = core.Invalid("preparation.workspace.repo", "%s belongs to another user of this machine; git serves only what belongs to the user that this service runs as", url)
	case failFormat:
		e = core.Invalid("preparation.workspace.repo", "%s has its objects in another format than was expected of it, of SHA-1 and SHA-256; if it was made anew, spawn the thread again, and if it is a submodule, leave submodules out", url)
	case failLarge:
		if e = core.Errorf(core.CodeConflict, "the workspace has so many changed or new files that git's list of them takes more than %d MiB; have those removed or ignored (.gitignore) that are not needed", maxOutput>>20); rem != nil {
			e = core.Invalid("preparation.workspace.repo", "%s has so many files that git's list of them takes more than %d MiB; name a smaller repository", url, maxOutput>>20)
		}
	case failBranch:
		e = noBranch(url, branch)
	case failHost:
		e = core.Unavailable(string(kind), "%s does not answer; try again later, and check the network and proxy settings of the service", url)
	case failTimeout:
		e = core.Unavailable(string(kind), "git took too long; try again, or have threads.workspaces.fetchTimeout and checkoutTimeout raised")
	case failDisk:
		e = core.Unavailable(string(kind), "the disk of the workspaces is full; free some space, for example with wardroom workspace prune")
	case failKilled:
		e = core.Unavailable(string(kind), "git was killed, which the system does when memory runs out; try again, and look into the log of the system")
	case failLocked, failHalfMade:
		e = core.Unavailable(string(kind), "another git process works on the repository; try again")
	case failBroken:
		e = core.Errorf(core.CodeInternal, "the local copy of %s is damaged and could not be repaired", url)
	case failRejected:
		e = core.Errorf(core.CodeConflict, "%s does not take the push: the branch there has other commits, or is protected; push to another branch", url)
	case failInTheWay:
		e = core.Errorf(core.CodeConflict, "files of the workspace that are not committed are in the way; have them committed, moved or removed first")
	default:
		e = core.Errorf(core.CodeInternal, "git failed in the workspace")
	}
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	if _, ok := e.Details["reason"]; !ok {
		e.Details["reason"] = string(kind)
	}
	e.Details["failure"] = string(kind)
	if g, ok := errors.AsType[*gitError](err); ok && g.tail != "" {
		e.Details["git"] = g.tail
	}
	return e.WithCause(err)
}

func noBranch(url, branch string) *core.Error {
	return core.Invalid("preparation.workspace.branch", "there is no branch, tag or commit %q in %s", branch, url)
}
