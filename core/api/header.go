package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
)

// Values of headers that never change, shared by all answers; they must not be changed.
var (
	nosniff     = []string{"nosniff"}
	noStore     = []string{"no-store"}
	jsonType    = []string{"application/json; charset=utf-8"}
	replayed    = []string{"true"}
	cspNone     = []string{"default-src 'none'; frame-ancestors 'none'"}
	retryAfter5 = []string{"5"}
	oneYear     = []string{"max-age=31536000"}
)

// maxRequestID bounds an X-Request-Id that a client chose.
const maxRequestID = 128

// identify gives the request its id and the answer its standing headers; where callers prove who they are, only those who
// did learn the version, from admit. Keys are in canonical form and
// set directly: Header.Set would canonicalise and allocate for each.
func (c *call) identify() {
	h := c.w.Header()
	if given := c.r.Header["X-Request-Id"]; len(given) == 1 && validRequestID(given[0]) {
		c.id = given[0]
		h["X-Request-Id"] = given
	} else {
		c.id = c.s.opts.IDs.New(core.PrefixRequest)
		h["X-Request-Id"] = []string{c.id}
	}
	if c.s.opts.Authenticate == nil {
		h["X-Service-Version"] = c.s.versionHeader
	}
	h["X-Content-Type-Options"] = nosniff
	h["Content-Security-Policy"] = cspNone
	h["Cache-Control"] = noStore
	if c.config.HSTS && c.r.TLS != nil {
		h["Strict-Transport-Security"] = oneYear
	}
}

func validRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '.', b == '_', b == '-':
		default:
			return false
		}
	}
	return true
}

// single returns the value of a header, and false when it is there more than once.
func single(h http.Header, name string) (string, bool) {
	switch values := h[name]; len(values) {
	case 0:
		return "", true
	case 1:
		return values[0], true
	}
	return "", false
}
