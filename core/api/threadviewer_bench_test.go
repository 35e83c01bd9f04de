package api_test

import (
	"bytes"
	"context"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
)

// lastText ends a benchmark's stream.
const lastText = "the last event"

// viewersEnv makes the test binary a process of viewers: "address count". So the benchmark measures the server alone.
const viewersEnv = "WARDROOM_BENCH_VIEWERS"

// TestViewerProcess is what the benchmark starts as the other side of its sockets.
func TestViewerProcess(t *testing.T) {
	address, number, ok := strings.Cut(os.Getenv(viewersEnv), " ")
	count, err := strconv.Atoi(number)
	if !ok || err != nil {
		t.Skip("only as a process of BenchmarkThreadViewers")
	}
	var viewers sync.WaitGroup
	for range count {
		viewers.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("GET " + threadStreamPath + " HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
				t.Error(err)
				return
			}
			buf, tail := make([]byte, 32<<10), 0
			for {
				n, err := conn.Read(buf[tail:])
				if err != nil {
					t.Error(err)
					return
				}
				have := buf[:tail+n]
				if bytes.Contains(have, []byte(lastText)) {
					return
				}
				tail = copy(buf, have[max(0, len(have)-len(lastText)):])
			}
		})
	}
	viewers.Wait()
}

// BenchmarkThreadViewers shows one thread to viewers over real sockets: at a steady hundred events a second, and as fast
// as it goes. cores is the processor time of the server's process for a second of real time.
func BenchmarkThreadViewers(b *testing.B) {
	for _, c := range []struct {
		name    string
		viewers int
		pace    time.Duration
	}{
		{"300at100", 300, 10 * time.Millisecond},
		{"1000at30", 1000, 33 * time.Millisecond},
		{"300unpaced", 300, 0},
	} {
		b.Run(c.name, func(b *testing.B) { benchViewers(b, c.viewers, c.pace) })
	}
}

func benchViewers(b *testing.B, viewers int, pace time.Duration) {
	clock, g := core.SystemClock{}, newGroup()
	server := api.New(api.Options{
		Patterns: &fakePatterns{}, Executions: &fakeExecutions{}, Timelines: &fakeExecutions{}, Batches: &fakeBatches{}, Agents: &fakeAgents{},
		Idempotency: newKeys(b), Journal: &fakeJournal{}, Clock: clock, IDs: core.NewIDs(clock), Version: "1.2.3",
		Threads: &fakeThreads{follow: func(_ context.Context, _ string, after uint64, _ bool) (core.EventStream, error) {
			return g.subscribe(after), nil
		}},
	})
	h := httptest.NewServer(server.Handler())
	defer h.Close()
	child := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestViewerProcess$")
	child.Env = append(os.Environ(), viewersEnv+"="+h.Listener.Addr().String()+" "+strconv.Itoa(viewers))
	child.Stdout = os.Stderr
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	coretest.WaitFor(b, "the viewers", func() bool { return g.size() == viewers })
	text := `{"text":"` + strings.Repeat("word ", 30) + `","turn":3}`
	tick := time.NewTicker(max(pace, time.Microsecond))
	defer tick.Stop()
	b.ResetTimer()
	before, began := cpuTime(), time.Now()
	for i := range uint64(b.N) {
		if pace > 0 {
			<-tick.C
		}
		if i == uint64(b.N)-1 {
			text = `{"text":"` + lastText + `"}`
		}
		ev := threadEvent(i+1, threadID, core.EventThreadOutput, text)
		ev.Time = time.Now()
		g.publish(ev)
	}
	if err := child.Wait(); err != nil {
		b.Error(err)
	}
	took, cpu := time.Since(began), cpuTime()-before
	b.StopTimer()
	deliveries := float64(b.N * viewers)
	b.ReportMetric(deliveries/took.Seconds(), "deliveries/s")
	b.ReportMetric(float64(cpu)/deliveries, "cpu-ns/delivery")
	b.ReportMetric(cpu.Seconds()/took.Seconds(), "cores")
	h.CloseClientConnections()
	server.Close()
}

// cpuTime is the processor time that this process used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
