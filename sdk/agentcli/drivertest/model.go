package drivertest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Model is a running fake model.
type Model struct{ URL string }

// StartModel builds and runs the repository's fake model until the test ends. Its answers, and the directives
// within a message that change them, are described at scripts/fakemodel.
func StartModel(tb testing.TB) *Model {
	tb.Helper()
	root := moduleRoot(tb)
	built.once.Do(func() { built.path, built.err = buildModel(root) })
	if built.err != nil {
		tb.Fatal(built.err)
	}
	cmd := exec.Command(built.path, "-listen", "127.0.0.1:0", "-stdin")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		tb.Fatalf("the fake model does not start: %v", err)
	}
	words := strings.Fields(line)
	if len(words) < 4 {
		tb.Fatalf("the fake model says %q", line)
	}
	return &Model{URL: words[3]}
}

func moduleRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}
