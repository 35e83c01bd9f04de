package cmd_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// A time back from now may have days, wherever one is taken.
func TestSinceInDays(t *testing.T) {
	now := time.Date(2026, 1, 9, 12, 0, 0, 0, time.UTC)
	var asked atomic.Value // of string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Query().Get("since"))
		say(w, 200, `{"executions":[],"records":[],"logs":[]}`)
	})
	for _, command := range [][]string{{"execution", "list"}, {"audit", "list"}, {"audit", "export"}, {"logs"}} {
		for _, tt := range []struct{ text, want string }{
			{"7d", "2026-01-02T12:00:00Z"}, {"1d12h", "2026-01-08T00:00:00Z"}, {"90m", "2026-01-09T10:30:00Z"}, {"+90m", "2026-01-09T10:30:00Z"}, {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
		} {
			asked.Store("none")
			r := start(t.Context(), server, cmd.Deps{Now: func() time.Time { return now }}, append(command, "--since", tt.text)...)
			<-r.done
			if r.expect(t, 0); asked.Load() != tt.want {
				t.Errorf("%v since %s: %s, want %s", command, tt.text, asked.Load(), tt.want)
			}
		}
		for _, text := range []string{"-7d", "7 days", "d", "99999999999d"} {
			execute(t, server, append(command, "--since", text)...).expect(t, 2, "--since wants", "90m or 7d")
		}
	}
}
