package agentcli

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A step is left out unless its condition holds when its turn has come, and a pause ends with its own.
func TestStepsLookAtTheScreen(t *testing.T) {
	var screen atomic.Pointer[string]
	screen.Store(new("before"))
	holds := func(word string) func([]string) bool {
		return func(rows []string) bool { return slices.Contains(rows, word) }
	}
	var typed strings.Builder
	write := func(_ context.Context, p []byte) error {
		typed.Write(p)
		if string(p) == "b" {
			screen.Store(new("after"))
		}
		return nil
	}
	ty := newTypist(write, func() uint64 { return 0 }, func() []string { return []string{*screen.Load()} }, time.Now, 0)
	_, err := ty.perform(t.Context(), []Step{
		{Write: []byte("a"), If: holds("after")},
		{Write: []byte("b"), If: holds("before"), Wait: time.Hour, Until: holds("after")},
		{Write: []byte("c"), Wait: time.Millisecond, Until: holds("never")},
		{Write: []byte("d"), If: holds("after")},
		{Write: []byte("e"), If: holds("before")},
	})
	if err != nil || typed.String() != "bcd" {
		t.Errorf("typed %q, %v", typed.String(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ty.perform(ctx, []Step{{Wait: time.Hour, Until: holds("never")}, {}}); err == nil {
		t.Error("it waits on after the end")
	}
}
