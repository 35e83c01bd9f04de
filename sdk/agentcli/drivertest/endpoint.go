package drivertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// endpoints are what may answer in place of a model, and what the turn has to come to.
var endpoints = []struct {
	name, message string
	answer        http.HandlerFunc // of PLAY[name]; nil: the message has the fake model do it
	codes         []string
	retryable     bool
}{
	{"404", "FAIL[404] now", nil, []string{wire.TurnModelError}, false},
	{"retry-after", "PLAY[retry-after] now", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"rate_limit_error","code":429,"status":"RESOURCE_EXHAUSTED","message":"too many requests"}}`)
	}, []string{wire.TurnModelRateLimited}, true},
	{"page", "PLAY[page] now", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><body>Sign in to the network</body></html>\n")
	}, unanswered, true},
	{"page-of-an-error", "PLAY[page-of-an-error] now", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html><body><h1>502 Bad Gateway</h1></body></html>\n")
	}, []string{wire.TurnModelUnavailable}, true},
	{"empty-body", "PLAY[empty-body] now", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
	}, unanswered, true},
	{"no-byte", "PLAY[no-byte] now", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, unanswered, true},
}

// unanswered are the codes of a turn whose model gave no answer that can be read: a CLI may not know why.
var unanswered = []string{wire.TurnModelCut, wire.TurnModelUnavailable}

// RunEndpoints runs what a turn comes to where something else answers than a model, or nothing does: a code, and words that an operator
// understands.
func (s Suite) RunEndpoints(t *testing.T) {
	CLI(t, s.New().Type())
	t.Parallel()
	parallel(t, "Answers", s.answers)
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(tls.Close)
	for name, url := range map[string]string{"Certificate": tls.URL, "Refused": "http://127.0.0.1:1", "Unknown": "http://models.invalid"} {
		parallel(t, name, func(t *testing.T) {
			r := s.openImpatient(t, s.Env(url))
			response, event := r.turn("hello")
			t.Logf("%s", shown(response))
			r.checkFailed(response, event, []string{wire.TurnModelUnavailable}, true)
		})
	}
}

func (s Suite) answers(t *testing.T) {
	answers := map[string][]http.HandlerFunc{}
	for _, e := range endpoints {
		if e.answer != nil {
			answers[e.name] = slices.Repeat([]http.HandlerFunc{e.answer}, 100)
		}
	}
	r := s.openImpatient(t, s.Env(Played(t, answers)))
	for _, e := range endpoints {
		t.Run(e.name, func(t *testing.T) {
			r.t = t
			begun := time.Now()
			response, event := r.turn(e.message)
			t.Logf("%s after %v", shown(response), time.Since(begun).Round(time.Millisecond))
			codes, retryable := e.codes, e.retryable
			if s.EmptyRefuses && e.name == "empty-body" {
				codes, retryable = []string{wire.TurnModelError}, false
			}
			r.checkFailed(response, event, codes, retryable)
		})
	}
}
