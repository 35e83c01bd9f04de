package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
)

// open opens a stream.
func (r *rig) open(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d", path, response.StatusCode)
	}
	return response
}

// millis checks that the times of a text have milliseconds.
func millis(t *testing.T, text string) {
	t.Helper()
	found := regexp.MustCompile(`:[0-9]{2}(\.[0-9]*)?Z"`).FindAllStringSubmatch(text, -1)
	for _, fraction := range found {
		if len(fraction[1]) != len(".123") {
			t.Errorf("a time is not in milliseconds: %s", text)
			break
		}
	}
	if len(found) == 0 {
		t.Errorf("no time in %s", text)
	}
}

func TestLogs(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	r.spawn(t, "a")
	before := time.Now().Format(time.RFC3339Nano)
	for n := range 2 {
		r.expect(t, 200, http.MethodPost, "/agents/a/send", fmt.Sprintf(`{"message":"echo out-%d","expectResponse":true}`, n))
	}
	a := r.expect(t, 200, http.MethodGet, "/agents/a/logs", "")
	if a.field("agentId") != "a" || !strings.Contains(a.text, `"stream":"output","line":"out-0"`) {
		t.Errorf("the log is %s", a.text)
	}
	millis(t, a.text)
	if a := r.expect(t, 200, http.MethodGet, "/agents/a/logs?tail=1", ""); len(a.field("logs").([]any)) != 1 {
		t.Errorf("the last line is %s", a.text)
	}
	if a := r.expect(t, 200, http.MethodGet, "/agents/a/logs?since="+strings.ReplaceAll(before, "+", "%2B"), ""); strings.Contains(a.text, `"started"`) || !strings.Contains(a.text, "out-1") {
		t.Errorf("since has %s", a.text)
	}
	for _, query := range []string{"?tail=-1", "?tail=x", "?since=yesterday", "?follow=x"} {
		r.expect(t, 400, http.MethodGet, "/agents/a/logs"+query, "")
	}
	r.expect(t, 404, http.MethodGet, "/agents/nobody/logs?follow=true", "")

	response := r.open(t, "/agents/a/logs?tail=1&follow=true")
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("a followed log is %s", got)
	}
	events := client.NewEventReader(response.Body, 0)
	r.expect(t, 200, http.MethodPost, "/agents/a/send", `{"message":"echo followed","expectResponse":true}`)
	for {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		millis(t, string(event.Data))
		if event.Type != "log" {
			t.Errorf("an event %s %s", event.Type, event.Data)
		}
		if strings.Contains(string(event.Data), `"followed"`) {
			break
		}
	}
	// The log of an agent that stops has an end.
	r.expect(t, 204, http.MethodDelete, "/agents/a", "")
	last := ""
	for {
		event, err := events.Next()
		if err != nil {
			break
		}
		last = event.Type
	}
	if last != "end" {
		t.Errorf("a log ends with %q", last)
	}
}

func TestEventsAsLines(t *testing.T) {
	r := newRig(t, runtimeserver.Options{Heartbeat: 10 * time.Millisecond})
	r.spawn(t, "a")
	lines := bufio.NewScanner(r.open(t, "/events", "Accept", "application/x-ndjson").Body)
	var seen []runtime.Event
	beats := 0
	for (len(seen) < 2 || beats < 2) && lines.Scan() {
		if lines.Text() == "" {
			beats++
			continue
		}
		var event runtime.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if !event.Agent.Handle.IsZero() {
			t.Errorf("an event tells the handle: %s", lines.Text())
		}
		seen = append(seen, event)
	}
	if len(seen) != 2 || seen[0].Type != runtime.EventStarted || seen[1].Type != runtime.EventReady {
		t.Fatalf("the events are %+v", seen)
	}
	full := bufio.NewScanner(r.open(t, "/events?full=true&agentId=a&after=1", "Accept", "application/x-ndjson").Body)
	if !full.Scan() || !strings.Contains(full.Text(), `"handle":{"id":"a"`) || !strings.Contains(full.Text(), `"type":"ready"`) {
		t.Errorf("after the first event comes %s", full.Text())
	}
	for _, query := range []string{"?after=x", "?after=-1", "?live=x", "?full=x"} {
		r.expect(t, 400, http.MethodGet, "/events"+query, "")
	}
	r.expect(t, 400, http.MethodGet, "/events", "", "Last-Event-ID", "x")
}

func TestEventsAsServerSentEvents(t *testing.T) {
	r := newRig(t, runtimeserver.Options{Heartbeat: 10 * time.Millisecond})
	r.spawn(t, "a")
	events := client.NewEventReader(r.open(t, "/events", "Last-Event-ID", "1").Body, 0)
	event, err := events.Next()
	if err != nil || event.ID != "2" || event.Type != "ready" {
		t.Fatalf("the event is %+v, %v", event, err)
	}
	millis(t, string(event.Data))
	// That a runtime died is the last event.
	r.rt.Kill()
	for last := ""; ; {
		event, err := events.Next()
		if err != nil {
			if last != "error" {
				t.Errorf("the stream ends with %q", last)
			}
			break
		}
		if last = event.Type; last == "error" && !strings.Contains(string(event.Data), `"code":"UNAVAILABLE"`) {
			t.Errorf("the error is %s", event.Data)
		}
	}
}
