package backoff_test

import (
	"context"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/backoff"
)

func TestBackoff(t *testing.T) {
	b := backoff.Backoff{Min: 50 * time.Millisecond, Max: 400 * time.Millisecond}
	for range 2 {
		for _, ms := range []time.Duration{50, 100, 200, 400, 400, 400} {
			want := ms * time.Millisecond
			if d := b.Next(); d < want/2 || d > want {
				t.Fatalf("waits %s, want %s to %s", d, want/2, want)
			}
		}
		b.Reset()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	long := backoff.Backoff{Min: time.Hour, Max: time.Hour}
	if long.Wait(ctx) {
		t.Fatal("the end of the context is not told")
	}
	short := backoff.Backoff{Min: 1, Max: 1}
	if !short.Wait(t.Context()) {
		t.Fatal("did not wait")
	}
}
