package filelock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/filelock"
)

func TestDir(t *testing.T) {
	dir := t.TempDir()
	first, err := filelock.Dir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelock.Dir(ended, dir); !errors.Is(err, context.Canceled) {
		t.Fatalf("with a context that has ended: %v", err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = first.Close() })
	second, err := filelock.Dir(t.Context(), dir)
	if err != nil {
		t.Fatalf("after the first let go: %v", err)
	}
	if _, err := filelock.Dir(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "used by another process") {
		t.Fatalf("beside a holder that stays: %v", err)
	}
	_ = second.Close()
	if _, err := filelock.Dir(t.Context(), dir+"/missing"); err == nil {
		t.Fatal("a directory that is not there was locked")
	}
}
