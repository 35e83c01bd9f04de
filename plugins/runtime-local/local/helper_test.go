package local_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/agentcli"
)

// TestUpgradeUnderAnAgent takes the installed holder away, as an upgrade does for a moment, while an agent runs:
// the agent's hooks reach the runtime all the same.
func TestUpgradeUnderAnAgent(t *testing.T) {
	dir := t.TempDir()
	installed := filepath.Join(dir, "installed")
	copyFile(t, holderBinary, installed)
	l := open(t, dir, func(o *local.Options) { o.Holder = installed })
	p, room := start(t, l, "worker", callsHook)
	readUntil(t, p, 0, "go")
	if err := os.Remove(installed); err != nil {
		t.Fatal(err)
	}

	source, ok := p.(agentcli.HookSource)
	if !ok {
		t.Fatal("the process has no hooks")
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if call, ok := <-source.Hooks(); ok {
			call.Answer([]byte("seen " + call.Name))
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if text := callHook(t, room, "{}")(); text != "seen Stop" {
		t.Fatalf("the hook printed %q", text)
	}
	<-answered

	// The next life gets the release that is installed then, and what no room has any more goes.
	copyFile(t, holderBinary, installed)
	if f, err := os.OpenFile(installed, os.O_APPEND|os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	} else if _, err := f.WriteString("newer"); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if err := p.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	again, room := start(t, l, "worker", `echo go; exec sleep 60`)
	readUntil(t, again, 0, "go")
	want, err := os.ReadFile(installed)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(room.Hook[0]); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the room's helper has %d bytes, the installed one %d (%v)", len(got), len(want), err)
	}
	open(t, dir, func(o *local.Options) { o.Holder = installed })
	if copies, err := os.ReadDir(filepath.Join(dir, "state", "helpers")); err != nil || len(copies) != 1 {
		t.Errorf("copies: %v, %v, want one", copies, err)
	}
}

// TestCopyLeavesTheOriginalAlone starts a restored copy of an installation beside the live one: the copy has the
// handles of the original's agents, and neither drives nor ends them.
func TestCopyLeavesTheOriginalAlone(t *testing.T) {
	dir := t.TempDir()
	original := open(t, dir, nil)
	p, _ := start(t, original, "worker", `stty -echo; echo go; while read -r l; do echo "got:$l"; done`)
	out := readUntil(t, p, 0, "go")

	second := t.TempDir()
	copyTree(t, filepath.Join(dir, "state"), filepath.Join(second, "state"))
	// The same run directory is the harder case: the socket of the original is in it.
	twin := open(t, second, func(o *local.Options) { o.RunDir = filepath.Join(dir, "run") })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if found, err := twin.Find(ctx, p.Handle()); err == nil {
		t.Errorf("the copy found the agent of the original: %v", found.Info())
		_ = found.Close()
	}
	if q, _ := start(t, twin, "worker", `echo go; exec sleep 60`); q != nil {
		readUntil(t, q, 0, "go")
	}
	if err := twin.Remove(ctx, "worker"); err != nil {
		t.Error(err)
	}
	if err := p.Write(ctx, []byte("alive\r")); err != nil {
		t.Fatalf("the original lost its agent: %v", err)
	}
	readUntil(t, p, out.Offset(), "got:alive")

	// A state directory that was renamed is the same one.
	moved := filepath.Join(dir, "moved")
	handle := p.Handle()
	_ = p.Close()
	if err := os.Rename(filepath.Join(dir, "state"), moved); err != nil {
		t.Fatal(err)
	}
	renamed := open(t, dir, func(o *local.Options) { o.StateDir = moved })
	q, err := renamed.Find(ctx, handle)
	if err != nil {
		t.Fatalf("Find after a rename: %v", err)
	}
	if err := q.Kill(ctx); err != nil {
		t.Error(err)
	}
	_ = q.Close()
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o700); err != nil {
		t.Fatal(err)
	}
}

// copyTree copies what a backup of a state directory holds: directories and files.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case d.Type().IsRegular():
			copyFile(t, path, filepath.Join(to, rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
