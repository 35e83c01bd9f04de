package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// scripted is a server that answers its requests by the handlers given, one after the other, and the last one
// for ever.
func scripted(t *testing.T, handlers ...http.HandlerFunc) (*caller, *atomic.Int32) {
	t.Helper()
	var served atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(served.Add(1)) - 1
		handlers[min(n, len(handlers)-1)](w, r)
	}))
	t.Cleanup(srv.Close)
	c := newCaller(srv.URL)
	t.Cleanup(c.http.CloseIdleConnections)
	return c, &served
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// die breaks the connection over the request, as a kill does.
func die(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestCallBearsTheServerBeingAway(t *testing.T) {
	for _, tt := range []struct {
		name, method, key string
		handlers          []http.HandlerFunc
		want, served      int
		err               error
	}{
		{"Answer", "POST", "", []http.HandlerFunc{status(202, "{}")}, 202, 1, nil},
		{"Busy", "POST", "", []http.HandlerFunc{status(503, "{}"), status(429, "{}"), status(202, "{}")}, 202, 3, nil},
		{"DiedOverKey", "POST", "k", []http.HandlerFunc{die, die, status(202, "{}")}, 202, 3, nil},
		{"DiedOverRead", "GET", "", []http.HandlerFunc{die, status(200, "{}")}, 200, 2, nil},
		{"DiedWithoutKey", "POST", "", []http.HandlerFunc{die, status(202, "{}")}, 0, 1, errLost},
		{"Refused", "POST", "k", []http.HandlerFunc{status(409, "{}")}, 409, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, served := scripted(t, tt.handlers...)
			r, err := c.call(t.Context(), tt.method, "/x", tt.key, []byte("{}"))
			if !errors.Is(err, tt.err) || (err == nil && r.status != tt.want) {
				t.Errorf("got %d, %v", r.status, err)
			}
			if n := int(served.Load()); n != tt.served {
				t.Errorf("served %d requests, want %d", n, tt.served)
			}
		})
	}
}

func TestCallIsBounded(t *testing.T) {
	c, _ := scripted(t, status(503, `{"error":{"code":"INTERNAL_ERROR"}}`))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := c.call(ctx, "GET", "/x", "", nil); err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Fatalf("got %v", err)
	}
	nobody := newCaller("http://127.0.0.1:1")
	if _, err := nobody.call(ctx, "GET", "/x", "", nil); err == nil {
		t.Fatal("nobody answered and there is no error")
	}
}

func TestGet(t *testing.T) {
	c, _ := scripted(t, status(200, `{"a":1}`), status(404, `{}`), status(500, `{"error":{"code":"INTERNAL_ERROR"}}`), status(200, `{`))
	var v struct{ A int }
	if _, found, err := c.get(t.Context(), "/x", &v); !found || err != nil || v.A != 1 {
		t.Fatalf("found %v, %v, %v", found, err, v)
	}
	if _, found, err := c.get(t.Context(), "/x", &v); found || err != nil {
		t.Fatalf("404: found %v, %v", found, err)
	}
	var unexpected *unexpectedError
	if _, _, err := c.get(t.Context(), "/x", &v); !errors.As(err, &unexpected) || !strings.Contains(err.Error(), "500") {
		t.Fatalf("500: %v", err)
	}
	if _, _, err := c.get(t.Context(), "/x", &v); err == nil {
		t.Fatal("half an answer is no error")
	}
}
