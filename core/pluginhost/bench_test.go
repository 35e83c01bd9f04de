package pluginhost_test

import (
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pluginhost"
)

// BenchmarkCall is one call through host, TLS and socket to a plugin and back.
func BenchmarkCall(b *testing.B) {
	r := newRig(b, pen("")).open()
	rt := r.Runtime("runtime-pen")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rt.Capabilities(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRestart is an orderly restart, and then the time from a kill -9 until the next process is ready, with
// the policy that is in force unless another is set.
func BenchmarkRestart(b *testing.B) {
	r := newRig(b, pen(""))
	r.opts.Clock, r.opts.Policy = core.SystemClock{}, pluginhost.DefaultPolicy()
	r.opts.Policy.Quarantine = 1 << 30
	r.open()
	for b.Loop() { // an orderly restart and a crash each
		restarts := r.plugin("runtime-pen").Restarts
		if _, err := r.RestartPlugin(b.Context(), "runtime-pen"); err != nil { // forgets the failures, so that the first wait counts
			b.Fatal(err)
		}
		r.signal("runtime-pen", syscall.SIGKILL)
		coretest.WaitFor(b, "the next process", func() bool {
			p := r.plugin("runtime-pen")
			return p.State == core.PluginReady && p.Restarts == restarts+2
		})
	}
}
