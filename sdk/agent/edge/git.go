package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/vt"
)

const codeCloneFailed = "CLONE_FAILED"

// maxOutput is how much of what git writes is kept, in bytes: the last of it.
const maxOutput = 16 << 10

// gitSettings win over those of the site and of repositories. What a repository could run is off. Credential helpers
// and ssh keys of the site stay in force: they are how it reaches its repositories.
var gitSettings = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "core.editor=true", "core.askPass=",
	"core.alternateRefsCommand=", "core.protectHFS=true", "core.protectNTFS=true", "credential.interactive=false",
	"protocol.allow=never", "submodule.recurse=false", "fetch.recurseSubmodules=false", "transfer.credentialsInUrl=die",
	"maintenance.auto=false", "gc.auto=0", "http.followRedirects=initial", "http.lowSpeedLimit=1000", "http.lowSpeedTime=60",
	"safe.bareRepository=explicit", "advice.detachedHead=false", "init.templateDir=",
}

var (
	scpForm  = regexp.MustCompile(`^([A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:].*$`)
	refName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+@-]*$`)
	filterOf = regexp.MustCompile(`^(blob:none|tree:0|blob:limit=[0-9]+[kmg]?)$`)
)

// scheme returns how git reaches a repository, or why it must not.
func scheme(repo string, allowFile bool) (string, error) {
	if strings.HasPrefix(repo, "-") || strings.ContainsFunc(repo, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errors.New("is not the address of a repository")
	}
	if strings.Contains(repo, "://") {
		u, err := url.Parse(repo)
		if err != nil {
			return "", errors.New("is not a URL")
		}
		if _, has := u.User.Password(); has {
			return "", errors.New("holds a password; let the site's git know it")
		}
		switch {
		case u.Scheme == "https" && u.Host != "", u.Scheme == "http" && u.Host != "", u.Scheme == "ssh" && u.Host != "" && !strings.HasPrefix(u.Host, "-"):
			return u.Scheme, nil
		case u.Scheme == "file" && allowFile && u.Host == "":
			return "file", nil
		case u.Scheme == "file":
			return "", errors.New("is a path of this site, which it does not allow")
		}
		return "", errors.New("must be https, http or ssh")
	}
	if scpForm.MatchString(repo) && !strings.Contains(repo, "::") {
		return "ssh", nil
	}
	return "", errors.New("must be a URL: the shorthands of the server mean nothing at this site")
}

// clone clones the repository of a thread into a new directory, on a branch of the thread's own.
func (e *Edge) clone(ctx context.Context, spec *protocol.ThreadSpawn, dir string) error {
	w := spec.Workspace
	bad := func(field, format string, args ...any) error {
		return &agent.Error{Code: codeInvalidSpec, Message: "workspace." + field + ": " + fmt.Sprintf(format, args...)}
	}
	kind, err := scheme(w.Repo, e.opts.AllowFile)
	branch := cmp.Or(w.WorkBranch, "wardroom/"+spec.ThreadID)
	switch {
	case err != nil:
		return bad("repo", "%v", err)
	case w.Branch != "" && !plainRef(w.Branch):
		return bad("branch", "is not the name of a branch")
	case !plainRef(branch):
		return bad("workBranch", "is not the name of a branch")
	case w.Filter != "" && !filterOf.MatchString(w.Filter):
		return bad("filter", "must be blob:none, tree:0 or blob:limit=SIZE")
	case w.Depth < 0:
		return bad("depth", "must not be negative")
	}
	args := []string{"clone", "--quiet", "--no-tags", "--template="}
	if w.Branch != "" {
		args = append(args, "--branch", w.Branch)
	}
	if w.Depth > 0 {
		args = append(args, "--depth", strconv.Itoa(w.Depth))
	}
	if w.Filter != "" {
		args = append(args, "--filter", w.Filter)
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.CloneTimeout)
	defer cancel()
	if err := e.git(ctx, kind, "", append(args, "--", w.Repo, dir)...); err != nil {
		return err
	}
	if err := e.git(ctx, kind, dir, "checkout", "--quiet", "-B", branch); err != nil {
		return err
	}
	if w.Submodules {
		if err := e.git(ctx, kind, dir, "submodule", "update", "--quiet", "--init", "--recursive"); err != nil {
			return err
		}
	}
	return e.settle(ctx, kind, dir)
}

// settle gives a clone what an agent's own git needs: an identity, since agents may not see the settings of the site's
// user, and eyes that do not see the files of ours.
func (e *Edge) settle(ctx context.Context, kind, dir string) error {
	for key, value := range map[string]string{"user.name": e.opts.Name, "user.email": "wardroom@localhost"} {
		value, err := e.gitText(ctx, kind, dir, "config", "--default", value, "--get", key)
		if err == nil {
			err = e.git(ctx, kind, dir, "config", key, value)
		}
		if err != nil {
			return err
		}
	}
	info := filepath.Join(dir, ".git", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return unmade(err)
	}
	return unmade(os.WriteFile(filepath.Join(info, "exclude"), []byte("/.wardroom/\n"), 0o600))
}

func plainRef(name string) bool {
	return refName.MatchString(name) && len(name) <= 200 && !strings.Contains(name, "..") && !strings.Contains(name, "@{") &&
		!strings.HasSuffix(name, "/") && !strings.HasSuffix(name, ".lock") && !strings.HasSuffix(name, ".") && !strings.Contains(name, "//")
}

// git runs git, which may speak to repositories of that scheme only.
func (e *Edge) git(ctx context.Context, kind, dir string, args ...string) error {
	_, err := e.gitText(ctx, kind, dir, args...)
	return err
}

// gitText is git, and returns what it printed.
func (e *Edge) gitText(ctx context.Context, kind, dir string, args ...string) (string, error) {
	var all []string
	for _, s := range gitSettings {
		all = append(all, "-c", s)
	}
	all = append(all, "-c", "protocol."+kind+".allow=always")
	cmd := exec.CommandContext(ctx, e.opts.Git, append(all, args...)...)
	cmd.Dir = dir
	if dir == "" {
		cmd.Dir = e.opts.Root
	}
	cmd.Env = append(os.Environ(),
		"GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1", "GIT_CEILING_DIRECTORIES="+filepath.Join(e.opts.Root, "threads"),
		"GIT_SSH_COMMAND=ssh -oBatchMode=yes", "LC_ALL=C",
	)
	cmd.WaitDelay = 10 * time.Second
	// A group of its own: git has children that speak to the remote, and they have to end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	stdout, stderr := vt.NewRing(maxOutput), vt.NewRing(maxOutput)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	switch {
	case err == nil:
		text, _ := stdout.From(0)
		return strings.TrimSpace(string(text)), nil
	case ctx.Err() != nil:
		return "", &agent.Error{Code: codeCloneFailed, Message: "the repository was not cloned in time"}
	case errors.Is(err, exec.ErrNotFound):
		return "", &agent.Error{Code: codeCloneFailed, Message: "this site has no git"}
	}
	text, _ := stderr.From(0)
	e.opts.Logger.Info("edge: git failed", "command", args[0], "error", err, "stderr", string(text))
	return "", &agent.Error{Code: codeCloneFailed, Message: "git " + args[0] + " failed: " + e.lastWords(string(text))}
}

// lastWords are the end of what git said, without the paths of this site.
func (e *Edge) lastWords(text string) string {
	const most = 500
	text = strings.ReplaceAll(strings.ToValidUTF8(strings.TrimSpace(text), "?"), e.opts.Root, "")
	if len(text) > most {
		text = strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}
