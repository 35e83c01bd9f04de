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
