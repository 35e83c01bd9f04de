package store_test

import (
	"testing"

	"github.com/wardroom/wardroom/core/store"
)

func TestInstallation(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, store.Options{Path: dir})
	for _, fresh := range []string{"inst_1", "inst_2"} {
		if id, err := s.Installation(ctx, func() string { return fresh }); err != nil || id != "inst_1" {
			t.Fatalf("%q, %v", id, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, store.Options{Path: dir})
	if id, err := s.Installation(ctx, func() string { return "inst_3" }); err != nil || id != "inst_1" {
		t.Fatalf("after a restart: %q, %v", id, err)
	}
}
