package api

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/wardroom/wardroom/core"
)

// call is one request on its way through its route. It is pooled: nothing may keep it after serve.
type call struct {
	s         *Server
	route     *boundRoute
	config    *Config
	gc        *gin.Context
	w         gin.ResponseWriter
	r         *http.Request
	id        string // request id
	principal core.Principal
	origin    string          // the address that the request comes from, as it is counted by
	ctx       context.Context // the request's, with the principal
	query     query
	body      []byte
	hasBody   bool
	params    [2]string
	code      core.Code         // of the error that was answered
	revision  uint64            // of what authorization goes by, as it was before the request was admitted
	granted   []Access          // what was asked for and allowed, of a stream
	watched   *watch            // of a stream whose caller may lose the right to it
	streamed  int               // bytes of the answer that the router does not know of
	logged    bool              // the request has its line in the log
	trace     core.TraceContext // its place in a trace, and its caller's
	caller    core.TraceContext
	watching  bool              // the ticket of a terminal is for looking on alone
	deciding  time.Duration     // spent on decisions about rows of lists
	intent    *core.AuditIntent // what the request is about to do; nil: nothing that is recorded
}

var calls = sync.Pool{New: func() any { return new(call) }}

// serve runs one request through its route. It is the one place where a request gets its id, headers,
// principal and authorization, and where its errors and panics end.
func (s *Server) serve(gc *gin.Context, route *boundRoute) {
	began := s.opts.Clock.Now()
	c := calls.Get().(*call)
	*c = call{s: s, route: route, config: s.config.Load(), gc: gc, w: gc.Writer, r: gc.Request}
	defer func() {
		if p := recover(); p != nil {
			s.recovered(c, p, began)
		}
		took := s.opts.Clock.Now().Sub(began)
		s.logAccess(c, took)
		c.leaveTrace(began, took)
		if route.Stream != nil {
			took = -1
		}
		route.observe(c.w.Status(), took)
		if !c.logged {
			s.logServed(c)
		}
		*c = call{}
		calls.Put(c)
	}()
	c.identify()
	if err := c.run(); err != nil {
		if refused := c.recordFailure(err); refused != nil {
			err = refused
		}
		c.fail(err)
	}
}

// logServed writes the line of a request: one that was refused shows without being asked for.
func (s *Server) logServed(c *call) {
	status := c.w.Status()
	switch {
	case status == statusClientLeft:
		s.log.Debug("client left", "request", c.id, "operation", c.route.OperationID)
	case status >= http.StatusBadRequest:
		kind := refusal{c.route.OperationID, status, c.code, c.principal.ID, c.origin}
		kind.principal = cmp.Or(kind.principal, core.Anonymous.ID) // it was refused before anybody asked who that is
		if kind.address == "" {
			kind.address, _, _ = net.SplitHostPort(c.r.RemoteAddr)
		}
		s.logRefused(c.id, kind)
	case s.log.IsDebug():
		s.log.Debug("request served", "request", c.id, "operation", c.route.OperationID, "status", status, "principal", c.principal.ID)
	}
}

// recovered ends a request whose handler panicked. A stream that has begun is cut, since its reader could
// not tell a broken answer from a whole one.
func (s *Server) recovered(c *call, p any, began time.Time) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		s.logAccess(c, s.opts.Clock.Now().Sub(began))
		panic(p)
	}
	s.opts.Metrics.Panicked()
	c.logged = true
	s.log.Error("request panicked", "request", c.id, "operation", c.route.OperationID, "panic", p,
		"stack", string(debug.Stack()))
	if c.w.Written() {
		s.logAccess(c, s.opts.Clock.Now().Sub(began))
		panic(http.ErrAbortHandler)
	}
	c.respond(errorAnswer(core.Errorf(core.CodeInternal, "internal error"), c.id))
}

// run does everything up to the answer.
func (c *call) run() error {
	if err := c.s.checkHost(c.config, c.r); err != nil {
		return err
	}
	if err := c.checkOrigin(); err != nil {
		return err
	}
	if err := c.admit(); err != nil {
		return err
	}
	if c.route.Stream != nil {
		release, err := c.hold()
		if err != nil {
			return err
		}
		defer release()
	}
	if err := c.readParams(); err != nil {
		return err
	}
	if err := c.readQuery(); err != nil {
		return err
	}
	if err := c.checkSelection(); err != nil {
		return err
	}
	if err := c.readBody(); err != nil {
		return err
	}
	if err := c.intend(); err != nil {
		return err
	}
	if c.route.Stream != nil {
		if c.intent == nil {
			if err := c.done(); err != nil {
				return err
			}
		}
		defer c.watch()()
		err := c.route.Stream(c)
		if err == nil && c.intent != nil {
			if recErr := c.done(); recErr != nil { // it is answered already
				c.s.log.Warn("an audit record was not kept", "request", c.id, "error", recErr)
			}
		}
		return err
	}
	if c.route.Creates {
		if key, err := c.idempotencyKey(); err != nil {
			return err
		} else if key != "" {
			return c.once(key)
		}
	}
	a, err := c.route.Handle(c)
	if err == nil {
		err = c.done()
	}
	if err != nil {
		return err
	}
	c.respond(a)
	return nil
}

// admit finds out who calls and whether they may.
func (c *call) admit() error {
	c.principal = core.Anonymous
	if err := c.admitOrigin(); err != nil {
		return err
	}
	o := &c.s.opts
	if o.Revision != nil {
		c.revision = o.Revision()
	}
	open := c.route.Public != nil && c.route.Public(*c.config)
	authenticate := (*call).authenticate
	if c.route.Authenticate != nil {
		authenticate = c.route.Authenticate
	}
	if !open && (o.Authenticate != nil || c.route.Authenticate != nil) {
		p, err := authenticate(c)
		if err != nil {
			return cmp.Or(c.takeQuota(), err)
		}
		c.principal = p
		c.w.Header()["X-Service-Version"] = c.s.versionHeader
		if err := c.signedIn(); err != nil {
			return err
		}
	}
	c.ctx = core.WithPrincipal(c.r.Context(), c.principal)
	if !open {
		c.enterTrace()
	}
	if err := c.takeQuota(); err != nil {
		return err
	}
	if open || o.Authorize == nil {
		return nil
	}
	access := Access{Action: c.route.Action, Resource: c.route.Resource, Scope: c.route.Scope}
	if len(c.route.paramNames) > 0 {
		access.ID, _ = c.unescaped(c.route.paramNames[0])
		if strings.HasPrefix(c.route.Path, patternsPath) {
			access.Pattern = access.ID
		}
	}
	return c.authorize(access)
}

// authenticate returns who sends the request: everyone is core.Anonymous while no security is configured.
func (c *call) authenticate() (core.Principal, error) {
	if c.s.opts.Authenticate == nil {
		return core.Anonymous, nil
	}
	return c.s.opts.Authenticate(c.r)
}

// patternsPath is what paths begin with whose first parameter names a pattern.
const patternsPath = "/api/patterns/"

// authorize asks whether the caller may do something.
func (c *call) authorize(a Access) error {
	if err := c.s.opts.Authorize(c.ctx, c.principal, a); err != nil {
		return err
	}
	switch {
	case c.watched != nil:
		c.s.watches.also(c.watched, a)
	case c.route.Stream != nil:
		c.granted = append(c.granted, a)
	}
	return nil
}

// mayAlso asks whether the caller may do what only some requests of the route ask for. The action is one of innerActions.
func (c *call) mayAlso(name string) error {
	if c.s.opts.Authorize == nil {
		return nil
	}
	a := c.s.action(name)
	access := Access{Action: name, Resource: a.resource, Scope: a.scope}
	if len(c.route.paramNames) > 0 {
		access.ID = c.params[0]
	}
	return c.authorize(access)
}

// mayIn asks whether the caller may do what the route does within an execution that the body or the query names.
func (c *call) mayIn(executionID string) error {
	if c.s.opts.Authorize == nil || !core.ValidID(core.PrefixExecution, executionID) {
		return nil // what is no id of an execution is refused as such
	}
	return c.authorize(Access{Action: c.route.Action, Resource: "executions", Scope: c.route.Scope, ID: executionID})
}

// mayUse refuses a workspace in a body that the caller could not read by its id.
func (c *call) mayUse(workspaceID string) error {
	if c.s.opts.Authorize == nil || !core.ValidID(core.PrefixWorkspace, workspaceID) {
		return nil // what is no id of a workspace is refused as such
	}
	return c.authorize(Access{Action: c.route.Action, Resource: "workspaces", Scope: c.route.Scope, ID: workspaceID})
}

// Bounds of what stands in the path of a request, in bytes: a name or id, and a path of its own, of a file or a step.
const (
	maxName = 256
	maxPath = 4096
)

// longest bounds a parameter of the path, in bytes.
func longest(param string) int {
	if param == "path" {
		return maxPath
	}
	return maxName
}

// readParams takes the parameters out of the path.
func (c *call) readParams() error {
	for i, name := range c.route.paramNames {
		value, ok := c.unescaped(name)
		switch {
		case value == "": // the router takes an empty segment for a parameter
			return routeNotFound(c)
		case !ok || !utf8.ValidString(value):
			return core.Invalid(name, "must be percent-encoded UTF-8")
		case len(value) > longest(name):
			return core.Invalid(name, "must be at most %d bytes, not %d", longest(name), len(value))
		}
		for _, r := range value {
			if r < 0x20 || r == 0x7f {
				return core.Invalid(name, "must not hold control characters")
			}
		}
		c.params[i] = value
	}
	return nil
}

// unescaped returns a path parameter. The router matched the escaped path only if it differs from the
// plain one, so it must not be unescaped twice.
func (c *call) unescaped(name string) (string, bool) {
	value := c.gc.Param(name)
	if c.r.URL.RawPath == "" {
		return value, true
	}
	plain, err := url.PathUnescape(value)
	return plain, err == nil
}

// param returns a path parameter.
func (c *call) param(name string) string {
	for i, have := range c.route.paramNames {
		if have == name {
			return c.params[i]
		}
	}
	panic("api: route " + c.route.OperationID + " has no path parameter " + name)
}

// detached returns a context with the request's values that outlives it: a client that leaves must not
// undo work that it was about to be given, nor stop an execution.
func (c *call) detached() context.Context { return context.WithoutCancel(c.ctx) }
