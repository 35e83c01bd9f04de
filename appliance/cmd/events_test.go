package cmd_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// The history of a server is shown whole, however long it takes, and a server that does not answer is named.
func TestEventsOfSlowServer(t *testing.T) {
	const pause = 700 * time.Millisecond // of several that are longer together than the quiet that ends a history
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
				return
			}
			if i == 0 {
				continue // the answer itself takes its time
			}
			_, _ = fmt.Fprintf(w, "id: %d\nevent: event\ndata: {\"type\":\"execution.completed\",\"subject\":\"exec_%d\"}\n\n", i, i)
			flush(w)
		}
		_, _ = io.WriteString(w, "event: gap\ndata: {\"to\":4}\n\n")
	})
	r := execute(t, url, "events")
	if r.expect(t, 0); strings.Count(r.stdout.String(), "exec_") != 4 {
		t.Errorf("shown was %q", r.stdout.String())
	}
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	r = start(t.Context(), silent, cmd.Deps{}, "events", "--timeout", "50ms")
	wait(t, r.done, "the end of the command")
	r.expect(t, 6, "no answer within 50ms")
}

// The mark of the server ends the past, whatever goes on behind it.
func TestEventsEndAtMark(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		const event = "id: %d\nevent: event\ndata: {\"type\":\"execution.completed\",\"subject\":\"exec_%[1]d\"}\n\n"
		_, _ = fmt.Fprintf(w, event+"event: replayed\ndata: {\"to\":7}\n\n", 7)
		for i := 8; r.Context().Err() == nil; i++ {
			_, _ = fmt.Fprintf(w, event, i)
			flush(w)
			select {
			case <-time.After(10 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
	})
	r := start(t.Context(), url, cmd.Deps{}, "events", "--after", "6", "--topic", "executions")
	wait(t, r.done, "the end of the command")
	if r.expect(t, 0); strings.Count(r.stdout.String(), "exec_") != 1 || !strings.Contains(r.stdout.String(), "exec_7") {
		t.Errorf("shown was %q", r.stdout.String())
	}
}

// A server that falls silent before the end of the past is not taken for one that sent everything.
func TestEventsCutShort(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 7\nevent: event\ndata: {\"type\":\"execution.completed\",\"subject\":\"exec_7\"}\n\n")
		flush(w)
		<-r.Context().Done()
	})
	r := execute(t, url, "events", "--timeout", "3s")
	r.expect(t, 6, "the history may be incomplete: nothing came for 3s", "--timeout, and go on with `wardroom events --after 7`")
	if !strings.Contains(r.stdout.String(), "exec_7") {
		t.Errorf("shown was %q", r.stdout.String())
	}
}
