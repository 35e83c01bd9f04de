package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// view reads a terminal all the time and keeps what it saw.
type view struct {
	terminal runtime.Terminal
	cancel   context.CancelFunc
	done     chan struct{} // closed when the terminal has ended

	mu      sync.Mutex // guards all below
	live    []byte     // output after the first repaint, without repaints
	whole   []byte     // everything
	start   uint64     // offset of live
	offset  uint64
	frames  int
	repaint int
	lost    uint64
	cols    int
	rows    int
	exit    *runtime.Exit
	err     error // why it ended
	broken  error // what the frames contradict
	changed chan struct{}
}

// view attaches and waits for the first frame.
func (s *suite) view(ctx context.Context, id string, opts runtime.AttachOptions) (*view, error) {
	inner, cancel := context.WithCancel(ctx)
	terminal, err := s.rt().Attach(inner, id, opts)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("Attach: %w", err)
	}
	v := &view{terminal: terminal, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{})}
	if opts.From != nil {
		v.start, v.offset = *opts.From, *opts.From
	}
	go v.read(opts.From != nil)
	if err := v.wait(ctx, "the first frame", func() bool { return v.frames > 0 }); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// withView is a check of an agent that is ready, and of a view of its terminal.
func withView(check func(ctx context.Context, s *suite, id string, v *view) error) func(context.Context, *suite) error {
	return withAgent(func(ctx context.Context, s *suite, id string) error {
		v, err := s.view(ctx, id, runtime.AttachOptions{})
		if err != nil {
			return err
		}
		defer v.close()
		return check(ctx, s, id, v)
	})
}

func (v *view) read(known bool) {
	defer close(v.done)
	for {
		frame, err := v.terminal.Recv()
		v.mu.Lock()
		if err != nil {
			v.err = err
		} else {
			v.take(&frame, known)
			known = true
		}
		close(v.changed)
		v.changed = make(chan struct{})
		v.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// take keeps a frame. The caller holds mu.
func (v *view) take(f *runtime.Frame, known bool) {
	if v.frames == 0 && (f.Cols == 0 || f.Rows == 0) {
		v.broken = errors.New("the first frame does not tell the terminal's size")
	}
	if v.exit != nil {
		v.broken = errors.New("a frame came after the one with the exit")
	}
	v.frames++
	v.lost += f.Lost
	v.whole = append(v.whole, f.Data...)
	switch {
	case f.Repaint:
		v.repaint++
		v.live, v.start = nil, f.Offset
	case len(f.Data) > 0:
		if begin := f.Offset - uint64(len(f.Data)); !known {
			v.start = begin
		} else if begin != v.offset+f.Lost {
			v.broken = fmt.Errorf("a frame begins at offset %d where %d was due", begin, v.offset+f.Lost)
		}
		v.live = append(v.live, f.Data...)
	}
	v.offset = f.Offset
	if f.Cols != 0 {
		v.cols, v.rows = f.Cols, f.Rows
	}
	if f.Exit != nil {
		v.exit = f.Exit
	}
}

// wait waits until the view fulfils a condition, which is asked under mu.
func (v *view) wait(ctx context.Context, what string, condition func() bool) error {
	for {
		v.mu.Lock()
		met, broken, err, changed := condition(), v.broken, v.err, v.changed
		v.mu.Unlock()
		switch {
		case broken != nil:
			return broken
		case met:
			return nil
		case err != nil:
			return fmt.Errorf("the terminal ended with %w before %s came; it shows %q", err, what, v.tail(300))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s did not come; the terminal shows %q", what, v.tail(300))
		}
	}
}

// until waits for text.
func (v *view) until(ctx context.Context, text string) error {
	return v.wait(ctx, fmt.Sprintf("%q", text), func() bool { return strings.Contains(string(v.whole), text) })
}

// at returns the offset of what was seen last.
func (v *view) at() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.offset
}

func (v *view) tail(n int) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return string(v.whole[max(0, len(v.whole)-n):])
}

// output returns live output and where it begins.
func (v *view) output() (string, uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return string(v.live), v.start
}

// close lets go of the terminal and waits for its end.
func (v *view) close() {
	_ = v.terminal.Close()
	v.cancel()
	<-v.done
}

// ended reports whether the terminal ended after Close or a cancelled context, and how.
func (v *view) ended() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		return errors.New("it goes on")
	}
	return nil
}

// escapes finds control sequences.
//
//nolint:gocritic // the ranges are those of the standard
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[()][A-Z0-9]|\x1b[=>78M]")

// plain returns the lines of output without control sequences.
func plain(output string) []string {
	return strings.Split(strings.ReplaceAll(escapes.ReplaceAllString(output, ""), "\r", ""), "\n")
}
