package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// repository makes a bare git repository with so many files, in folders, and returns its path.
func (b *bench) repository(ctx context.Context, files int) (string, error) {
	dir, err := os.MkdirTemp(b.dir, "repository-")
	if err != nil {
		return "", err
	}
	if err := git(ctx, dir, nil, "init", "-q", "--bare", "-b", "main"); err != nil {
		return "", err
	}
	var stream bytes.Buffer
	stream.WriteString("commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 4\nbase\n")
	for i := range files {
		body := fmt.Sprintf("package p\n// file %d\n", i) + strings.Repeat("func f() { /* filler text for a source file */ }\n", i%20+1)
		fmt.Fprintf(&stream, "M 100644 inline d%02d/e%02d/f%05d.go\ndata %d\n%s\n", i%100, i/100%20, i, len(body), body)
	}
	return dir, git(ctx, dir, &stream, "fast-import", "--quiet")
}

// git runs git in a directory, without anybody's configuration.
func git(ctx context.Context, dir string, in *bytes.Buffer, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C")
	if in != nil {
		cmd.Stdin = in
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// mirrors returns the mirrors that a core on a data directory has.
func (s *server) mirrors() []string {
	notes, _ := filepath.Glob(filepath.Join(s.workspaces(), "mirrors", "*.json")) // the pattern is well formed
	for i := range notes {
		notes[i] = strings.TrimSuffix(notes[i], ".json")
	}
	return notes
}

// workspaces is where the core keeps what threads work in: by default in the store, and of a development server beside
// it.
func (s *server) workspaces() string {
	beside := filepath.Join(s.Dir, "workspaces")
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	return filepath.Join(storePath(s.Dir), "workspaces")
}
