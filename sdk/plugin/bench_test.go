package plugin_test

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// BenchmarkAttach measures the output of a terminal from a plugin's process to its host, over a unix socket
// with AutoMTLS, in frames of 32 KiB.
func BenchmarkAttach(b *testing.B) {
	c := configured(b, "plain")
	term, err := c.Runtime().Attach(testContext(b), "flood", runtime.AttachOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = term.Close() }()
	b.SetBytes(32 << 10)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := term.Recv(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEcho measures a key from the host to the plugin's terminal and back.
func BenchmarkEcho(b *testing.B) {
	c := configured(b, "plain")
	term, err := c.Runtime().Attach(testContext(b), "echo", runtime.AttachOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = term.Close() }()
	b.ReportAllocs()
	for range b.N {
		if err := term.Input([]byte("x")); err != nil {
			b.Fatal(err)
		}
		if _, err := term.Recv(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInspect measures a plain call.
func BenchmarkInspect(b *testing.B) {
	c := configured(b, "plain")
	ctx := testContext(b)
	b.ReportAllocs()
	for range b.N {
		if _, err := c.Runtime().Inspect(ctx, "x"); err != nil {
			b.Fatal(err)
		}
	}
}
