package conformance

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var outputChecks = []check[*suite]{
	{"output/complete", "over more than 1 MiB of output a viewer that reads gets every byte, in order", false, withView(outputComplete)},
	{"output/resume", "a viewer that comes back with its offset gets exactly what it missed", false, withView(outputResume)},
	{"output/unicode", "frames are cut only at the border of characters", false, withAgent(outputUnicode)},
	{"output/exit", "when the agent ends, a frame says how, and then the terminal ends", false, withView(outputExit)},
}

func outputComplete(ctx context.Context, _ *suite, _ string, v *view) error {
	const (
		step  = 4000 // numbers of a piece: under 32 KiB, so that it fits any ring
		total = 1 << 20
	)
	begin := v.at()
	next := 1
	for v.at()-begin < total {
		// The empty line first: a shell that was typed to before its prompt prints that in front of the output.
		if err := v.terminal.Input([]byte(fmt.Sprintf("echo; seq %d %d; echo end-$((%d))\r", next, next+step-1, next))); err != nil {
			return fmt.Errorf("Input: %w", err)
		}
		// The whole of a piece is waited for: a viewer that lags may lose output, and this one does not.
		if err := v.until(ctx, fmt.Sprintf("\nend-%d\r", next)); err != nil {
			return err
		}
		next += step
	}
	text, _ := v.output()
	want := 1
	for _, line := range plain(text) {
		n, err := strconv.Atoi(line)
		if err != nil {
			continue // a prompt, an echo
		}
		if n != want {
			return fmt.Errorf("line %d came where %d was due", n, want)
		}
		want++
	}
	if want != next {
		return fmt.Errorf("the output ends with line %d instead of %d", want-1, next-1)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lost > 0 || v.repaint > 1 {
		return fmt.Errorf("a viewer that reads lost %d bytes and got %d repaints", v.lost, v.repaint)
	}
	return nil
}

func outputResume(ctx context.Context, s *suite, id string, all *view) error {
	if err := run(ctx, all, "echo one-$((1))", "one-1\r"); err != nil {
		return err
	}
	gone, err := s.view(ctx, id, runtime.AttachOptions{})
	if err != nil {
		return err
	}
	from := gone.at()
	gone.close()
	if err := run(ctx, all, "echo two-$((2))", "two-2\r"); err != nil {
		return err
	}
	back, err := s.view(ctx, id, runtime.AttachOptions{From: &from})
	if err != nil {
		return err
	}
	defer back.close()
	if err := back.until(ctx, "two-2\r"); err != nil {
		return err
	}
	text, start := back.output()
	whole, base := all.output()
	if back.repaint > 0 || start != from {
		return fmt.Errorf("a viewer that comes back at offset %d within what is kept got %d repaints and output from %d on", from, back.repaint, start)
	}
	if from < base || uint64(len(whole)) < from-base {
		return fmt.Errorf("offset %d is outside of the output that another viewer saw, from %d on", from, base)
	}
	if missed := whole[from-base:]; !strings.HasPrefix(missed, text) && !strings.HasPrefix(text, missed) {
		return fmt.Errorf("what the viewer missed is %q and it got %q", missed, text)
	}
	return nil
}

// run types a command and waits for a text that its output has and the command has not.
func run(ctx context.Context, v *view, command, text string) error {
	if err := v.terminal.Input([]byte(command + "\r")); err != nil {
		return fmt.Errorf("Input: %w", err)
	}
	return v.until(ctx, text)
}

func outputUnicode(ctx context.Context, s *suite, id string) error {
	terminal, err := s.rt().Attach(ctx, id, runtime.AttachOptions{})
	if err != nil {
		return fmt.Errorf("Attach: %w", err)
	}
	defer func() { _ = terminal.Close() }()
	// More than fits into one frame, and three bytes a character: a cut at any round number of bytes is inside of
	// one two times of three.
	if err := terminal.Input([]byte(`i=0; while [ $i -lt 4200 ]; do printf '\342\202\254\342\202\254\342\202\254\342\202\254\342\202\254\342\202\254\342\202\254\342\202\254'; i=$((i+1)); done; echo; echo end-$((7))` + "\r")); err != nil {
		return fmt.Errorf("Input: %w", err)
	}
	var seen strings.Builder
	for !strings.Contains(seen.String(), "end-7\r") {
		frame, err := terminal.Recv()
		if err != nil {
			return fmt.Errorf("Recv: %w", err)
		}
		if strings.ToValidUTF8(string(frame.Data), "?") != string(frame.Data) {
			return fmt.Errorf("a frame of %d bytes cuts a character", len(frame.Data))
		}
		seen.Write(frame.Data)
	}
	return nil
}

func outputExit(ctx context.Context, _ *suite, _ string, v *view) error {
	if err := v.terminal.Input([]byte("exit 5\r")); err != nil {
		return fmt.Errorf("Input: %w", err)
	}
	if err := v.wait(ctx, "the exit", func() bool { return v.exit != nil }); err != nil {
		return err
	}
	if v.exit.Code != 5 {
		return fmt.Errorf("the exit code is %d and should be 5", v.exit.Code)
	}
	return eventually(ctx, v.ended)
}
