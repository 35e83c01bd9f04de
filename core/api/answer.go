package api

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// answer is the response of a handler, before it is written.
type answer struct {
	status     int
	location   string
	body       any    // encoded as JSON, unless raw is set
	raw        []byte // the body as it is; aliases nothing that changes
	edited     any    // what of body a caller can change, where it holds more than that, such as counts; nil: all of it
	typ        string // content type of raw; empty: JSON
	retryAfter []string
	replayed   bool
	kept       any // what a repeat gets in place of a body that must not be stored; nil: the same
}

func ok(body any) answer { return answer{status: http.StatusOK, body: body} }

// shown answers with what a service method returned.
func shown[T any](found T, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return ok(found), nil
}

// decoded makes the handler of an operation of what handle does with the body of its request.
func decoded[T any](handle func(c *call, req T) (answer, error)) func(c *call) (answer, error) {
	return func(c *call) (answer, error) {
		var req T
		if err := c.decode(&req); err != nil {
			return answer{}, err
		}
		return handle(c, req)
	}
}

// getOne makes the handler of an operation that answers with what find returns of the id in a path.
func getOne[T any](param string, find func(ctx context.Context, id string) (*T, error)) func(c *call) (answer, error) {
	return func(c *call) (answer, error) {
		return shown(find(c.ctx, c.param(param)))
	}
}

// removeOne makes the handler of an operation that ends what has the id in a path. It is done even if the caller goes.
func removeOne(param string, end func(ctx context.Context, id string) error) func(c *call) (answer, error) {
	return func(c *call) (answer, error) {
		if err := end(c.detached(), c.param(param)); err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusNoContent}, nil
	}
}

// recoverOne makes the Recover of an operation that creates: it answers a repeat whose first answer was never given with what
// find returns, as answerOf has it.
func recoverOne[T any](find func(ctx context.Context, id string) (*T, error), answerOf func(found *T) answer) func(c *call, id string) (answer, error) {
	return func(c *call, id string) (answer, error) {
		found, err := find(c.ctx, id)
		if err != nil {
			return answer{}, err
		}
		return answerOf(found), nil
	}
}

func created(location string, body any) answer {
	return answer{status: http.StatusCreated, location: location, body: body}
}

func accepted(location string, body any) answer {
	return answer{status: http.StatusAccepted, location: location, body: body}
}

var buffers = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, 4096)) }}

// maxPooled keeps one large answer from staying in memory for good.
const maxPooled = 1 << 20

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		b.Reset()
		buffers.Put(b)
	}
}

func (c *call) respond(a answer) {
	if body, ok := a.body.(errorBody); ok {
		c.code = core.Code(body.Error.Code)
	}
	if a.status < http.StatusBadRequest && (a.raw != nil || a.body != nil) && a.typ == "" && c.masks() {
		a.raw = c.s.opts.Mask.Mask(a.bytesOf())
	}
	if strings.HasPrefix(a.location, "/") { // one of ours
		a.location = c.s.opts.Prefix + a.location
	}
	writeAnswer(c.w, c, a)
}

// writeAnswer sends an answer in one write with its length. c shapes it; nil: it goes out as it is.
func writeAnswer(w http.ResponseWriter, c *call, a answer) {
	h := w.Header()
	if a.location != "" {
		h["Location"] = []string{a.location}
	}
	if a.retryAfter != nil {
		h["Retry-After"] = a.retryAfter
	}
	if a.replayed {
		h["Idempotent-Replayed"] = replayed
	}
	body := a.raw
	if body == nil && a.body != nil {
		buf := buffers.Get().(*bytes.Buffer)
		defer putBuffer(buf)
		encodeBody(buf, a.body)
		body = buf.Bytes()
	}
	status := a.status
	if c != nil && body != nil {
		buf := buffers.Get().(*bytes.Buffer)
		defer putBuffer(buf)
		status, body = c.shape(a, body, buf)
	}
	if body == nil {
		w.WriteHeader(status)
		return
	}
	if a.typ != "" {
		h["Content-Type"] = []string{a.typ}
	} else {
		h["Content-Type"] = jsonType
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	// A failed write means that the client left: the error has no reader.
	_, _ = w.Write(body)
}

// bytesOf renders the body of an answer into memory of its own.
func (a answer) bytesOf() []byte {
	if a.raw != nil || a.body == nil {
		return a.raw
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	encodeBody(buf, a.body)
	return bytes.Clone(buf.Bytes())
}
