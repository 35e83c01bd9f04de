package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"

	api "github.com/wardroom/wardroom/sdk/client"
)

// idleAgents holds 5,000 connected agents that only send heartbeats.
func (b *bench) idleAgents(ctx context.Context) error {
	s, err := b.serve(ctx, "")
	if err != nil {
		return err
	}
	defer s.stop()
	if err := testbed.Pause(ctx, time.Second); err != nil {
		return err
	}
	b.add("idle", "RSS of a fresh core", rss(s.PID()), "%.0f MiB", 60, true, "")
	const agents = 5000
	p, err := b.play(ctx, "agents", "-idle", "-n", fmt.Sprint(agents), "-server", s.URL)
	if err != nil {
		return err
	}
	defer stop(p)
	list, err := s.Client.ListAgents(ctx, api.AgentFilter{Page: api.Page{Limit: 1}})
	if err != nil {
		return err
	}
	span := b.span(30 * time.Second)
	if err := testbed.Pause(ctx, b.span(10*time.Second)); err != nil { // let the connects settle
		return err
	}
	before := testbed.CPUTime(s.PID())
	if err := testbed.Pause(ctx, span); err != nil {
		return err
	}
	share := 100 * (testbed.CPUTime(s.PID()) - before).Seconds() / span.Seconds()
	b.add("idle", "agents connected", float64(list.Connected), "%.0f", agents, false, "")
	b.add("idle", "RSS with 5,000 idle agents", rss(s.PID()), "%.0f MiB", 250, true, "")
	b.add("idle", "CPU with 5,000 idle agents, of a core", share, "%.1f %%", 5, true, "")
	return nil
}

// manyRows lists and starts over 1,000 and over 1,000,000 stored executions.
func (b *bench) manyRows(ctx context.Context) error {
	many := 1_000_000
	if b.quick {
		many = 100_000
	}
	var p99 [2]float64
	for i, n := range []int{1000, many} {
		name := fmt.Sprintf("rows-%d", n)
		if err := seed(ctx, filepath.Join(b.dir, name), n); err != nil {
			return fmt.Errorf("store %d executions: %w", n, err)
		}
		s, err := b.serve(ctx, name)
		if err != nil {
			return err
		}
		ready := s.Took
		req := request{method: http.MethodGet, path: "/api/executions?pattern=seeded-3&status=completed", body: nil, want: http.StatusOK}
		if _, err := fire(ctx, s.Host, 1, b.span(time.Second), req); err != nil {
			return err
		}
		l, err := fire(ctx, s.Host, 1, b.span(5*time.Second), req)
		if err != nil {
			return err
		}
		p99[i] = l.quantile(.99)
		label := fmt.Sprintf("%d executions stored", n)
		b.add("rows", "list page by pattern and status, p50, "+label, l.quantile(.5), "%.2f ms", 0, true, "")
		b.add("rows", "list page by pattern and status, p99, "+label, p99[i], "%.2f ms", 0, true, "")
		limit := 0.0
		if n == many {
			limit = 1000
		}
		b.add("rows", "cold start to ready, "+label, float64(ready.Milliseconds()), "%.0f ms", limit, true, "")
		b.add("rows", "memory after that, "+label, anonymous(s.PID()), "%.0f MiB", 0, true,
			fmt.Sprintf("%.0f MiB with mapped files", rss(s.PID())))
		if err := s.Stop(testbed.ReadyLimit); err != nil {
			return err
		}
	}
	b.add("rows", "p99 of a page with many rows against 1,000", p99[1]/p99[0], "%.2f", 2, true, "")
	return nil
}
