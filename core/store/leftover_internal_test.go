package store

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// A crash while Badger makes or removes a log leaves it empty. The store opens all the same, and has
// everything that was acknowledged.
func TestOpenWithEmptyLogs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("empty logs are looked for on Linux only")
	}
	ctx := context.Background()
	dir := t.TempDir()
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutDefinition("hash", "source") }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	empty := []string{"00001.mem", "00007.mem", "00123.mem", "000900.vlog"}
	for _, name := range empty {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if source, err := s.FindDefinition(ctx, "hash"); err != nil || source != "source" {
		t.Fatalf("read %q, %v", source, err)
	}
}

// An empty log of a store in use is one that is being made: it must stay.
func TestLeftoversOfRunningStoreStay(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	name := filepath.Join(dir, "00777.mem")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeLeftovers(dir, hclog.NewNullLogger()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Fatalf("the log is gone: %v", err)
	}
	if _, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20}); err == nil || !strings.Contains(err.Error(), "in use by") {
		t.Fatalf("second open: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func TestRemoveLeftoversKeepsTheRest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("empty logs are looked for on Linux only")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"00001.mem": "x", "000001.vlog": "x", "000001.sst": "", "DISCARD": "", "00002.mem": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeLeftovers(dir, hclog.NewNullLogger()); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 4 {
		t.Fatalf("left %v, %v", left, err)
	}
	if err := removeLeftovers(filepath.Join(dir, "nowhere"), hclog.NewNullLogger()); err == nil {
		t.Fatal("a missing directory is no error")
	}
}
