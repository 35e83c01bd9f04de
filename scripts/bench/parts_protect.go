package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// protect compares executions with the audit trail, and with encryption at rest, with those of a plain server, in turns.
func (b *bench) protect(ctx context.Context) error {
	key := filepath.Join(b.dir, "bench-store.key")
	if out, err := exec.CommandContext(ctx, b.binary, "store", "key", "new", key).CombinedOutput(); err != nil {
		return fmt.Errorf("store key new: %w: %s", err, out)
	}
	const plain = "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\n"
	kinds := []struct{ name, config string }{
		{"plain", plain},
		{"audited", plain + "security: {audit: {enabled: true, level: standard}}\n"},
		{"encrypted", plain + "security: {encryption: {atRest: {enabled: true, file: " + key + "}}}\n"},
	}
	sides := make([]*side, len(kinds))
	defer func() {
		for _, s := range sides {
			if s != nil {
				s.end()
			}
		}
	}()
	for i, k := range kinds {
		dir, err := os.MkdirTemp(b.dir, k.name+"-")
		if err != nil {
			return err
		}
		s, err := started(ctx, func() (*testbed.Server, error) { return testbed.NewServer(b.binary, dir, k.config) })
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		sides[i] = &side{server: s}
		if sides[i].agents, err = b.withAgents(ctx, s); err != nil {
			return err
		}
	}
	req := request{method: http.MethodPost, path: "/api/patterns/bench-echo/execute", body: []byte(echoBody), want: http.StatusOK}
	const rounds = 9
	// Of each round the ratio to the plain side: what the machine does beside hits both.
	rates, cpus := make([][]float64, len(kinds)), make([][]float64, len(kinds))
	costs := make([][]float64, len(kinds))
	for round := range rounds + 1 {
		rate, cpu := make([]float64, len(kinds)), make([]float64, len(kinds))
		for n := range kinds {
			i := (n + round) % len(kinds) // none is always the first
			s := sides[i]
			before := testbed.CPUTime(s.PID())
			l, err := fire(ctx, s.Host, 16, b.span(2*time.Second), req)
			if err != nil {
				return err
			}
			rate[i], cpu[i] = l.perSecond(), float64((testbed.CPUTime(s.PID())-before).Microseconds())/float64(l.requests)
		}
		if round == 0 {
			continue // warm-up
		}
		for i := range kinds {
			rates[i], cpus[i] = append(rates[i], rate[i]/rate[0]), append(cpus[i], cpu[i])
			costs[i] = append(costs[i], cpu[i]-cpu[0])
		}
	}
	for i, k := range kinds {
		slices.Sort(rates[i])
		slices.Sort(cpus[i])
		slices.Sort(costs[i])
		middle := len(rates[i]) / 2
		if i == 0 {
			b.add("protect", "sync execute, CPU of a plain core", cpus[i][middle], "%.0f us", 0, true, "")
			continue
		}
		b.add("protect", "sync execute, "+k.name, rates[i][middle], "%.2f", 0.85, false,
			fmt.Sprintf("of a plain server, rounds from %.2f to %.2f", rates[i][0], rates[i][len(rates[i])-1]))
		target := 0.0
		if k.name == "audited" {
			target = 40
		}
		b.add("protect", "sync execute, "+k.name+", CPU of the core beyond that", costs[i][middle], "%.0f us", target, true, "")
	}
	return nil
}
