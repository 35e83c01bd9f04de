package agentcli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// gauge remembers the last measurement, from which the next one tells the share of time. Safe for concurrent use.
type gauge struct {
	mu  sync.Mutex
	cpu time.Duration
	at  time.Time
}

// share returns the percentage of one core since the last call, or since start.
func (g *gauge) share(cpu time.Duration, now, start time.Time) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	since, used := now.Sub(start), cpu
	if !g.at.IsZero() {
		since, used = now.Sub(g.at), cpu-g.cpu
	}
	g.cpu, g.at = cpu, now
	if since <= 0 || used < 0 {
		return 0
	}
	return 100 * used.Seconds() / since.Seconds()
}

// Metrics implements runtime.Runtime.
func (r *Runtime) Metrics(ctx context.Context, id string) (runtime.Metrics, error) {
	a, err := r.get(id)
	if err != nil {
		return runtime.Metrics{}, err
	}
	s := a.session()
	if s == nil {
		return runtime.Metrics{}, a.notRunning()
	}
	var m runtime.Metrics
	asked := make(chan struct{})
	if !s.mail.post(func() {
		m.MessagesSent, m.LastResponseMs = s.delivery.sent, s.fusion.lastMs
		close(asked)
	}) {
		return runtime.Metrics{}, a.notRunning()
	}
	select {
	case <-asked:
	case <-ctx.Done():
		return runtime.Metrics{}, runtime.Errorf(runtime.CodeTimeout, "the agent was not measured in time")
	}
	now := r.o.Now()
	m.UptimeSeconds = max(0, now.Sub(s.started).Seconds())
	meter, ok := s.proc.(Meter)
	if !ok {
		return m, nil
	}
	usage, err := meter.Usage(ctx)
	switch {
	case errors.Is(err, ErrGone):
		return runtime.Metrics{}, a.notRunning()
	case err != nil:
		return runtime.Metrics{}, launchError(r, id, "measure", err)
	}
	m.CPUPercent = s.gauge.share(usage.CPU, now, s.started)
	m.MemoryBytes, m.MemoryLimitBytes = usage.MemoryBytes, usage.MemoryLimitBytes
	return m, nil
}
