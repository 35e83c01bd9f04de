package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// terminals measures how fast the output of an agent reaches its viewers.
func (b *bench) terminals(ctx context.Context) error {
	text, err := b.textFile()
	if err != nil {
		return err
	}
	plain, err := b.plainRate(ctx, text)
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	b.add("terminal", "plain Go loop, PTY to one WebSocket", plain, "%.1f MB/s", 0, false, "the baseline")
	against := func(rate float64) string { return fmt.Sprintf("%.2f of the plain loop", rate/plain) }

	alone, err := b.aloneRate(ctx, text)
	if err != nil {
		return fmt.Errorf("runtime server alone: %w", err)
	}
	b.add("terminal", "runtime server alone to one viewer", alone.rate(), "%.1f MB/s", 60, false, against(alone.rate()))
	b.add("terminal", "skipped for that viewer", float64(alone.lost), "%.0f bytes", 0, true, "")

	m, err := b.serveManaged(ctx)
	if err != nil {
		return err
	}
	defer m.close()
	one, cpu, err := m.bestOf(ctx, text, 3)
	if err != nil {
		return err
	}
	b.add("terminal", "through plugin and core to one viewer", one.rate(), "%.1f MB/s", 45, false, against(one.rate()))
	b.add("terminal", "skipped for that viewer", float64(one.lost), "%.0f bytes", 0, true, cpu)
	return b.manyViewers(ctx, m, text, one.rate())
}

// manyViewers measures nine viewers, and nine with a tenth that never reads.
func (b *bench) manyViewers(ctx context.Context, m *managed, text *flood, one float64) error {
	var agent [2]float64
	for i, stalled := range []int{0, 1} {
		all, err := m.crowd(ctx, text, 9, stalled)
		if err != nil {
			return fmt.Errorf("nine viewers: %w", err)
		}
		var sum, lost float64
		slowest, took := all[0].rate(), time.Duration(0)
		for _, d := range all {
			sum += d.rate()
			lost += float64(d.lost)
			slowest = min(slowest, d.rate())
			took = max(took, d.elapsed)
		}
		agent[i] = float64(text.size) / 1e6 / took.Seconds()
		name := "nine viewers"
		if stalled > 0 {
			name += " and one that never reads"
		}
		b.add("terminal", name+", all that is delivered", sum, "%.1f MB/s", 0, false, "")
		b.add("terminal", name+", the slowest of the nine", slowest, "%.1f MB/s", 0, false,
			fmt.Sprintf("%.2f of one alone; %.1f %% skipped", slowest/one, 100*lost/float64(text.size)/9))
		b.add("terminal", name+", speed of the agent", agent[i], "%.1f MB/s", 0, false, fmt.Sprintf("%.2f of one alone", agent[i]/one))
	}
	b.add("terminal", "speed of the agent with the stalled viewer against without", agent[1]/agent[0], "%.2f", 0.9, false, "")
	return nil
}

// plainRate measures the baseline: the best of three.
func (b *bench) plainRate(ctx context.Context, text *flood) (best float64, err error) {
	p, err := b.plainLoop(ctx)
	if err != nil {
		return 0, err
	}
	defer stop(p)
	for range 3 {
		v, err := plainView(ctx, p.Address)
		if err != nil {
			return 0, err
		}
		d, err := v.cat(text)
		_ = v.Close()
		if err != nil {
			return 0, err
		}
		best = max(best, d.rate())
	}
	return best, nil
}

// aloneRate measures the runtime server, started by hand: the best of three.
func (b *bench) aloneRate(ctx context.Context, text *flood) (best delivered, err error) {
	s, err := b.serveRuntime(ctx)
	if err != nil {
		return best, err
	}
	defer s.close()
	id, err := s.spawnShell(ctx)
	if err != nil {
		return best, err
	}
	for range 3 {
		d, err := oneViewer(ctx, s.terminal(id), nil, text)
		if err != nil {
			return best, err
		}
		if d.rate() > best.rate() {
			best = d
		}
	}
	return best, nil
}

// bestOf measures one viewer through everything, some times, and returns the best with the CPU time it took.
func (m *managed) bestOf(ctx context.Context, text *flood, times int) (best delivered, cpu string, err error) {
	a, err := m.spawn(ctx, api.ManagedAgentSpec{Type: "shell"})
	if err != nil {
		return best, "", err
	}
	plugin, err := m.plugin(ctx)
	if err != nil {
		return best, "", err
	}
	address, header := m.Client.TerminalRequest(a.ID)
	pids := map[string]int{"core": m.PID(), "plugin": plugin, "holder": testbed.Parent(a.PID), "viewer": os.Getpid()}
	for range times {
		before := map[string]time.Duration{}
		for name, pid := range pids {
			before[name] = testbed.CPUTime(pid)
		}
		d, err := oneViewer(ctx, address, header, text)
		if err != nil {
			return best, "", err
		}
		if d.rate() > best.rate() {
			best = d
			var parts []string
			for _, name := range []string{"holder", "plugin", "core", "viewer"} {
				used := testbed.CPUTime(pids[name]) - before[name]
				parts = append(parts, fmt.Sprintf("%s %.1f", name, used.Seconds()*1e9/float64(text.size)))
			}
			cpu = "CPU ns per byte: " + strings.Join(parts, ", ")
		}
	}
	return best, cpu, m.Client.StopManagedAgent(ctx, a.ID, true, 0)
}

// oneViewer lets a shell write the text to one viewer.
func oneViewer(ctx context.Context, address string, header http.Header, text *flood) (delivered, error) {
	v, err := view(ctx, address, header)
	if err != nil {
		return delivered{}, err
	}
	defer v.Close()
	return v.cat(text)
}

// crowd lets a shell write the text to some viewers that read, and some that do not.
func (m *managed) crowd(ctx context.Context, text *flood, reading, stalled int) ([]delivered, error) {
	a, err := m.spawn(ctx, api.ManagedAgentSpec{Type: "shell"})
	if err != nil {
		return nil, err
	}
	address, header := m.Client.TerminalRequest(a.ID)
	first, err := view(ctx, address, header)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	if err := first.quieten(); err != nil {
		return nil, err
	}
	views := []*viewer{first}
	for len(views) < reading+stalled {
		v, err := view(ctx, address, header)
		if err != nil {
			return nil, err
		}
		defer v.Close() //nolint:gocritic // at most a dozen
		views = append(views, v)
	}
	start := time.Now()
	if err := first.Input([]byte("cat " + text.path + "\n")); err != nil {
		return nil, err
	}
	from := first.offset
	all, failed := make([]delivered, reading), make([]error, reading)
	var wg sync.WaitGroup
	for i, v := range views[:reading] {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if all[i], failed[i] = v.follow(from, from+text.size, start); failed[i] == nil {
				failed[i] = text.check(all[i])
			}
		}()
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return all, m.Client.StopManagedAgent(ctx, a.ID, true, 0)
}
