package api

import (
	"bytes"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Comments of a stream.
var (
	commentHeartbeat = []byte(": heartbeat\n\n")
	commentEnd       = []byte(": the server ends this stream; reconnect with Last-Event-ID\n\n")
)

// streamHeaders are those of every event stream. A connection that is to end with the answer stays so.
func streamHeaders(h http.Header) {
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-cache"}
	if _, decided := h["Connection"]; !decided {
		h["Connection"] = []string{"keep-alive"}
	}
	h["X-Accel-Buffering"] = []string{"no"}
}

// frameWriter writes frames to one reader. A reader that stopped reading must not hold its goroutine, so the connection
// has a stall limit; where it has none, each write has a deadline, which ends readers that are merely slow as well.
type frameWriter struct {
	c       *call
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	limited bool      // the connection has a stall limit
	renewed time.Time // when the deadline was set last
	retry   []byte    // the field with the reconnect delay, which goes with the first event; nil once it went
}

func newFrameWriter(c *call) *frameWriter {
	// Below the router's writer, whose Flush takes for granted that the next one can flush; the controller
	// looks through every wrapper.
	var w http.ResponseWriter = c.w
	if u, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		w = u.Unwrap()
	}
	f := &frameWriter{c: c, w: w, control: http.NewResponseController(w), timeout: c.config.WriteTimeout}
	f.limited = f.limitStall(f.timeout)
	return f
}

// limitStall sets the stall limit of the connection, 0 that of the listener, and reports whether it has any.
func (f *frameWriter) limitStall(limit time.Duration) bool {
	limitStall := f.c.s.opts.LimitStall
	return limitStall != nil && limitStall(f.c.r.Context(), limit)
}

// begin sends the headers. The reconnect delay goes with the first event, behind its other fields: a client may take the
// first block of a stream, and its first line, for those of its first event.
func (f *frameWriter) begin(requestID string) {
	f.headers()
	f.retry = appendRetry(nil, requestID)
	_ = f.control.Flush()
}

// headers sends the headers; they leave with the first frame.
func (f *frameWriter) headers() {
	streamHeaders(f.c.w.Header())
	f.c.w.WriteHeader(http.StatusOK)
	f.deadline()
	f.c.w.WriteHeaderNow()
}

// appendRetry appends the field with the reconnect delay, which differs by request so that readers who lost the
// server together do not come back together.
func appendRetry(b []byte, requestID string) []byte {
	h := fnv.New32a()
	_, _ = h.Write([]byte(requestID))
	b = strconv.AppendUint(append(b, "retry: "...), uint64(1000+h.Sum32()%4000), 10)
	return append(b, '\n')
}

// withRetry adds a field to the end of the first frame.
func withRetry(frames, field []byte) []byte {
	end := bytes.Index(frames, []byte("\n\n"))
	if end < 0 {
		return frames
	}
	return slices.Concat(frames[:end+1], field, frames[end+1:])
}

// maxWrite is about how many bytes of frames are written together.
const maxWrite = 64 << 10

// writeEvents writes the frame of an event and of those that wait behind it, in one write: a reader that is behind
// catches up at the price of few system calls. It returns false when the reader is gone or too slow.
func (f *frameWriter) writeEvents(ev core.Event, waiting poller, render func(core.Event) []byte) bool {
	frame := render(ev)
	more := false
	if waiting != nil {
		ev, more = waiting.Poll()
	}
	if !more {
		return frame == nil || f.write(frame)
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	buf.Write(frame)
	for more {
		buf.Write(render(ev))
		if buf.Len() >= maxWrite {
			break
		}
		ev, more = waiting.Poll()
	}
	return buf.Len() == 0 || f.write(buf.Bytes())
}

// write sends frames and returns false when the reader is gone or too slow.
func (f *frameWriter) write(frames []byte) bool {
	f.deadline()
	if f.c.masks() {
		frames = maskFrames(f.c.s.opts.Mask, frames)
	}
	if f.retry != nil && frames[0] != ':' { // not a comment
		frames = withRetry(frames, f.retry)
		f.retry = nil
	}
	n, err := f.w.Write(frames)
	f.c.streamed += n
	if err != nil {
		return false
	}
	return f.control.Flush() == nil
}

// deadline bounds the next write in real time: the network knows no other. Setting it costs more than a small write,
// so it is renewed once in a while only, and a write has up to that much less.
func (f *frameWriter) deadline() {
	if f.limited {
		return
	}
	now := time.Now()
	if now.Sub(f.renewed) < min(time.Second, f.timeout/4) {
		return
	}
	f.renewed = now
	_ = f.control.SetWriteDeadline(now.Add(f.timeout))
}

// close leaves the connection usable for the next request.
func (f *frameWriter) close() {
	if f.limited {
		f.limitStall(0)
		return
	}
	_ = f.control.SetWriteDeadline(time.Time{})
}
