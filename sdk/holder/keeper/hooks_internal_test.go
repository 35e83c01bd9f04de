package keeper

import (
	"strings"
	"testing"
)

// TestHookBytes bounds what waits for an answer, whether it is a payload or a name.
func TestHookBytes(t *testing.T) {
	var h hooks
	name, payload := strings.Repeat("n", 3<<20), make([]byte, 1<<20)
	var calls []*hookCall
	for call := h.add(name, payload); call != nil; call = h.add(name, payload) {
		calls = append(calls, call)
	}
	if len(calls) != 4 {
		t.Errorf("%d calls of 4 MiB wait, want 4", len(calls))
	}
	for _, call := range calls {
		if _, ok := h.remove(call.Call); !ok {
			t.Error("a call is gone")
		}
	}
	if h.bytes != 0 || h.add(name, payload) == nil {
		t.Errorf("%d bytes count after all", h.bytes)
	}
}
