package kubernetes

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestRecordOfNextLife stores lives of an agent while the ends of the ones before are noted, as by who waits for them: none of that
// writes over the next life, whose agent nothing would find again.
func TestRecordOfNextLife(t *testing.T) {
	t.Parallel()
	l := &Launcher{dir: t.TempDir(), running: map[string]wire.Nonce{}}
	before := handle{ID: "a"}
	for i := range 300 {
		next := handle{ID: "a", Nonce: holder.NewNonce()}
		var ends sync.WaitGroup
		for range 3 {
			ends.Go(func() { l.overNow(before) })
		}
		if err := l.save(record{Handle: next, Launched: true}); err != nil {
			t.Fatalf("life %d: %v", i, err)
		}
		ends.Wait()
		if v, err := l.load("a"); err != nil || v.Handle.Nonce != next.Nonce || v.Over {
			t.Fatalf("life %d: stored is %+v, %v", i, v, err)
		}
		before = next
	}
}

// TestUnreadRecord looks for an agent whose record is there and cannot be read, as without a free descriptor: it is not taken for
// gone, nor for removed, while its pod runs on.
func TestUnreadRecord(t *testing.T) {
	l := openOver(t, new(silentNode), `, "image": "wardroom/claude"`)
	if err := os.Mkdir(l.lifeFile("a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Latest(t.Context(), "a", time.Time{}); errors.Is(err, agentcli.ErrGone) || runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("its latest life: %v", err)
	}
	if err := l.Remove(t.Context(), "a"); runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("its removal: %v", err)
	}
	if _, err := l.Latest(t.Context(), "b", time.Time{}); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("the latest life of one that never was: %v", err)
	}
	if err := l.Remove(t.Context(), "b"); err != nil {
		t.Errorf("the removal of one that never was: %v", err)
	}
}
