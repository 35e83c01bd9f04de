package agentcli

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxTail bounds the scrollback of one repaint, in lines.
const maxTail = 100_000

// Attach implements runtime.Runtime.
func (r *Runtime) Attach(ctx context.Context, id string, opts runtime.AttachOptions) (runtime.Terminal, error) {
	a, err := r.get(id)
	if err != nil {
		return nil, err
	}
	if err := checkAttach(&opts); err != nil {
		return nil, err
	}
	s := a.session()
	if s == nil {
		if a.running() {
			return nil, errUnreachable(id)
		}
		return r.attachStopped(a, opts)
	}
	v := s.display.attach(s, opts)
	if !opts.ReadOnly {
		s.sizes.join(v, opts.Cols, opts.Rows)
	}
	v.detach = context.AfterFunc(ctx, v.shut)
	return v, nil
}

func checkAttach(opts *runtime.AttachOptions) error {
	if opts.Cols < 0 || opts.Rows < 0 || opts.Cols > maxSize || opts.Rows > maxSize {
		return runtime.Errorf(runtime.CodeInvalidArgument, "a terminal of %d columns and %d rows is not within 1..%d", opts.Cols, opts.Rows, maxSize)
	}
	if opts.Tail < 0 {
		e := runtime.Errorf(runtime.CodeInvalidArgument, "%d is negative", opts.Tail)
		e.Field = "tail"
		return e
	}
	opts.Tail = min(opts.Tail, maxTail)
	return nil
}

// attachStopped shows the last screen of an agent that ended.
func (r *Runtime) attachStopped(a *agent, opts runtime.AttachOptions) (runtime.Terminal, error) {
	a.mu.Lock()
	rec := a.rec
	a.mu.Unlock()
	cols, rows := rec.Cols, rec.Rows
	if cols == 0 || rows == 0 {
		cols, rows = defaultCols, defaultRows
	}
	d := newDisplay(&r.o, cols, rows, rec.Base)
	if offset, note := loadScreen(a.dir, rec.Life); note != nil {
		if _, screen, err := decodeNote(note); err == nil {
			if err := d.restore(screen, offset); err != nil {
				r.o.Logger.Warn("the last screen of an agent cannot be shown", "agent", a.id, "error", err)
			}
		}
	}
	exit := cmp.Or(rec.Exit, &runtime.Exit{Reason: rec.Agent.Reason})
	opts.From = nil
	v := d.attach(nil, opts)
	d.finish(exit)
	return v, nil
}

// resize makes the terminal as large as its viewers want it. The screen goes first: what the command draws
// for the new size comes after it.
func (s *session) resize(cols, rows int) {
	s.display.resize(cols, rows)
	ctx, cancel := context.WithTimeout(s.ctx, writeTimeout)
	defer cancel()
	if err := s.proc.Resize(ctx, cols, rows); err != nil && s.ctx.Err() == nil {
		s.logger.Warn("the terminal was not resized", "error", err)
	}
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return strings.Join(quoted, ", ")
}
