package pause_test

import (
	"context"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

func TestBackoff(t *testing.T) {
	b := pause.Backoff{First: time.Second, Most: 3 * time.Second}
	for range 2 {
		if !b.Fresh() {
			t.Fatal("not fresh before the first wait")
		}
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
			if got := b.Next(); got != want || b.Fresh() {
				t.Fatalf("waits %s, want %s", got, want)
			}
		}
		b.Reset()
	}
	var zero pause.Backoff
	if first, next := zero.Next(), zero.Next(); first != 250*time.Millisecond || next != 500*time.Millisecond {
		t.Fatalf("the zero value waits %s and %s", first, next)
	}
}

func TestFor(t *testing.T) {
	if !pause.For(context.Background(), core.SystemClock{}, -1) {
		t.Fatal("a time that is over was not waited for")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if pause.For(ctx, core.SystemClock{}, time.Hour) {
		t.Fatal("the end of the context is not told")
	}
}

// Several wakes before a receive are one, and none of them waits.
func TestWake(t *testing.T) {
	ch := make(chan struct{}, 1)
	pause.Wake(ch)
	pause.Wake(ch)
	<-ch
	select {
	case <-ch:
		t.Error("two wakes are two")
	default:
	}
	pause.Wake(ch)
	<-ch
}
