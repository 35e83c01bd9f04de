package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/atrest"
)

// slowSource calls slow while the first key is wrapped, as a key service that takes its time does.
type slowSource struct {
	atrest.KeySource
	slow func()
}

func (s *slowSource) Wrap(ctx context.Context, key []byte, about string) (atrest.Wrapped, error) {
	if slow := s.slow; slow != nil {
		s.slow = nil
		slow()
	}
	return s.KeySource.Wrap(ctx, key, about)
}

// Of two processes that make one encrypted store at the same time, one has it, and the other one does not take its keys away.
func TestTwoMakeAnEncryptedStore(t *testing.T) {
	ctx := context.Background()
	encryption := newEncryption(t)
	opts := Options{Path: t.TempDir(), MinFreeBytes: 1 << 20, Clock: coretest.NewClock(), Encryption: encryption}
	var first *Store
	var refused error
	slow := opts
	slow.Encryption = &Encryption{Source: &slowSource{encryption.Source, func() { first, refused = Open(ctx, opts) }}}
	second, err := Open(ctx, slow)
	if (first == nil) == (second == nil) {
		t.Fatalf("one of both was to be opened: %v, %v", refused, err)
	}
	s := second
	if s == nil {
		s, refused = first, err
	}
	if core.ErrorCode(refused) != core.CodeConflict {
		t.Errorf("the other one got %v, want a conflict", refused)
	}
	err = s.Update(ctx, func(tx core.Tx) error { return tx.PutBatchInput("batch_1", 0, []byte("kept")) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(ctx, opts); err != nil {
		t.Fatalf("the store cannot be opened any more: %v", err)
	}
	if got, err := s.FindBatchInput(ctx, "batch_1", 0); err != nil || string(got) != "kept" {
		t.Errorf("%q, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A process without a key does not take away the copy that another one is making of the store to encrypt it.
func TestCopyOfAnotherProcessStays(t *testing.T) {
	dir := t.TempDir()
	unlock, locked, err := lockDir(dir)
	if err != nil || !locked {
		t.Fatal(locked, err)
	}
	copied := filepath.Join(dir, convertDir, "000001.sst")
	if err := errors.Join(os.Mkdir(filepath.Dir(copied), 0o700), os.WriteFile(copied, []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	opts := Options{Path: dir, MinFreeBytes: 1 << 20}
	if _, err := Open(context.Background(), opts); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("got %v, want a conflict", err)
	}
	if _, err := os.Stat(copied); err != nil {
		t.Error(err)
	}
	unlock()
	s, err := Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(copied)); !os.IsNotExist(err) {
		t.Errorf("a copy that no process makes is left: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
