package wire_test

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/wire"
)

func TestResendKey(t *testing.T) {
	for _, first := range []string{"in_1", "in_1.a1", "task_1.1", "a.2"} {
		for _, n := range []int{2, 17} {
			if got, m, ok := wire.ParseResendKey(wire.ResendKey(first, n)); got != first || m != n || !ok {
				t.Errorf("%q for the time %d is read as %q, %d, %v", first, n, got, m, ok)
			}
		}
	}
	for _, key := range []string{"", "in_1", "in_1.a1", "in_1.1", "in_1.0", "in_1.-2", "in_1.02", "in_1.+2", ".2", "in_1.", "in_1.99999999999999999999"} {
		if first, n, ok := wire.ParseResendKey(key); ok {
			t.Errorf("%q is read as %q, %d", key, first, n)
		}
	}
}
