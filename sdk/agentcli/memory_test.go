package agentcli_test

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestMemoryOfASession bounds what an agent costs here, idle and with a full scrollback.
func TestMemoryOfASession(t *testing.T) {
	const n = 20
	text := strings.Repeat(strings.Repeat("all work and no play ", 6)[:118]+"\r\n", 10_100)
	for _, tt := range []struct {
		name  string
		print string
		most  uint64 // bytes
	}{{"Idle", "hello", 1 << 20}, {"Full", text, 4 << 20}} {
		t.Run(tt.name, func(t *testing.T) {
			g := open(t, newLauncher(t, func(p *process) {
				p.kind(idle)
				p.flood(tt.print, 1)
				p.flood("the end", 1)
				<-p.killed
			}), func(o *agentcli.Options) { o.Adapters = []agentcli.Adapter{&fakeType{}} })
			before := heap()
			for i := range n {
				id := fmt.Sprint("a", i)
				g.spawn(runtime.Spec{ID: id, Type: "fake"})
				g.status(id, runtime.StatusReady)
				v := g.attach(id, runtime.AttachOptions{})
				v.untilText("the end")
				_ = v.Close()
			}
			each := (heap() - before) / n
			t.Logf("%d KiB each", each>>10)
			if each > tt.most {
				t.Errorf("a session takes %d bytes, more than %d", each, tt.most)
			}
		})
	}
}

func heap() uint64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}
