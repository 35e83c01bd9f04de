package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// echo measures how long a key takes to its agent and back to the screen, alone and beside a session that floods.
func (b *bench) echo(ctx context.Context) error {
	keys := 2000
	if b.quick {
		keys = 400
	}
	plain, err := b.plainKeys(ctx, keys)
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	b.add("echo", "plain Go loop, key to echo, p50", plain.quantile(.5), "%.3f ms", 0, true, "the baseline")
	b.add("echo", "plain Go loop, key to echo, p99", plain.quantile(.99), "%.3f ms", 0, true, "the baseline")
	alone, err := b.aloneKeys(ctx, keys)
	if err != nil {
		return fmt.Errorf("runtime server alone: %w", err)
	}
	b.add("echo", "runtime server alone, key to echo, p50", alone.quantile(.5), "%.3f ms", 0, true, "")
	b.add("echo", "runtime server alone, key to echo, p99", alone.quantile(.99), "%.3f ms", 0, true, "")
	m, err := b.serveManaged(ctx)
	if err != nil {
		return err
	}
	defer m.close()
	quiet, err := m.keys(ctx, keys)
	if err != nil {
		return err
	}
	b.add("echo", fmt.Sprintf("key to echo through the core, %d keys, p50", keys), quiet.quantile(.5), "%.3f ms", 0.4, true, fmt.Sprintf("%.1f of the plain loop", quiet.quantile(.5)/plain.quantile(.5)))
	b.add("echo", "key to echo through the core, p99", quiet.quantile(.99), "%.3f ms", 3, true, fmt.Sprintf("%.1f of the plain loop", quiet.quantile(.99)/plain.quantile(.99)))

	flooder, err := m.spawn(ctx, api.ManagedAgentSpec{Type: "shell"})
	if err != nil {
		return err
	}
	// Nobody looks at the flood: what it takes is the holder's and the emulator's work.
	if _, err := m.Client.SendManagedAgent(ctx, flooder.ID, api.ManagedAgentInput{Raw: "yes 'a line of a session that floods'\n"}); err != nil {
		return err
	}
	busy, err := m.keys(ctx, keys)
	if err != nil {
		return err
	}
	b.add("echo", "the same while another session floods, p50", busy.quantile(.5), "%.3f ms", 0.4, true, "")
	b.add("echo", "the same while another session floods, p99", busy.quantile(.99), "%.3f ms", 3, true, "")
	return nil
}

// plainKeys measures the baseline.
func (b *bench) plainKeys(ctx context.Context, n int) (load, error) {
	p, err := b.plainLoop(ctx)
	if err != nil {
		return load{}, err
	}
	defer stop(p)
	v, err := plainView(ctx, p.Address)
	if err != nil {
		return load{}, err
	}
	defer v.Close()
	return v.keys(ctx, n)
}

// aloneKeys measures the runtime server without the core.
func (b *bench) aloneKeys(ctx context.Context, n int) (load, error) {
	s, err := b.serveRuntime(ctx)
	if err != nil {
		return load{}, err
	}
	defer s.close()
	id, err := s.spawnShell(ctx)
	if err != nil {
		return load{}, err
	}
	v, err := view(ctx, s.terminal(id), nil)
	if err != nil {
		return load{}, err
	}
	defer v.Close()
	return v.keys(ctx, n)
}

// keys measures the echo of an agent of its own.
func (m *managed) keys(ctx context.Context, n int) (load, error) {
	a, err := m.spawn(ctx, api.ManagedAgentSpec{Type: "shell"})
	if err != nil {
		return load{}, err
	}
	address, header := m.Client.TerminalRequest(a.ID)
	v, err := view(ctx, address, header)
	if err != nil {
		return load{}, err
	}
	defer v.Close()
	l, err := v.keys(ctx, n)
	if err != nil {
		return l, err
	}
	return l, m.Client.StopManagedAgent(ctx, a.ID, true, 0)
}

// keys types into a program that echoes, one key after the other, a moment apart.
func (v *viewer) keys(ctx context.Context, n int) (load, error) {
	if err := v.quieten(); err != nil {
		return load{}, err
	}
	if err := v.run("stty raw; echo raw-$((40+2)); exec cat -u", "raw-42\n"); err != nil {
		return load{}, err
	}
	var l load
	begun := time.Now()
	for i := range n {
		key := byte('a' + i%26)
		start := time.Now()
		if err := v.Input([]byte{key}); err != nil {
			return l, err
		}
		for {
			frame, err := v.Recv()
			if err != nil {
				return l, err
			}
			if len(frame.Data) == 1 && frame.Data[0] == key {
				break
			}
			if len(frame.Data) > 0 {
				return l, fmt.Errorf("key %d, %q, was echoed as %q", i, key, frame.Data)
			}
		}
		l.latencies = append(l.latencies, time.Since(start))
		// A person's keys do not come at once; and what is measured is not a program that is already awake.
		if err := testbed.Pause(ctx, time.Duration(1+i%5)*time.Millisecond); err != nil {
			return l, err
		}
	}
	l.requests, l.elapsed = n, time.Since(begun)
	slices.Sort(l.latencies)
	return l, nil
}
