package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// guard reports whether a request may be answered at all.
func (s *Server) guard(r *http.Request, public bool) error {
	if !s.knownHost(r.Host) {
		return &httpError{http.StatusMisdirectedRequest, codeValidation, &runtime.Error{
			Code: runtime.CodeInvalidArgument, Field: "Host", Message: "the server is not known under this name",
			Hint: "call it as localhost or by its address",
		}}
	}
	if !s.allowedOrigin(r) {
		return &httpError{http.StatusForbidden, "FORBIDDEN", &runtime.Error{
			Code: runtime.CodeForbidden, Field: "Origin", Message: "web pages of this origin may not call the server",
			Hint: "allow the origin in the server's configuration",
		}}
	}
	if public || s.o.Token == "" {
		return nil
	}
	given := bearer(r)
	switch {
	case given == "":
		return unauthorized("a token is needed: Authorization: Bearer TOKEN")
	case !equal(given, s.o.Token):
		return unauthorized("the token is wrong")
	}
	return nil
}

func unauthorized(text string) error {
	return &httpError{http.StatusUnauthorized, "UNAUTHORIZED", runtime.Errorf(runtime.CodeForbidden, "%s", text)}
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	if websocket.IsWebSocketUpgrade(r) {
		return terminal.Token(r)
	}
	return ""
}

// equal compares in a time that does not depend on where, or in length, the two differ.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// knownHost refuses names that a foreign page may have pointed at a loopback address. With a token that does
// not matter: the page does not have it.
func (s *Server) knownHost(header string) bool {
	if s.o.Token != "" {
		return true
	}
	host := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	return loopback(host) || slices.ContainsFunc(s.o.Hosts, func(known string) bool { return strings.EqualFold(known, host) })
}

// allowedOrigin reports whether a browser's page may call. Programs send no Origin.
func (s *Server) allowedOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	if slices.ContainsFunc(s.o.Origins, func(allowed string) bool { return strings.EqualFold(allowed, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}
