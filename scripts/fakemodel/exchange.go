package fakemodel

import (
	"crypto/sha256"
	"encoding/hex"
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
	err     error // the first one of writing or waiting; nothing is written after it
}

// reply answers with a whole JSON document.
func (x *exchange) reply(status int, v any) {
	data := []byte(compact(v))
	x.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	x.head(status, "application/json")
	if x.entry.Method != http.MethodHead {
		x.write(data)
	}
}

// head writes the header, and notes when the program gets the first byte.
func (x *exchange) head(status int, contentType string) {
	if x.err != nil {
		return
	}
	x.server.log.mark(func() { x.entry.Status, x.entry.FirstNs = status, x.server.now() })
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

// thinks tells whether a thinking block comes first.
func (x *exchange) thinks() bool { return x.turn.directives.Think && x.step.kind == kindText }
