package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func containsType(frame []byte, t protocol.Type) bool {
	return bytes.Contains(frame, []byte(`"`+string(t)+`"`))
}

func (b *bench) span(d time.Duration) time.Duration {
	if b.quick {
		return d / 5
	}
	return d
}

// usage is the CPU time of all processes that take part: the core, the agents and this one.
type usage struct{ pids []int }

func (u usage) now() time.Duration {
	total := testbed.CPUTime(os.Getpid())
	for _, pid := range u.pids {
		total += testbed.CPUTime(pid)
	}
	return total
}

// syncExecute runs the whole path: HTTP in, three agents over WebSocket, vote, synced writes, HTTP out.
func (b *bench) syncExecute(ctx context.Context) error {
	s, err := b.serve(ctx, "")
	if err != nil {
		return err
	}
	defer s.stop()
	agents, err := b.withAgents(ctx, s)
	if err != nil {
		return err
	}
	defer stop(agents)
	req := request{method: http.MethodPost, path: "/api/patterns/bench-echo/execute", body: []byte(echoBody), want: http.StatusOK}
	if _, err := fire(ctx, s.Host, 8, b.span(2*time.Second), req); err != nil { // warm-up
		return err
	}
	cpu := usage{[]int{s.PID(), agents.PID()}}
	for _, clients := range []int{1, 16, 64} {
		before, core := cpu.now(), testbed.CPUTime(s.PID())
		l, err := fire(ctx, s.Host, clients, b.span(10*time.Second), req)
		if err != nil {
			return err
		}
		perExec := float64((cpu.now() - before).Microseconds()) / 1000 / float64(l.requests)
		coreShare := float64((testbed.CPUTime(s.PID()) - core).Microseconds()) / 1000 / float64(l.requests)
		name := fmt.Sprintf("sync execute, 3 agents, %d clients", clients)
		ratio := ""
		if b.commitPerSecond > 0 {
			ratio = fmt.Sprintf("%.2f of bare synced commits, one writer", l.perSecond()/b.commitPerSecond)
		}
		rate, p50, p99, perCPU := 0.0, 0.0, 0.0, 0.0
		switch clients {
		case 1:
			p50, p99 = 2, 5
		case 64:
			rate, p99, perCPU = 2500, 60, 0.5
		}
		b.add("sync", name, l.perSecond(), "%.0f/s", rate, false, ratio)
		b.add("sync", name+", p50", l.quantile(.5), "%.2f ms", p50, true, "")
		b.add("sync", name+", p99", l.quantile(.99), "%.2f ms", p99, true, "")
		b.add("sync", name+", CPU each, all processes", perExec, "%.3f ms", perCPU, true, fmt.Sprintf("core alone %.3f ms", coreShare))
	}
	return nil
}

// asyncStart measures durable acknowledgements; the executions run meanwhile.
func (b *bench) asyncStart(ctx context.Context) error {
	s, err := b.serve(ctx, "")
	if err != nil {
		return err
	}
	defer s.stop()
	// No agents: what is measured is the acknowledgement. The queue is bounded, so it is emptied by time.
	if err := s.storePattern(ctx, echoPattern); err != nil {
		return err
	}
	body := `{"input":{"text":"hello"},"options":{"timeout":250}}`
	req := request{method: http.MethodPost, path: "/api/patterns/bench-echo/execute?async=true", body: []byte(body), want: http.StatusAccepted}
	if _, err := fire(ctx, s.Host, 8, b.span(time.Second), req); err != nil {
		return err
	}
	l, err := fire(ctx, s.Host, 64, b.span(5*time.Second), req)
	if err != nil {
		return err
	}
	b.add("async", "async start acknowledged, 64 clients", l.perSecond(), "%.0f/s", 4000, false, "")
	b.add("async", "async start acknowledged, p99", l.quantile(.99), "%.2f ms", 0, true, "")
	return nil
}
