package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/workspace"
)

// rig is a service over a store in memory, with a clock that stands still.
type rig struct {
	*workspace.Service
	t     testing.TB
	store memory
	clock *coretest.Clock
	root  string
	opts  workspace.Options
	log   *bytes.Buffer // read it after Close, or when nothing runs
}

func newRig(t testing.TB, change ...func(o *workspace.Options)) *rig {
	t.Helper()
	r := &rig{t: t, store: newMemory(t), clock: coretest.NewClock(), root: filepath.Join(t.TempDir(), "root"), log: &bytes.Buffer{}}
	r.opts = workspace.Options{
		Store: r.store, Clock: r.clock, Root: r.root,
		Logger: hclog.New(&hclog.LoggerOptions{Output: r.log, Level: hclog.Debug}),
		Config: workspace.Config{
			AllowCommit: true, AllowPush: true, PushBranches: []string{"wardroom/*", "feature/*"},
			Identity: workspace.Identity{Name: "Ward", Email: "ward@example.com"},
		},
	}
	for _, c := range change {
		c(&r.opts)
	}
	r.start()
	return r
}

// start opens a service on what is there, as after a restart.
func (r *rig) start() {
	r.t.Helper()
	r.Service = workspace.New(r.opts)
	if err := r.Open(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.Service.Close)
}

func (r *rig) restart() {
	r.t.Helper()
	r.Service.Close()
	r.start()
}

// reserve reserves a workspace of a thread of that name.
func (r *rig) reserve(name string, spec core.WorkspaceSpec) *core.Workspace {
	r.t.Helper()
	w, err := r.ReserveWorkspace(r.t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1", Role: "coder", Name: name, Spec: spec})
	if err != nil {
		r.t.Fatalf("reserve: %v", err)
	}
	return w
}

// provision makes a workspace.
func (r *rig) provision(name string, spec core.WorkspaceSpec) *core.Workspace {
	r.t.Helper()
	w := r.reserve(name, spec)
	made, err := r.ProvisionWorkspace(r.t.Context(), w.ID)
	if err != nil {
		r.t.Fatalf("provision: %v", err)
	}
	return made
}

// adopt gives a workspace to a thread that runs.
func (r *rig) adopt(id, thread string) {
	r.t.Helper()
	r.store.putThread(thread, core.ThreadRunning)
	err := r.store.Update(r.t.Context(), func(tx core.Tx) error {
		_, err := r.AdoptWorkspace(tx, id, thread, "exec_1")
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) release(id string) {
	r.t.Helper()
	if err := r.store.Update(r.t.Context(), func(tx core.Tx) error { return r.ReleaseWorkspace(tx, id) }); err != nil {
		r.t.Fatal(err)
	}
}

// find returns the stored workspace.
func (r *rig) find(id string) *core.Workspace {
	r.t.Helper()
	w, err := r.FindWorkspace(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// mirrors returns the directories of the mirrors.
func (r *rig) mirrors() []string {
	var dirs []string
	found, _ := filepath.Glob(filepath.Join(r.root, "mirrors", "*"))
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			dirs = append(dirs, path)
		}
	}
	return dirs
}

func (r *rig) mirror() string {
	r.t.Helper()
	dirs := r.mirrors()
	if len(dirs) != 1 {
		r.t.Fatalf("there are %d mirrors, want 1: %v", len(dirs), dirs)
	}
	return dirs[0]
}

// agentGit runs git as an agent does: in the workspace, with its own home, and no identity but the one it finds.
func (r *rig) agentGit(w *core.Workspace, args ...string) string {
	r.t.Helper()
	var env []string
	for name, value := range r.GitEnv(w.ID) {
		env = append(env, name+"="+value)
	}
	cmd := gitCommand(w.Path, env, args...)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
		return strings.HasPrefix(v, "GIT_AUTHOR_") || strings.HasPrefix(v, "GIT_COMMITTER_")
	})
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// source is a repository that workspaces are made of.
type source struct {
	t   testing.TB
	dir string
}

func newSource(t testing.TB) *source {
	t.Helper()
	return initSource(t, filepath.Join(t.TempDir(), "source"), "sha1")
}

// initSource makes a repository with objects in a format.
func initSource(t testing.TB, dir, format string) *source {
	t.Helper()
	s := &source{t: t, dir: dir}
	runGit(t, "", nil, "init", "-q", "-b", "main", "--object-format="+format, s.dir)
	s.git("config", "uploadpack.allowFilter", "true")
	s.git("config", "uploadpack.allowAnySHA1InWant", "true")
	s.git("config", "receive.denyCurrentBranch", "ignore")
	s.write("README.md", "# hello\n")
	s.write("src/main.go", "package main\n\nfunc main() {}\n")
	s.commit("first")
	return s
}

func (s *source) url() string { return "file://" + s.dir }

func (s *source) spec() core.WorkspaceSpec { return core.WorkspaceSpec{Repo: s.url()} }

func (s *source) git(args ...string) string {
	s.t.Helper()
	return strings.TrimSpace(runGit(s.t, s.dir, nil, args...))
}

func (s *source) write(name, text string) {
	s.t.Helper()
	write(s.t, filepath.Join(s.dir, name), text)
}

// commit commits everything and returns the hash.
func (s *source) commit(message string) string {
	s.t.Helper()
	s.git("add", "-A")
	s.git("commit", "-q", "-m", message)
	return s.git("rev-parse", "HEAD")
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pipe makes a pipe, in the place of a file that may be there.
func pipe(t testing.TB, path string) {
	t.Helper()
	_ = os.Remove(path) // there may be none
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

// gitThat makes a program that is git but for some calls: cases are those of a shell on its arguments, with a space before and after each.
func gitThat(t testing.TB, cases string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	write(t, path, "#!/bin/sh\ncase \" $* \" in\n"+cases+"\nesac\nexec git \"$@\"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func gitCommand(dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_COMMITTER_NAME=A U Thor", "GIT_COMMITTER_EMAIL=author@example.com",
		"GIT_ALLOW_PROTOCOL=file:http:https",
	}, env...)
	return cmd
}

func runGit(t testing.TB, dir string, env []string, args ...string) string {
	t.Helper()
	out, err := gitCommand(dir, env, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// wantError checks the code of an error, and that its text for people holds words.
func wantError(t testing.TB, err error, code core.Code, words ...string) *core.Error {
	t.Helper()
	var e *core.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v, want a %s", err, code)
	}
	if e.Code != code {
		t.Fatalf("error is %v, want a %s", err, code)
	}
	for _, word := range words {
		if !strings.Contains(e.Message, word) {
			t.Errorf("error message %q does not say %q", e.Message, word)
		}
	}
	return e
}

// soon is a context that ends before the test does, for what must not hang.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
