package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// sessions measures what a hundred idle shells cost besides themselves, and how soon they are back after the
// plugin was killed.
func (b *bench) sessions(ctx context.Context) error {
	n := 100
	if b.quick {
		n = 20
	}
	m, err := b.serveManaged(ctx)
	if err != nil {
		return err
	}
	defer m.close()
	plugin, err := m.plugin(ctx)
	if err != nil {
		return err
	}
	// The first session of a plugin pays for what all share.
	if _, err := m.spawn(ctx, api.ManagedAgentSpec{Type: "shell"}); err != nil {
		return err
	}
	before, beforeCore := private(plugin), private(m.PID())
	shells := make([]*shell, n)
	for i := range shells {
		a, err := m.spawn(ctx, api.ManagedAgentSpec{Type: "shell"})
		if err != nil {
			return fmt.Errorf("shell %d: %w", i, err)
		}
		shells[i] = &shell{ManagedAgent: a, number: i}
	}
	if err := testbed.Pause(ctx, b.span(10*time.Second)); err != nil { // idle: garbage is collected, buffers are let go
		return err
	}
	var pss, own float64
	for _, s := range shells {
		holder := testbed.Parent(s.PID)
		pss += memory(holder, "Pss")
		own += private(holder)
	}
	each := func(x float64) float64 { return x / float64(n) }
	growth := private(plugin) - before
	b.add("sessions", fmt.Sprintf("memory of a session without its shell, %d shells", n), each(pss+growth), "%.2f MiB", 4, true,
		fmt.Sprintf("holder %.2f (private %.2f), plugin %.2f", each(pss), each(own), each(growth)))
	b.add("sessions", "growth of the core with each", each(private(m.PID())-beforeCore), "%.2f MiB", 0, true, "")
	return b.adoption(ctx, m, plugin, shells)
}

// shell is an agent whose output is known.
type shell struct {
	*api.ManagedAgent
	number int
	from   uint64 // offset of the pattern
}

// pattern is what the shell printed: as much as the ring holds, nearly.
const patternLines = 5000

func (s *shell) command() string {
	return fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "shell %d line $i of a pattern that is known"; i=$((i+1)); done; echo end-$((40+2))`, patternLines, s.number)
}

func (s *shell) pattern() []byte {
	var p bytes.Buffer
	for i := range patternLines {
		fmt.Fprintf(&p, "shell %d line %d of a pattern that is known\r\n", s.number, i)
	}
	return p.Bytes()
}

// adoption kills the plugin and measures the time until every agent can be attached again.
func (b *bench) adoption(ctx context.Context, m *managed, plugin int, shells []*shell) error {
	for _, s := range shells {
		if err := s.print(ctx, m); err != nil {
			return fmt.Errorf("agent %s: %w", s.ID, err)
		}
	}
	killed := time.Now()
	if err := syscall.Kill(plugin, syscall.SIGKILL); err != nil {
		return os.NewSyscallError("kill the plugin", err)
	}
	// The core may not have seen it yet: what is attached to the dead plugin does not count.
	if err := testbed.Until(ctx, 10*time.Second, "the plugin is gone", func(ctx context.Context) (bool, error) { return testbed.Executable(plugin) == "", nil }); err != nil {
		return err
	}
	var wg sync.WaitGroup
	back, failed := make([]time.Duration, len(shells)), make([]error, len(shells))
	whole := make([]bool, len(shells))
	gate := make(chan struct{}, 16)
	for i, s := range shells {
		wg.Add(1)
		go func() {
			defer wg.Done()
			gate <- struct{}{}
			defer func() { <-gate }()
			t, err := s.reattach(ctx, m)
			if err != nil {
				failed[i] = fmt.Errorf("agent %s: %w", s.ID, err)
				return
			}
			defer t.Close()
			back[i] = time.Since(killed)
			whole[i], failed[i] = s.compare(t)
		}()
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	last, lost := time.Duration(0), 0
	for i := range shells {
		last = max(last, back[i])
		if !whole[i] {
			lost++
		}
	}
	b.add("sessions", fmt.Sprintf("plugin kill -9: the last of %d shells is attached again", len(shells)), last.Seconds()*1000, "%.0f ms", 1000, true, "")
	b.zero("sessions", "shells whose ring lost a byte of what they had printed", lost, fmt.Sprintf("%d bytes in each", len(shells[0].pattern())))
	return nil
}

// print lets the shell write its pattern, and notes where that begins.
func (s *shell) print(ctx context.Context, m *managed) error {
	address, header := m.Client.TerminalRequest(s.ID)
	v, err := view(ctx, address, header)
	if err != nil {
		return err
	}
	defer v.Close()
	if err := v.quieten(); err != nil {
		return err
	}
	s.from = v.offset
	return v.run(s.command(), "end-42\r\n")
}

// reattach attaches at the pattern as soon as that works.
func (s *shell) reattach(ctx context.Context, m *managed) (t *terminal.Terminal, err error) {
	address, header := m.Client.TerminalRequest(s.ID)
	// The terminal lives with the context that it was dialled with: that of one try is over before it is read.
	err = testbed.Until(ctx, 30*time.Second, "the agent can be attached", func(context.Context) (bool, error) {
		var failed error
		t, failed = terminal.Dial(ctx, address, runtime.AttachOptions{From: &s.from, ReadOnly: true}, terminal.DialOptions{Header: header})
		return failed == nil, nil
	})
	return t, err
}

// compare reads the pattern from the ring.
func (s *shell) compare(t *terminal.Terminal) (bool, error) {
	want := s.pattern()
	var got []byte
	for len(got) < len(want) {
		frame, err := t.Recv()
		if err != nil {
			return false, err
		}
		if frame.Repaint || frame.Lost > 0 {
			return false, nil
		}
		got = append(got, frame.Data...)
	}
	return strings.HasPrefix(string(got), string(want)), nil
}
