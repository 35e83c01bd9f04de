package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// events makes a handler that sends the given text as an event stream and ends it.
func events(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, text)
	}
}

// cut is events, but the connection breaks at the end.
func cut(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		events(text)(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

const (
	started   = "id: 1\nevent: started\ndata: {\"executionId\":\"exec_1\",\"status\":\"running\"}\n\n"
	agent1    = "id: 2\nevent: agent_result\ndata: {\"agentId\":\"agent_1\",\"result\":1}\n\n"
	progress  = "event: agent_progress\ndata: {\"agentId\":\"agent_1\",\"text\":\"half\"}\n\n"
	agent2    = "id: 30\nevent: agent_result\ndata: {\"agentId\":\"agent_2\",\"result\":2}\n\n"
	completed = "id: 31\nevent: completed\ndata: {\"executionId\":\"exec_1\",\"status\":\"completed\",\"result\":{\"a\":1}}\n\n"
)

// drain reads a stream to its end and names the events.
func drain(s *client.Stream) (names string, err error) {
	var list []string
	for event, err := range s.Events() {
		if err != nil {
			return strings.Join(list, " "), err
		}
		list = append(list, event.Type+":"+event.ID)
	}
	return strings.Join(list, " "), nil
}

const wholeStream = "started:1 agent_result:2 agent_progress: agent_result:30 completed:31"

func TestStream(t *testing.T) {
	s := newServer(t, events(started+agent1+progress+agent2+completed))
	c := newClient(t, s.URL, client.Options{})
	stream, err := c.ExecuteStream(t.Context(), client.ExecuteRequest{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	names, err := drain(stream)
	if err != nil || names != wholeStream {
		t.Errorf("events = %s, err = %v", names, err)
	}
	if stream.ExecutionID() != "exec_1" || stream.LastEventID() != "31" || stream.Resumed() != 0 {
		t.Errorf("id %q, last %q, resumed %d", stream.ExecutionID(), stream.LastEventID(), stream.Resumed())
	}
	if _, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	r := s.last(t)
	if r.Method+" "+r.URI != "POST /api/patterns/x/execute/stream" || r.Header.Get("Accept") != "text/event-stream" ||
		r.Header.Get("Idempotency-Key") == "" {
		t.Errorf("request = %+v", r)
	}
}

func TestStreamResumes(t *testing.T) {
	s := newServer(t,
		cut(started+agent1),
		answer(503, unavailable),
		hangUp,
		events(agent1+progress), // a clean end before the last event, and one event twice
		events(": heartbeat\n\n"+agent2+completed),
	)
	opts, pauses := noWait(client.Options{HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	stream, err := newClient(t, s.URL, opts).ExecuteStream(t.Context(), client.ExecuteRequest{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	names, err := drain(stream)
	if err != nil || names != wholeStream {
		t.Errorf("events = %s, err = %v", names, err)
	}
	for _, r := range s.seen()[1:] {
		if r.Method+" "+r.URI != "GET /api/executions/exec_1/stream" || r.Header.Get("Last-Event-ID") != "2" {
			t.Errorf("resumed with %s %s after %q", r.Method, r.URI, r.Header.Get("Last-Event-ID"))
		}
	}
	if stream.Resumed() != 2 || len(pauses()) != 4 {
		t.Errorf("resumed %d times with pauses %v", stream.Resumed(), pauses())
	}
}

// TestStreamLostBeforeStarted sends the same creation again, with the same key, while the id is unknown.
// TestStreamOutage: an outage is reported once at its beginning and once at its end; a loss that the first try mends is
// none.
func TestStreamOutage(t *testing.T) {
	away := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	s := newServer(t, cut(started+agent1), cut(agent2), away, away, events(completed))
	c := newClient(t, s.URL, client.Options{})
	stream, err := c.WatchExecution(t.Context(), "exec_1", "")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	stream.OnOutage(func(err error) { told = append(told, fmt.Sprint(client.Unreachable(err))) })
	if names, err := drain(stream); err != nil || !strings.HasSuffix(names, "completed:31") {
		t.Fatalf("%s, %v", names, err)
	}
	if got := strings.Join(told, " "); got != "true false" || stream.Resumed() != 2 {
		t.Errorf("told %s, resumed %d times", got, stream.Resumed())
	}
}

func TestStreamLostBeforeStarted(t *testing.T) {
	s := newServer(t, cut(": waiting\n\n"), events(started+completed))
	opts, _ := noWait(client.Options{})
	stream, err := newClient(t, s.URL, opts).ExecuteStream(t.Context(), client.ExecuteRequest{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if names, err := drain(stream); err != nil || names != "started:1 completed:31" {
		t.Errorf("events = %s, err = %v", names, err)
	}
	all := s.seen()
	if len(all) != 2 || all[0].URI != all[1].URI || all[0].Body != all[1].Body ||
		all[0].Header.Get("Idempotency-Key") != all[1].Header.Get("Idempotency-Key") {
		t.Errorf("requests = %+v", all)
	}
}

func TestStreamHonoursRetryField(t *testing.T) {
	s := newServer(t, events("retry: 2500\n\n"+started), events(completed))
	opts, pauses := noWait(client.Options{})
	stream, err := newClient(t, s.URL, opts).WatchExecution(t.Context(), "exec_1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drain(stream); err != nil {
		t.Fatal(err)
	}
	if got := pauses(); len(got) != 1 || got[0] != 2500*time.Millisecond {
		t.Errorf("pauses = %v", got)
	}
}

func TestWatchAfter(t *testing.T) {
	s := newServer(t, events(agent1+agent2+completed))
	stream, err := newClient(t, s.URL, client.Options{}).WatchExecution(t.Context(), "exec_1", "2")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := drain(stream); err != nil || names != "agent_result:30 completed:31" {
		t.Errorf("events = %s, err = %v", names, err)
	}
	if got := s.last(t).Header.Get("Last-Event-ID"); got != "2" {
		t.Errorf("Last-Event-ID = %q", got)
	}
}

// TestWatchNothingLeft covers the answer to a reader that has seen the last event already.
func TestWatchNothingLeft(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	stream, err := newClient(t, s.URL, client.Options{}).WatchExecution(t.Context(), "exec_1", "31")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := drain(stream); err != nil || names != "" {
		t.Errorf("events = %q, err = %v", names, err)
	}
}

// TestStreamSilence makes a connection anew that is open and dead.
func TestStreamSilence(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		events(started)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, events(completed))
	opts, _ := noWait(client.Options{StreamIdle: 50 * time.Millisecond})
	stream, err := newClient(t, s.URL, opts).WatchExecution(t.Context(), "exec_1", "")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := drain(stream); err != nil || names != "started:1 completed:31" || stream.Resumed() != 1 {
		t.Errorf("events = %s, err = %v, resumed %d", names, err, stream.Resumed())
	}
}

// TestStreamSlowReader keeps a connection whose reader is busy for longer than a server may be silent.
func TestStreamSlowReader(t *testing.T) {
	const idle = 30 * time.Millisecond
	given, busy := make(chan struct{}), make(chan struct{})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		events(started)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-given
		select {
		case <-r.Context().Done():
			t.Error("the connection was given up while its reader was busy")
		case <-time.After(4 * idle):
		}
		close(busy)
		events(completed)(w, r)
	}, events(completed))
	opts, _ := noWait(client.Options{StreamIdle: idle})
	stream, err := newClient(t, s.URL, opts).WatchExecution(t.Context(), "exec_1", "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := stream.Next(); err != nil {
		t.Fatal(err)
	}
	close(given)
	<-busy
	if e, err := stream.Next(); err != nil || e.Type != client.EventCompleted || stream.Resumed() != 0 {
		t.Errorf("event %+v, err = %v, resumed %d", e, err, stream.Resumed())
	}
}

// TestStreamSilentAgain makes the connection anew on a server that takes it and does not answer.
func TestStreamSilentAgain(t *testing.T) {
	s := newServer(t, cut(started), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, events(completed))
	opts, _ := noWait(client.Options{StreamIdle: 50 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream, err := newClient(t, s.URL, opts).WatchExecution(ctx, "exec_1", "")
	if err != nil {
		t.Fatal(err)
	}
	var outages []string
	stream.OnOutage(func(err error) { outages = append(outages, fmt.Sprint(err)) })
	if names, err := drain(stream); err != nil || names != "started:1 completed:31" || stream.Resumed() != 1 {
		t.Errorf("events = %s, err = %v, resumed %d", names, err, stream.Resumed())
	}
	if len(outages) != 2 || !strings.Contains(outages[0], "no answer within 50ms") {
		t.Errorf("outages %q", outages)
	}
}

func TestStreamGivesUp(t *testing.T) {
	s := newServer(t, cut(started), answer(503, unavailable))
	opts, pauses := noWait(client.Options{StreamRetry: client.RetryPolicy{MaxElapsed: 10 * time.Second}})
	stream, err := newClient(t, s.URL, opts).ExecuteStream(t.Context(), client.ExecuteRequest{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	names, err := drain(stream)
	if names != "started:1" || client.CodeOf(err) != client.CodeInternal || !strings.Contains(err.Error(), "gave up") {
		t.Errorf("events = %s, err = %v", names, err)
	}
	if _, again := stream.Next(); again == nil || again.Error() != err.Error() {
		t.Errorf("the second error is %v", again)
	}
	if len(pauses()) < 4 {
		t.Errorf("pauses = %v", pauses())
	}
}

// TestStreamFlapping gives up on a server that takes the connection and drops it, again and again.
func TestStreamFlapping(t *testing.T) {
	s := newServer(t, events(started), events(""))
	opts, _ := noWait(client.Options{StreamRetry: client.RetryPolicy{MaxElapsed: 5 * time.Second}})
	stream, err := newClient(t, s.URL, opts).WatchExecution(t.Context(), "exec_1", "")
	if err != nil {
		t.Fatal(err)
	}
	var conn *client.ConnectionError
	if _, err := drain(stream); !errors.As(err, &conn) {
		t.Errorf("err = %v", err)
	}
}

// TestStreamGreeting gives up on a server that greets each connection with an event of no lasting worth and drops it.
func TestStreamGreeting(t *testing.T) {
	const most = 300
	tries := 0
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries > most {
			answer(404, `{"error":{"code":"NOT_FOUND","message":"enough"}}`)(w, r)
			return
		}
		events("event: counts\ndata: {}\n\n")(w, r)
	})
	opts, _ := noWait(client.Options{StreamRetry: client.RetryPolicy{MaxElapsed: 5 * time.Second}})
	stream, err := newClient(t, s.URL, opts).FollowEvents(t.Context(), client.FeedFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var conn *client.ConnectionError
	if _, err := drain(stream); !errors.As(err, &conn) {
		t.Errorf("err = %v after %d connections", err, len(s.seen()))
	}
}

func TestStreamRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		code    string
		text    string
	}{
		{"NoAgents", answer(503, noAgents), client.CodeNoAgents, ""},
		{"NotFound", answer(404, `{"error":{"code":"NOT_FOUND","message":"no"}}`), client.CodeNotFound, ""},
		{"NotAStream", answer(200, `{}`), "", "instead of an event stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, tt.handler)
			_, err := newClient(t, s.URL, client.Options{}).ExecuteStream(t.Context(), client.ExecuteRequest{Pattern: "x"})
			if err == nil || client.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("err = %v", err)
			}
		})
	}
	t.Run("GoneWhileAway", func(t *testing.T) {
		s := newServer(t, events(started), answer(404, `{"error":{"code":"NOT_FOUND","message":"no"}}`))
		opts, _ := noWait(client.Options{})
		stream, err := newClient(t, s.URL, opts).WatchExecution(t.Context(), "exec_1", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := drain(stream); client.CodeOf(err) != client.CodeNotFound {
			t.Errorf("err = %v", err)
		}
	})
}

// TestStreamEndsWithContext covers both ways in which a caller leaves while the server is silent.
func TestStreamEndsWithContext(t *testing.T) {
	silent := func(w http.ResponseWriter, r *http.Request) {
		events(started)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for name, leave := range map[string]func(*client.Stream, context.CancelFunc){
		"Cancel": func(_ *client.Stream, cancel context.CancelFunc) { cancel() },
		"Close":  func(s *client.Stream, _ context.CancelFunc) { s.Close(); s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, silent)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := newClient(t, s.URL, client.Options{}).WatchExecution(ctx, "exec_1", "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Next(); err != nil {
				t.Fatal(err)
			}
			leave(stream, cancel)
			if _, err := stream.Next(); !errors.Is(err, context.Canceled) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestEventDecode(t *testing.T) {
	event := client.Event{Type: "step_completed", Data: []byte(`{"step":"s","result":1,"confidence":0.5}`)}
	data, err := event.Decode()
	if err != nil || data.Step != "s" || *data.Confidence != 0.5 {
		t.Errorf("data = %+v, err = %v", data, err)
	}
	if _, err := (client.Event{Type: "started", Data: []byte(`{`)}).Decode(); err == nil {
		t.Error("bad data was taken")
	}
	for kind, last := range map[string]bool{"started": false, "completed": true, "failed": true, "cancelled": true} {
		if got := (client.Event{Type: kind}).Last(); got != last {
			t.Errorf("%s: Last = %v", kind, got)
		}
	}
}

func ExampleClient_ExecuteStream() {
	c, err := client.New("http://127.0.0.1:8080", client.Options{})
	if err != nil {
		panic(err)
	}
	stream, err := c.ExecuteStream(context.Background(), client.ExecuteRequest{Pattern: "triage"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range stream.Events() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(event.Type, string(event.Data))
	}
}
