package cmd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// The screen is printed once, as text: what redraws it is gone, and so is the space that says nothing.
func TestAgentScreen(t *testing.T) {
	d := newDesk(t)
	for _, output := range []string{"table", "json"} {
		r := start(t.Context(), d.URL, cmd.Deps{}, "agent", "screen", "magent_1", "-o", output)
		s := <-d.opens
		s.say(t, runtime.Frame{
			Data: []byte("\x1b[2J\x1b[H\x1b]0;a title\a\x1b[31mred\x1b[0m   \r\n\r\n  two & <three>\x1b[5;3H"), Repaint: true, Cols: 40, Rows: 6,
		})
		r.expect(t, 0)
		if output == "table" {
			if got := r.stdout.String(); got != "red\n\n  two & <three>\n" {
				t.Errorf("printed %q", got)
			}
			continue
		}
		var got struct {
			AgentID, Title string
			Cols, Rows     int
			Cursor         struct{ Row, Col int }
			Lines          []string
		}
		if err := json.Unmarshal([]byte(r.stdout.String()), &got); err != nil {
			t.Fatal(err)
		}
		if got.AgentID != "magent_1" || got.Title != "a title" || got.Cols != 40 || got.Rows != 6 || got.Cursor.Row != 4 || got.Cursor.Col != 2 ||
			len(got.Lines) != 3 || strings.Contains(r.stdout.String(), `\u003c`) {
			t.Errorf("printed %s", &r.stdout)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, opts := range d.wants {
		if !opts.ReadOnly || opts.Cols != 0 {
			t.Errorf("attached with %+v", opts)
		}
	}
}

// stale is a server whose record of an agent is behind: it says starting, whatever the events tell.
type stale struct {
	mu     sync.Mutex // guards all below
	looks  int
	events string // of the stream, which stays open then
	after  int    // the look from which on the record says ready; 0: none
}

func (s *stale) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/events"):
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, s.events)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodPost:
		say(w, 201, fmt.Sprintf(managedRow, "magent_1", `"starting"`, ""))
	default:
		s.mu.Lock()
		s.looks++
		status := `"starting"`
		if s.after > 0 && s.looks >= s.after {
			status = `"ready"`
		}
		s.mu.Unlock()
		say(w, 200, fmt.Sprintf(managedRow, "magent_1", status, ""))
	}
}

// The wait for an agent goes by what its events tell, and asks without one.
func TestSpawnWaitBelievesEvents(t *testing.T) {
	const ready = "id: 24\nevent: managed_agent.ready\ndata: " + `{"agentId":"magent_1","sequence":24,"type":"managed_agent.ready",` +
		`"timestamp":"2026-01-02T03:04:05.678Z","data":{"status":"ready"}}` + "\n\n"
	for name, s := range map[string]*stale{
		"TheRecordIsBehind": {events: ready},
		"NoEventComes":      {events: ": hello\n\n", after: 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(s)
			defer server.Close()
			r := execute(t, server.URL, "agent", "spawn", "claude", "--wait")
			if r.code != 0 || !strings.Contains(r.stdout.String(), "ready") {
				t.Errorf("exit %d: %s%s", r.code, &r.stdout, &r.stderr)
			}
			server.CloseClientConnections()
		})
	}
}
