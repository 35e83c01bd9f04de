package holder_test

import (
	"context"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestOutputAfterTheEnd opens the output of a command that has ended when the system has no room for a connection: that is no end
// of the output, which is read as soon as there is room.
func TestOutputAfterTheEnd(t *testing.T) {
	h := hold(t, "printf last", nil)
	var full atomic.Bool
	c, err := holder.Connect(t.Context(), holder.Options{
		Nonce: h.launch.Nonce,
		Dial: func(ctx context.Context) (net.Conn, error) {
			if full.Load() {
				return nil, &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("socket", syscall.EMFILE)}
			}
			return new(net.Dialer).DialContext(ctx, "unix", h.launch.Socket)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	if out, err := c.Output(t.Context(), 0); runtime.ErrorCode(err) != runtime.CodeResourceLimit {
		t.Errorf("without room: %v, %v, want RESOURCE_LIMIT", out, err)
	}
	full.Store(false)
	out := open(t, c, 0)
	if text, err := io.ReadAll(out); err != nil || string(text) != "last" {
		t.Errorf("the output is %q, %v", text, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	gone, err := c.Output(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(gone); err != nil || len(text) != 0 || gone.Offset() != 4 {
		t.Errorf("of a holder that is gone: %q, %v, at %d", text, err, gone.Offset())
	}
}
