package api

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// editing keeps editors of one thing apart, by the thing's path: what one of them compares with its If-Match is not changed by
// another before its own change is stored.
type editing struct {
	mu   sync.Mutex // guards all below
	held map[string]*edit
}

// edit is the lock of one path, and how many hold or want it.
type edit struct {
	held chan struct{} // has one element while it is held
	n    int
}

// lock waits until no other editor has the path. Who leaves waits no longer: that is the error of ctx.
func (e *editing) lock(ctx context.Context, path string) (unlock func(), err error) {
	e.mu.Lock()
	if e.held == nil {
		e.held = map[string]*edit{}
	}
	one := e.held[path]
	if one == nil {
		one = &edit{held: make(chan struct{}, 1)}
		e.held[path] = one
	}
	one.n++
	e.mu.Unlock()
	leave := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if one.n--; one.n == 0 {
			delete(e.held, path)
		}
	}
	select {
	case one.held <- struct{}{}:
		return func() {
			<-one.held
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// edits returns the handler of an operation that changes or ends a thing, which goes ahead only while the thing has the tag of the
// caller's If-Match. now answers as a GET of the thing does.
func edits(now, change func(c *call) (answer, error)) func(c *call) (answer, error) {
	return func(c *call) (answer, error) {
		done, err := c.unchanged(func() (answer, error) { return now(c) })
		if err != nil {
			return answer{}, err
		}
		defer done()
		return change(c)
	}
}

// edited returns the path of the thing that is edited: that of the request, without what the route does to it, such as /pause.
func (c *call) edited() string {
	path := c.r.URL.Path
	if at := strings.LastIndexByte(c.route.Path, '/'); !strings.HasSuffix(c.route.Path, "}") {
		path = strings.TrimSuffix(path, c.route.Path[at:])
	}
	return path
}

// unchanged returns an error unless the thing still has the tag of the caller's If-Match, and keeps other editors from changing it
// until done is called. current returns what a GET of the thing answers now; without the header it is not called. What of it changes by itself,
// such as counts, is not compared.
//
// Our tags are weak, for bodies travel compressed and plain; they are compared weakly here too, since equal bytes are what an
// editor looked at.
func (c *call) unchanged(current func() (answer, error)) (done func(), err error) {
	given := c.r.Header["If-Match"]
	unlock, err := c.s.editing.lock(c.ctx, c.edited())
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		return unlock, nil
	}
	kept := false
	defer func() {
		if !kept {
			unlock()
		}
	}()
	now, err := current()
	if err == nil {
		body := now.bytesOf()
		if c.masks() {
			body = c.s.opts.Mask.Mask(body)
		}
		tag := c.tag(now, body)
		if kept = matchesEdited(given, tag); kept {
			return unlock, nil
		}
		c.w.Header()["Etag"] = []string{tag}
	}
	if err != nil && core.ErrorCode(err) != core.CodeNotFound {
		return nil, err
	}
	return nil, withStatus(http.StatusPreconditionFailed, &core.Error{
		Code:    core.CodeConflict,
		Message: "it is not what If-Match names any more: read it again, and make your change to what it is now",
		Details: map[string]any{"field": "If-Match", "reason": "names another state"},
	})
}
