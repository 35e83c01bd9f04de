package e2e_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// viewer reads one event stream without coming back by itself: a broken stream is an error.
type viewer struct {
	*client.EventReader
	resp *http.Response
}

// open attaches to an execution's stream, after the event with id after if that is not empty.
func (s *server) open(t *testing.T, id, after string) *viewer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/executions/"+id+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 && resp.StatusCode != 204 ||
		resp.StatusCode == 200 && !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("stream of %s: %d %s", id, resp.StatusCode, kind)
	}
	return &viewer{EventReader: client.NewEventReader(resp.Body, 0), resp: resp}
}

// watch opens a stream and reads its first event.
func (s *server) watch(t *testing.T, id, after string) (*viewer, client.Event) {
	t.Helper()
	v := s.open(t, id, after)
	ev, err := v.Next()
	if err != nil {
		t.Fatal(err)
	}
	return v, ev
}

// all reads the rest of a stream.
func (v *viewer) all() ([]client.Event, error) {
	var list []client.Event
	for {
		ev, err := v.Next()
		if err != nil {
			return list, err
		}
		list = append(list, ev)
	}
}

// lines reads a stream as text.
func (v *viewer) lines() *bufio.Scanner { return bufio.NewScanner(v.resp.Body) }
