package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/clis"
	"github.com/wardroom/wardroom/scripts/fakemodel"
)

func TestInstalled(t *testing.T) {
	there := t.TempDir()
	if err := os.Mkdir(filepath.Join(there, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	codex := filepath.Join(there, "bin", "codex")
	if err := os.WriteFile(codex, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(clis.Env, there)
	d := newDemo(options{dir: t.TempDir()}, io.Discard)
	found, err := d.installed()
	if err != nil || len(found) != 1 || found[0].name != "codex" || !slices.Equal(d.absent, []string{"claude", "gemini"}) {
		t.Errorf("found %+v, left out %q, %v", found, d.absent, err)
	}
	if target, err := os.Readlink(d.path("bin/codex")); err != nil || target != codex {
		t.Errorf("on the PATH is %q, %v", target, err)
	}
}

// Every tool that the demo can drive is one that there is a recipe for, and asks for leave.
func TestTools(t *testing.T) {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.name)
		env := fakemodel.Env(tool.name, "http://127.0.0.1:1")
		if !slices.ContainsFunc(slices.Collect(maps.Values(env)), func(value string) bool {
			return strings.HasPrefix(value, "http://127.0.0.1:1")
		}) {
			t.Errorf("%s is not told of the model: %v", tool.name, env)
		}
		if !strings.Contains(tool.approve("/a/file"), "touch /a/file") {
			t.Errorf("%s asks for leave with %q", tool.name, tool.approve("/a/file"))
		}
	}
	if !slices.Equal(names, clis.Names()) {
		t.Errorf("the demo drives %q, there are %q", names, clis.Names())
	}
}

func TestPrintManaged(t *testing.T) {
	var out strings.Builder
	printManaged(&out, []*managed{
		{tool: tools[0], pid: 7, ready: time.Second, turn: 20 * time.Millisecond, promptID: "p1", approved: 30 * time.Millisecond, after: 40 * time.Millisecond},
		{tool: shell, pid: 8, ready: 2 * time.Second},
	})
	lines := strings.Split(out.String(), "\n")
	for i, want := range [][]string{
		{"AGENT", "APPROVAL"}, {"claude", "7", "1000 ms", "20 ms", "given after the kill: done in 30 ms", "40 ms"}, {"bash", "8", "2000 ms", "never asks"},
	} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %q has no %q", lines[i], part)
			}
		}
	}
}
