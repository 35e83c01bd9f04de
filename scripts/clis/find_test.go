package clis_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/wardroom/wardroom/scripts/clis"
)

// program makes an executable at a path.
func program(t *testing.T, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func platform() string {
	return runtime.GOOS + "-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
}

func check(t *testing.T, what, want string, got string, ok bool) {
	t.Helper()
	if got != want || ok != (want != "") {
		t.Errorf("%s is %q, %t, want %q", what, got, ok, want)
	}
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestIn(t *testing.T) {
	dir := realDir(t)
	modules := filepath.Join(dir, "node_modules")
	for _, name := range clis.Names() {
		got, ok := clis.In(dir, name)
		check(t, name+" of an empty folder", "", got, ok)
	}
	gemini := program(t, modules, ".bin", "gemini")
	claude := program(t, modules, ".bin", "claude")
	got, ok := clis.In(dir, "gemini")
	check(t, "gemini", gemini, got, ok)
	got, ok = clis.In(dir, "claude")
	check(t, "claude in node_modules", claude, got, ok)

	claude = program(t, dir, "bin", "claude")
	got, ok = clis.In(dir, "claude")
	check(t, "claude in bin", claude, got, ok)

	claude = program(t, modules, "@anthropic-ai", "claude-code-"+platform(), "claude")
	got, ok = clis.In(dir, "claude")
	check(t, "native claude", claude, got, ok)

	program(t, modules, ".bin", "codex")
	codex := program(t, modules, "@openai", "codex", "node_modules", "@openai", "codex-"+platform(), "vendor", "triple", "bin", "codex")
	got, ok = clis.In(dir, "codex")
	check(t, "nested native codex", codex, got, ok)
	codex = program(t, modules, "@openai", "codex-"+platform(), "vendor", "triple", "bin", "codex")
	got, ok = clis.In(dir, "codex")
	check(t, "native codex", codex, got, ok)
}

func TestInSkipsWhatCannotRun(t *testing.T) {
	dir := realDir(t)
	if err := os.Chmod(program(t, dir, "bin", "gemini"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "node_modules", ".bin", "gemini"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, ok := clis.In(dir, "gemini")
	check(t, "gemini", "", got, ok)
}

func TestFind(t *testing.T) {
	repository, path := realDir(t), realDir(t)
	t.Setenv(clis.Env, "")
	t.Setenv("PATH", filepath.Join(path, "bin"))
	below := filepath.Join(repository, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repository, "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	got, ok := clis.Find("codex")
	check(t, "nothing", "", got, ok)

	plain := program(t, path, "bin", "gemini")
	got, ok = clis.Find("gemini")
	check(t, "gemini in PATH", plain, got, ok)

	// npm's own global layout: a link into the package, with the native one below it.
	wrapper := program(t, path, "lib", "node_modules", "@openai", "codex", "bin", "codex.js")
	link(t, wrapper, filepath.Join(path, "bin", "codex"))
	got, ok = clis.Find("codex")
	check(t, "wrapper in PATH", filepath.Join(path, "bin", "codex"), got, ok)
	native := program(t, path, "lib", "node_modules", "@openai", "codex", "node_modules", "@openai", "codex-"+platform(), "vendor", "triple", "bin", "codex")
	got, ok = clis.Find("codex")
	check(t, "native beside the wrapper", native, got, ok)

	cached := program(t, repository, ".cache", "clis", "bin", "codex")
	got, ok = clis.Find("codex")
	check(t, "codex of the repository", cached, got, ok)

	named := realDir(t)
	t.Setenv(clis.Env, named)
	got, ok = clis.Find("codex")
	check(t, "codex of a named folder without one", "", got, ok)
	named = program(t, named, "bin", "codex")
	got, ok = clis.Find("codex")
	check(t, "codex of a named folder", named, got, ok)
}
