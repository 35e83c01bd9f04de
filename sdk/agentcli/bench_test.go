package agentcli_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// BenchmarkCat measures a real cat of lines through a pty, screen, ring and one viewer.
func BenchmarkCat(b *testing.B) {
	const mib = 64
	g := open(b, newLauncher(b, nil), nil)
	g.bash("b")
	v := g.attach("b", runtime.AttachOptions{})
	lost := uint64(0)
	for b.Loop() {
		begin := time.Now()
		v.text.Reset()
		if err := v.Input([]byte("yes 'the quick brown fox jumps over the lazy dog, and so on' | head -c 67108864; echo; echo fin''ished\r")); err != nil {
			b.Fatal(err)
		}
		v.until("the end", func(f runtime.Frame, _ string) bool {
			lost += f.Lost
			v.text.Reset()
			return strings.Contains(string(f.Data), "finished")
		})
		b.ReportMetric(mib*1.048576/time.Since(begin).Seconds(), "MB/s")
	}
	b.ReportMetric(100*float64(lost)/float64(b.N*mib<<20), "%lost")
}

// BenchmarkFlood measures output through screen, ring and one viewer, without a pty.
func BenchmarkFlood(b *testing.B) {
	const chunks = 1024
	chunk := strings.Repeat(strings.Repeat("the quick brown fox jumps over ", 3)[:78]+"\r\n", 800)
	floods := make(chan struct{})
	g := open(b, newLauncher(b, func(p *process) {
		p.kind(idle)
		for {
			select {
			case <-floods:
				p.flood(chunk, chunks)
				p.print("finished")
			case <-p.killed:
				return
			}
		}
	}), func(o *agentcli.Options) { o.Adapters = []agentcli.Adapter{&fakeType{}} })
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	v := g.attach("a", runtime.AttachOptions{})
	lost := uint64(0)
	for b.Loop() {
		begin := time.Now()
		floods <- struct{}{}
		v.until("the end", func(f runtime.Frame, _ string) bool {
			lost += f.Lost
			v.text.Reset()
			return strings.HasSuffix(string(f.Data), "finished")
		})
		b.ReportMetric(float64(len(chunk)*chunks)/1e6/time.Since(begin).Seconds(), "MB/s")
	}
	b.ReportMetric(100*float64(lost)/float64(b.N*chunks*len(chunk)), "%lost")
}

// BenchmarkEcho measures a key to its echo by a shell.
func BenchmarkEcho(b *testing.B) {
	g := open(b, newLauncher(b, nil), func(o *agentcli.Options) { o.Types["cat"] = runtime.DeclaredType{Command: "cat"} })
	g.spawn(runtime.Spec{ID: "c", Type: "cat"})
	g.status("c", runtime.StatusReady)
	v := g.attach("c", runtime.AttachOptions{})
	if _, err := v.Recv(); err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	for b.Loop() {
		<-time.After(10 * time.Millisecond) // as a person types
		begin := time.Now()
		if err := v.Input([]byte("k")); err != nil {
			b.Fatal(err)
		}
		if _, err := v.Recv(); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(begin))
		if len(times)%50 == 0 {
			_ = v.Input([]byte("\r"))
			v.until("the line", func(_ runtime.Frame, text string) bool { return strings.HasSuffix(text, "\n") })
			v.text.Reset()
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-us")
}
