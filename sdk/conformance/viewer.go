package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var viewerChecks = []check[*suite]{
	{"viewer/two", "two viewers see the same output", false, withView(viewerTwo)},
	{"viewer/stalled", "a viewer that does not read holds up neither the agent nor other viewers, and catches up", false, withAgent(viewerStalled)},
	{"viewer/read-only", "a read-only viewer sees everything and types nothing", false, withAgent(viewerReadOnly)},
	{"viewer/resize", "a size in bounds is taken and told; one out of bounds is INVALID_ARGUMENT", false, viewerResize},
}

func viewerTwo(ctx context.Context, s *suite, id string, first *view) error {
	second, err := s.view(ctx, id, runtime.AttachOptions{})
	if err != nil {
		return err
	}
	defer second.close()
	if err := run(ctx, first, "seq 1 500; echo end-$((8))", "end-8\r"); err != nil {
		return err
	}
	if err := second.until(ctx, "end-8\r"); err != nil {
		return err
	}
	a, startA := first.output()
	b, startB := second.output()
	start := max(startA, startB)
	if start-startA > uint64(len(a)) || start-startB > uint64(len(b)) {
		return fmt.Errorf("the viewers have no output in common: from %d and from %d on", startA, startB)
	}
	a, b = a[start-startA:], b[start-startB:]
	if n := min(len(a), len(b)); a[:n] != b[:n] {
		return fmt.Errorf("the viewers saw different output from offset %d on", start)
	}
	return nil
}

func viewerStalled(ctx context.Context, s *suite, id string) error {
	stalled, err := s.rt().Attach(ctx, id, runtime.AttachOptions{})
	if err != nil {
		return fmt.Errorf("Attach: %w", err)
	}
	defer func() { _ = stalled.Close() }()
	v, err := s.view(ctx, id, runtime.AttachOptions{})
	if err != nil {
		return err
	}
	defer v.close()
	// More than any queue between the two ends is likely to hold.
	if err := run(ctx, v, "seq 1 600000; echo end-$((9))", "end-9\r"); err != nil {
		return err
	}
	until := v.at()
	for {
		frame, err := stalled.Recv()
		if err != nil {
			return fmt.Errorf("the viewer that stalled cannot go on: %w", err)
		}
		if frame.Offset >= until {
			return nil
		}
	}
}

func viewerReadOnly(ctx context.Context, s *suite, id string) error {
	reader, err := s.view(ctx, id, runtime.AttachOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer reader.close()
	if err := wantCode("Input of a read-only viewer", reader.terminal.Input([]byte("echo sneaked-$((1))\r")), runtime.CodeForbidden); err != nil {
		return err
	}
	writer, err := s.view(ctx, id, runtime.AttachOptions{})
	if err != nil {
		return err
	}
	defer writer.close()
	if err := run(ctx, writer, "echo seen-$((2))", "seen-2\r"); err != nil {
		return err
	}
	if err := reader.until(ctx, "seen-2\r"); err != nil {
		return err
	}
	if strings.Contains(reader.tail(1<<20), "sneaked") {
		return fmt.Errorf("what a read-only viewer typed reached the agent")
	}
	return nil
}

func viewerResize(ctx context.Context, s *suite) error {
	capabilities, err := s.rt().Capabilities(ctx)
	if err != nil {
		return fmt.Errorf("Capabilities: %w", err)
	}
	if !capabilities.Resize {
		return skip("the runtime cannot resize terminals")
	}
	agent, err := s.agent(ctx)
	if err != nil {
		return err
	}
	defer s.drop(ctx, agent.ID)
	v, err := s.view(ctx, agent.ID, runtime.AttachOptions{})
	if err != nil {
		return err
	}
	defer v.close()
	for _, size := range [][2]int{{0, 24}, {80, 0}, {-1, -1}, {100_000, 24}, {80, 1001}} {
		if err := wantCode(fmt.Sprintf("Resize(%d, %d)", size[0], size[1]), v.terminal.Resize(size[0], size[1]), runtime.CodeInvalidArgument); err != nil {
			return err
		}
	}
	// Only who types may have a say.
	if err := run(ctx, v, "echo typed-$((3))", "typed-3\r"); err != nil {
		return err
	}
	if err := v.terminal.Resize(101, 31); err != nil {
		return fmt.Errorf("Resize: %w", err)
	}
	if err := v.wait(ctx, "a frame with the size 101x31", func() bool { return v.cols == 101 && v.rows == 31 }); err != nil {
		return err
	}
	late, err := s.view(ctx, agent.ID, runtime.AttachOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer late.close()
	return late.wait(ctx, "the size in a viewer that came later", func() bool { return late.cols == 101 && late.rows == 31 })
}
