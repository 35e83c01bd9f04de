package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxOutput = 64 << 20 // bytes of git's answer that are read
	maxStderr = 64 << 10
	killDelay = 10 * time.Second // for the pipes to close after git was killed
)

// call is one run of git.
type call struct {
	args []string
	// gitDir and commonDir name the repository. Without them git works outside of one: none is looked for.
	gitDir    string
	commonDir string // the mirror; "": gitDir
	workTree  string
	remote    *remote // whom git may speak to; nil for none
	stdin     []byte
	env       []string
	workers   int // that write files of a checkout; 0: 1
	most      int // bytes of the answer that are wanted, the rest is dropped; 0: all, and more than maxOutput is an error
	// into gets the answer in place of the caller, whatever its size; nil for none. The run ends where a write to it fails.
	into io.Writer
	// held is a file whose lock the run has as long as it lives, even if it outlives us; nil for none.
	held *os.File
}

// pastClose is the key of a context whose runs of git the end of the service does not cut off.
type pastClose struct{}

// overrides are the settings of every call. They win over those of repositories. What runs a program is off.
var overrides = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.sshCommand=false",
	"core.askPass=", "core.gitProxy=", "core.pager=cat", "core.editor=true", "core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null", "core.alternateRefsCommand=", "core.protectHFS=true", "core.protectNTFS=true", "core.quotePath=false",
	"core.autocrlf=false", "core.splitIndex=false", "core.sharedRepository=false", "credential.helper=", "credential.interactive=false",
	"commit.gpgSign=false", "push.gpgSign=false", "tag.gpgSign=false", "gpg.program=false", "gpg.ssh.program=false",
	"rebase.updateRefs=false", "diff.renames=true", "diff.renameLimit=2000", "diff.submodule=short", "submodule.recurse=false", "push.recurseSubmodules=no",
	"fetch.recurseSubmodules=false", "fetch.fsckObjects=false", "fetch.unpackLimit=1", "fetch.writeCommitGraph=false",
	"transfer.credentialsInUrl=die", "transfer.unpackLimit=1", "maintenance.auto=false", "gc.auto=0", "repack.writeBitmaps=false", "http.followRedirects=initial",
	"http.lowSpeedLimit=1000", "http.lowSpeedTime=60", "http.cookieFile=", "http.saveCookies=false", "protocol.allow=never", "safe.bareRepository=explicit", "advice.detachedHead=false",
	"uploadpack.packObjectsHook=", "log.showSignature=false", "log.mailmap=false", "i18n.logOutputEncoding=UTF-8", "i18n.commitEncoding=UTF-8",
	"remote.origin.uploadpack=git-upload-pack", "remote.origin.receivepack=git-receive-pack", "checkout.workers=1",
}

// passed are the variables of our own environment that git gets as well when it speaks to a remote.
var passed = []string{
	"SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
}

// environment is that of a call: nothing of ours but where programs and temporary files are.
func (s *Service) environment(c call) []string {
	home := filepath.Join(s.opts.Root, "private", "home")
	env := []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "LC_ALL=C", "LANGUAGE=C", "PATH=" + os.Getenv("PATH"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_PAGER=cat", "GIT_EDITOR=true",
		"GIT_CEILING_DIRECTORIES=" + s.opts.Root, "GIT_DISCOVERY_ACROSS_FILESYSTEM=0",
	}
	if dir := os.Getenv("TMPDIR"); dir != "" {
		env = append(env, "TMPDIR="+dir)
	}
	if c.gitDir != "" {
		common := cmp.Or(c.commonDir, c.gitDir)
		// The file commondir and what else could lead elsewhere are not read then.
		env = append(env, "GIT_DIR="+c.gitDir, "GIT_COMMON_DIR="+common, "GIT_OBJECT_DIRECTORY="+filepath.Join(common, "objects"))
	}
	if c.workTree != "" {
		env = append(env, "GIT_WORK_TREE="+c.workTree)
	}
	if c.remote == nil {
		env = append(env, "GIT_NO_LAZY_FETCH=1")
	} else {
		for _, name := range passed {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
		env = append(env, c.remote.environment(s.askpassPath())...)
	}
	return append(env, c.env...)
}

// git runs git to its end and returns what it wrote. All runs go through here. The error is a *gitError, or that of
// ctx.
func (s *Service) git(ctx context.Context, c call) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.remote.secret() != "" {
		// An agent could have changed the script to keep what it is asked for.
		if changed, err := keep(s.askpassPath(), []byte(askpass), 0o700); err != nil {
			return nil, err
		} else if changed {
			s.log.Warn("the script that answers git was changed by somebody; it was put back")
		}
	}
	// Callers have shorter limits, or none: what agents write may hang its readers.
	cfg := s.config()
	ctx, cancel := context.WithTimeout(ctx, max(cfg.FetchTimeout, cfg.CheckoutTimeout))
	defer cancel()
	if ctx.Value(pastClose{}) == nil {
		defer context.AfterFunc(s.ctx, cancel)()
	}

	var args []string
	for _, o := range overrides {
		args = append(args, "-c", o)
	}
	if c.remote != nil {
		args = append(args, "-c", "protocol."+c.remote.scheme+".allow=always")
	}
	if c.workers > 1 {
		args = append(args, "-c", fmt.Sprint("checkout.workers=", c.workers))
	}
	s.mu.RLock()
	path := s.gitPath
	s.mu.RUnlock()
	cmd := exec.CommandContext(ctx, path, append(args, c.args...)...)
	cmd.Dir = filepath.Join(s.opts.Root, "private", "empty")
	if c.workTree != "" {
		cmd.Dir = c.workTree
	}
	cmd.Env = s.environment(c)
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	stdout := &bounded{max: maxOutput, full: cancel}
	if c.most > 0 {
		stdout.max = c.most
	}
	stderr := &bounded{max: maxStderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if c.into != nil {
		cmd.Stdout = c.into
	}
	if c.held != nil {
		cmd.ExtraFiles = []*os.File{c.held}
	}
	// A group of its own: git has children that speak to the remote and unpack, and they have to end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
	var freeing sync.WaitGroup
	if c.workTree != "" {
		freeing.Go(func() { s.freePipes(ctx, c.workTree) })
		defer func() { cancel(); freeing.Wait() }()
	}
	err := cmd.Run()
	switch {
	case stdout.dropped && c.most > 0:
		return stdout.kept.Bytes(), nil
	case stdout.dropped:
		return nil, &gitError{op: c.args[0], kind: failLarge, tail: fmt.Sprintf("the answer is larger than %d bytes", maxOutput), err: errors.New("too much output")}
	case err == nil:
		return stdout.kept.Bytes(), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	text := stderr.kept.String()
	if c.remote != nil {
		text = c.remote.redact(text)
	}
	kind := classify(text)
	if cmd.ProcessState != nil && !cmd.ProcessState.Exited() {
		kind = failKilled
	}
	return nil, &gitError{op: c.args[0], kind: kind, tail: tail(text), err: err}
}

// bounded keeps the first max bytes that are written. It never refuses, so that the writer goes on.
type bounded struct {
	kept    bytes.Buffer // not embedded: its ReadFrom, which io.Copy prefers, knows no bound
	max     int
	dropped bool
	full    func() // called when something was dropped; may be nil
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - b.kept.Len(); len(p) > room {
		b.dropped = true
		b.kept.Write(p[:max(room, 0)])
		if b.full != nil {
			b.full()
		}
		return len(p), nil
	}
	return b.kept.Write(p)
}

// tail is the end of what git said, for people.
func tail(text string) string {
	const most = 600
	text = strings.ToValidUTF8(strings.TrimSpace(text), "?")
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if len(text) > most {
		text = "..." + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}
