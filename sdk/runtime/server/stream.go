package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/netlimit"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const streamWrite = 30 * time.Second // for a reader to take what was sent

// item is one entry of a stream.
type item struct {
	id    string // or empty
	event string
	data  any
}

// stream writes items as server-sent events or JSON lines.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	lines   bool
	limited bool // the connection ends by itself when the reader takes nothing
	buf     bytes.Buffer
}

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	st := &stream{w: w, control: http.NewResponseController(w), limited: netlimit.LimitStall(r.Context(), 0)}
	for accept := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if media, _, err := mime.ParseMediaType(accept); err == nil && media == "application/x-ndjson" {
			st.lines = true
		}
	}
	kind := "text/event-stream"
	if st.lines {
		kind = "application/x-ndjson"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return st
}

// add puts an item into the buffer.
func (st *stream) add(i item) error {
	data, err := encode(i.data)
	if err != nil {
		return err
	}
	if !st.lines {
		if i.id != "" {
			st.buf.WriteString("id: " + i.id + "\n")
		}
		st.buf.WriteString("event: " + i.event + "\ndata: ")
	}
	st.buf.Write(data)
	st.buf.WriteByte('\n')
	if !st.lines {
		st.buf.WriteByte('\n')
	}
	return nil
}

// beat keeps the connection from looking dead.
func (st *stream) beat() {
	if st.lines {
		st.buf.WriteByte('\n')
		return
	}
	st.buf.WriteString(": keep-alive\n\n")
}

// flush sends the buffer. A reader that does not read is given up.
func (st *stream) flush() error {
	if st.buf.Len() > 0 {
		if !st.limited {
			if err := st.control.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
		}
		if _, err := st.w.Write(st.buf.Bytes()); err != nil {
			return err
		}
		st.buf.Reset()
	}
	return st.control.Flush()
}

// follow writes what next returns until it ends, with heartbeats. cancel must make next return.
func (s *Server) follow(ctx context.Context, cancel func(), st *stream, next func() (item, error)) error {
	items := make(chan item, 64)
	end := make(chan error, 1)
	go func() { // joined by draining items, which it closes
		defer close(items)
		for {
			i, err := next()
			if err != nil {
				end <- err
				return
			}
			select {
			case items <- i:
			case <-ctx.Done():
				end <- ctx.Err()
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range items { // drains until the goroutine ends
		}
	}()
	if err := st.flush(); err != nil {
		return err
	}
	ticker := time.NewTicker(s.o.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case i, ok := <-items:
			if !ok {
				return s.finish(ctx, st, <-end)
			}
			if err := st.add(i); err != nil {
				return err
			}
			if len(items) > 0 && st.buf.Len() < 64<<10 {
				continue
			}
		case <-ticker.C:
			st.beat()
		}
		if err := st.flush(); err != nil {
			return err
		}
	}
}

// finish says why a stream ends: without a word it would look complete.
func (s *Server) finish(ctx context.Context, st *stream, err error) error {
	last := item{event: "end", data: struct{}{}}
	if ctx.Err() != nil {
		gone := runtime.Errorf(runtime.CodeUnavailable, "the runtime server goes down")
		gone.Retry = true
		err = gone
	}
	if !errors.Is(err, io.EOF) {
		_, what := body(err)
		last = item{event: "error", data: what}
	} else if st.lines {
		return st.flush()
	}
	if err := st.add(last); err != nil {
		return err
	}
	return st.flush()
}
