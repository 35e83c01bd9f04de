package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

func TestError(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		answer(400, `{"error":{"code":"VALIDATION_ERROR","message":"definition: bad","details":{"field":"agents.min",
			"errors":[{"path":"agents.min","line":4,"reason":"must be at least 1"},{"path":"name","reason":"is missing"},7]}},
			"requestId":"req_body"}`)(w, r)
	})
	_, err := newClient(t, s.URL, client.Options{}).GetPattern(t.Context(), "x", "")
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatalf("err = %T %v", err, err)
	}
	if e.Status != 400 || e.Code != client.CodeValidation || e.RequestID != "req_body" || e.RetryAfter != 7*time.Second {
		t.Errorf("error = %+v", e)
	}
	if e.Error() != "VALIDATION_ERROR: definition: bad" {
		t.Errorf("text = %q", e.Error())
	}
	var lines []string
	for _, p := range e.Problems() {
		lines = append(lines, p.String())
	}
	if got := strings.Join(lines, "; "); got != "line 4: agents.min: must be at least 1; name: is missing" {
		t.Errorf("problems = %s", got)
	}
}

func TestErrorWithoutEnvelope(t *testing.T) {
	for status, code := range map[int]string{
		301: client.CodeInternal, 400: client.CodeValidation, 401: client.CodeUnauthorized, 403: client.CodeForbidden,
		404: client.CodeNotFound, 408: client.CodeTimeout, 409: client.CodeConflict, 413: client.CodeValidation,
		429: client.CodeRateLimited, 500: client.CodeInternal, 502: client.CodeInternal,
	} {
		s := newServer(t, answer(status, "<html>proxy</html>"))
		_, err := newClient(t, s.URL, client.Options{}).CreatePattern(t.Context(), client.PatternInput{})
		var e *client.Error
		if !errors.As(err, &e) || e.Code != code || e.Status != status || e.RequestID != "req_1" {
			t.Errorf("status %d: err = %#v, want code %s", status, err, code)
		}
		if e != nil && e.Problems() != nil {
			t.Errorf("status %d: problems out of nothing", status)
		}
	}
}

// TestNoRedirectOfPost makes sure that a redirect never turns a POST into a GET.
func TestNoRedirectOfPost(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
	})
	_, err := newClient(t, s.URL, client.Options{}).CreatePattern(t.Context(), client.PatternInput{})
	var e *client.Error
	if !errors.As(err, &e) || e.Status != http.StatusMovedPermanently || len(s.seen()) != 1 {
		t.Errorf("err = %v after %d requests", err, len(s.seen()))
	}
}

// A redirect to another address gets no request, and so no credential.
func TestNoRedirectElsewhere(t *testing.T) {
	other := newServer(t, answer(200, `{}`))
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	})
	_, err := newClient(t, s.URL, client.Options{Token: "secret"}).GetSession(t.Context())
	var e *client.Error
	if !errors.As(err, &e) || e.Status != http.StatusFound || len(other.seen()) != 0 {
		t.Errorf("err = %v, and the other address got %d requests", err, len(other.seen()))
	}
}

func TestExecutionIDOfTimeout(t *testing.T) {
	s := newServer(t, answer(408, `{"error":{"code":"TIMEOUT","message":"late","details":{"timeoutMs":5,"executionId":"exec_9"}}}`))
	_, err := newClient(t, s.URL, client.Options{}).Execute(t.Context(), client.ExecuteRequest{Pattern: "x"})
	var e *client.Error
	if !errors.As(err, &e) || e.ExecutionID() != "exec_9" {
		t.Errorf("err = %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"Nil", nil, false},
		{"Foreign", errors.New("x"), false},
		{"Connection", &client.ConnectionError{Err: errors.New("x")}, true},
		{"503", &client.Error{Status: 503, Code: client.CodeInternal}, true},
		{"502", &client.Error{Status: 502, Code: client.CodeInternal}, true},
		{"NoAgents", &client.Error{Status: 503, Code: client.CodeNoAgents}, false},
		{"500", &client.Error{Status: 500, Code: client.CodeInternal}, false},
	} {
		if got := client.Unreachable(tt.err); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
