package fakemodel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// converse answers a prompt in the way of its API.
func (x *exchange) converse(d dialect) {
	x.entry.API = d.api
	user, results := d.read(x.body.node)
	x.turn = turn{user, results, ParseDirectives(user)}
	schema, side := d.side(x.body.node)
	if side {
		x.step = step{kind: kindSide, text: compact(instance(schema, "", 0))}
	} else {
		x.step = x.turn.next(d.offers(x.body.node))
	}
	if wrong := x.turn.directives.Fail != 0 || x.turn.directives.Cut != nil; wrong && x.server.goesWrong(user, side, x.turn.directives.Times) {
		if x.turn.directives.Fail != 0 {
			x.step = step{kind: kindFail}
		}
		x.cut = x.turn.directives.Cut != nil && x.step.kind == kindText
	}
	x.entry.User, x.entry.Results, x.entry.Kind = user, len(results), string(x.step.kind)
	for _, key := range []string{"messages", "input", "contents"} { // each API has one of them
		x.entry.Entries += len(x.body.node.get(key).list())
	}
	x.begin()
	defer x.end()
	x.server.dump(x.entry.Seq, d.api, x.body.node)
	if !side && !x.keepBack() {
		return
	}
	if x.step.kind == kindFail {
		x.fail(failure(x.turn.directives.Fail, x.turn.directives.Why))
		return
	}
	d.write(x)
}

// goesWrong reports whether a request is one of those that FAIL and CUT concern, and counts it. Side questions count only
// where every request is concerned: how many of them a program asks is not the test's matter.
func (s *Server) goesWrong(user string, side bool, times int) bool {
	if times == 0 {
		return true
	}
	return !side && s.wrong.more(user, times)
}

// keepBack waits as HOLD and HANG ask. It reports whether there is still somebody to answer.
func (x *exchange) keepBack() bool {
	d := x.turn.directives
	if d.Hold != nil {
		ctx, cancel := context.WithTimeoutCause(x.request.Context(), x.server.options.MaxHold, errHeldTooLong)
		defer cancel()
		x.err = x.server.gate.pass(ctx, *d.Hold)
		if x.err != nil && errors.Is(context.Cause(ctx), errHeldTooLong) {
			x.err = nil
			x.fail(&refusal{http.StatusGatewayTimeout, "timeout_error",
				fmt.Sprintf("fakemodel: HOLD[%s] was not released within %s", truncate(*d.Hold, 100), x.server.options.MaxHold)})
			return false
		}
	}
	x.pause(d.Hang)
	return x.err == nil
}

var errHeldTooLong = errors.New("held too long")

// failure is the error that FAIL asks for.
func failure(status int, why string) error {
	kind := "api_error"
	switch status {
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusForbidden:
		kind = "permission_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case 529: // Anthropic's own
		kind = "overloaded_error"
	}
	message := fmt.Sprintf("fakemodel: FAIL[%d] asked for", status)
	if why != "" {
		message += ": " + why
	}
	return &refusal{status, kind, message}
}

// googleStatus is the name that Gemini gives to an HTTP status.
func googleStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	}
	return "INTERNAL"
}
