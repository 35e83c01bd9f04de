package fakemodel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// exchange is one request and its answer, whatever the API. One goroutine uses it.
type exchange struct {
	server  *Server
	request *http.Request
	w       http.ResponseWriter
	control *http.ResponseController
	entry   *Request // changed through server.log only
	body    body
	turn    turn
	step    step
	cut     bool  // the answer breaks off, as CUT asks
	err     error // the first one of writing or waiting; nothing is written after it
}

// errCut ends an answer that CUT breaks off.
var errCut = errors.New("cut")

// reply answers with a whole JSON document.
func (x *exchange) reply(status int, v any) {
	data := []byte(compact(v))
	x.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	x.head(status, "application/json")
	if x.entry.Method == http.MethodHead {
		return
	}
	if x.cut && x.err == nil {
		x.write(data[:len(data)/2])
		x.err = errCut
		return
	}
	x.write(data)
}

// head writes the header, and notes when the program gets the first byte.
func (x *exchange) head(status int, contentType string) {
	if x.err != nil {
		return
	}
	x.server.log.update(func() { x.entry.Status, x.entry.FirstNs = status, x.server.now() })
	x.w.Header().Set("Content-Type", contentType)
	x.w.Header().Set("Request-Id", x.id("req_", x.entry.Path))
	x.w.WriteHeader(status)
}

// write sends bytes at once, and notes the time before.
func (x *exchange) write(data []byte) {
	if x.err != nil {
		return
	}
	x.server.log.mark(func() { x.entry.LastNs = x.server.now() })
	_ = x.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a connection without deadlines is a test's own
	if _, x.err = x.w.Write(data); x.err == nil {
		x.err = x.control.Flush()
	}
}

// stream begins a stream of server-sent events.
func (x *exchange) stream() {
	x.w.Header().Set("Cache-Control", "no-cache")
	x.head(http.StatusOK, "text/event-stream")
}

// event sends one event; without a name it is data only.
func (x *exchange) event(name string, v any) {
	line := "data: " + compact(v) + "\n\n"
	if name != "" {
		line = "event: " + name + "\n" + line
	}
	x.write([]byte(line))
}

// pause waits, unless the program goes.
func (x *exchange) pause(d time.Duration) {
	if x.err == nil && d > 0 {
		x.err = x.server.options.Wait(x.request.Context(), d)
	}
}

// text sends a text piece by piece.
func (x *exchange) text(text string, send func(piece string, last bool)) {
	slow := x.turn.directives.Slow
	if x.step.kind == kindSide {
		slow = nil
	}
	d := x.turn.directives
	switch {
	case x.step.kind == kindSide:
	case x.cut:
		at := middle(text, *d.Cut)
		x.pieces(text[:at], slow, func(piece string, _ bool) { send(piece, false) })
		x.pause(d.Stall)
		if x.err == nil {
			x.err = errCut
		}
		return
	case d.Stall > 0:
		at := middle(text, -1)
		x.pieces(text[:at], slow, func(piece string, _ bool) { send(piece, false) })
		x.pause(d.Stall)
		text = text[at:]
	}
	x.pieces(text, slow, send)
}

// pieces sends a text as pieces; the last one may be empty.
func (x *exchange) pieces(text string, slow *time.Duration, send func(piece string, last bool)) {
	parts := pieces(text, slow, x.server.options.ChunkDelay)
	for i, part := range parts {
		send(part.text, i == len(parts)-1)
		x.pause(part.pause)
	}
}

// id makes an identifier that is the same in each run with the same requests.
func (x *exchange) id(prefix, seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return fmt.Sprintf("%s%s%06d", prefix, hex.EncodeToString(sum[:5]), x.server.ids.Add(1))
}

// inputTokens and outputTokens are what the answer is said to cost.
func (x *exchange) inputTokens() int  { return tokens(x.body.size) }
func (x *exchange) outputTokens() int { return tokens(len(x.step.text)) }

// thinks reports whether a thinking block comes first.
func (x *exchange) thinks() bool { return x.turn.directives.Think && x.step.kind == kindText }
