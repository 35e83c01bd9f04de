package agentcli

import (
	"sync"
	"testing"
	"time"
)

// TestFeedHidesScreen holds a feed up while it tells viewers of the output: nobody reads the screen, how far the output is or
// how long it was quiet until all of it is drawn. A driver that is told of output it cannot see yet takes the prompt of before
// for the end of a turn.
func TestFeedHidesScreen(t *testing.T) {
	d := newDisplay(&Options{RingBytes: 1 << 20, Scrollback: 100}, 80, 24, 0)
	d.ringMu.Lock()
	var feeding sync.WaitGroup
	feeding.Go(func() { d.feed([]byte("one\r\n")) })
	for deadline := time.Now().Add(10 * time.Second); d.mu.TryLock(); {
		d.mu.Unlock()
		if time.Now().After(deadline) {
			d.ringMu.Unlock()
			t.Fatal("the screen of before can be read while the output is told of")
		}
	}
	d.ringMu.Unlock()
	h := host{s: &session{display: d}}
	if line, _ := h.Cursor(); h.Offset() != 5 || line != 1 {
		t.Errorf("the output is at %d, the cursor on line %d", h.Offset(), line)
	}
	feeding.Wait()
}
