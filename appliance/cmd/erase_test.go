package cmd_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// An erasure that has erased nothing yet is shown by what it is at alone.
func TestErasureBegins(t *testing.T) {
	var looks atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			say(w, 202, `{"id":"erasure_1","status":"running","step":"schedules"}`)
		case looks.Add(1) == 1:
			say(w, 200, `{"id":"erasure_1","status":"running","step":"executions","done":{"executions":2}}`)
		default:
			say(w, 200, `{"id":"erasure_1","status":"completed"}`)
		}
	})
	r := execute(t, server, "data", "erase", "--subject", "ann", "--confirm", "ann")
	r.expect(t, 0)
	if shown, want := r.stderr.String(), "erasure_1: schedules\nerasure_1: executions: 2 executions\n"; shown != want {
		t.Errorf("shown was %q, want %q", shown, strings.TrimSpace(want))
	}
}
