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

	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeclient "github.com/wardroom/wardroom/sdk/runtime/client"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

// streams serves lines, and then waits for the end of the request if hold is set, or breaks off.
func streams(t *testing.T, lines string, hold bool) string {
	t.Helper()
	return handle(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, lines)
		_ = http.NewResponseController(w).Flush()
		if hold {
			<-r.Context().Done()
		}
	})
}

func TestStreamsSkipHeartbeatsAndReportErrors(t *testing.T) {
	event := `{"seq":7,"agentId":"a","type":"ready","agent":{"id":"a","handle":{"id":"a","data":"eA=="}}}`
	c := newClient(t, runtimeclient.Options{URL: streams(t, "\n\n"+event+"\n\n"+
		`{"error":{"code":"LAGGED","message":"m","details":{"code":"LAGGED","message":"m","hint":"h"}}}`+"\n", false)})
	events, err := c.Events(t.Context(), runtime.EventOptions{After: 6, AgentID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Close() }()
	got, err := events.Next()
	if err != nil || got.Seq != 7 || string(got.Agent.Handle.Data) != "x" {
		t.Errorf("the event is %+v, %v", got, err)
	}
	for range 2 {
		_, err = events.Next()
		code(t, "the error of a stream", err, runtime.CodeLagged)
	}
}

func TestStreamsThatEnd(t *testing.T) {
	line := `{"timestamp":"2026-01-02T03:04:05Z","stream":"output","line":"x"}` + "\n"
	// A log has an end; events have none.
	c := newClient(t, runtimeclient.Options{URL: streams(t, line, false)})
	logs, err := c.Logs(t.Context(), "a", runtime.LogOptions{Tail: 3, Since: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := logs.Next(); err != nil || got.Line != "x" {
		t.Errorf("the line is %+v, %v", got, err)
	}
	if _, err := logs.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("a log ends with %v", err)
	}
	_ = logs.Close()
	events, err := newClient(t, runtimeclient.Options{URL: streams(t, "", false)}).Events(t.Context(), runtime.EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = events.Next()
	code(t, "events that end", err, runtime.CodeUnavailable)
	_ = events.Close()

	// What breaks off within a line is not an end.
	for name, lines := range map[string]string{"half a line": `{"timestamp"`, "no JSON": "nonsense\n"} {
		logs, err := newClient(t, runtimeclient.Options{URL: streams(t, lines, false)}).Logs(t.Context(), "a", runtime.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := logs.Next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
		_ = logs.Close()
	}
}

func TestStreamsLongLines(t *testing.T) {
	text := strings.Repeat("x", 200<<10)
	c := newClient(t, runtimeclient.Options{URL: streams(t, fmt.Sprintf("{\"line\":%q}\n{\"line\":\"next\"}\n", text), false)})
	logs, err := c.Logs(t.Context(), "a", runtime.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = logs.Close() }()
	for _, want := range []string{text, "next"} {
		if got, err := logs.Next(); err != nil || got.Line != want {
			t.Errorf("a line of %d bytes came as %d, %v", len(want), len(got.Line), err)
		}
	}
}

func TestSilentStreamIsGivenUp(t *testing.T) {
	c := newClient(t, runtimeclient.Options{URL: streams(t, "\n", true), Silence: 30 * time.Millisecond})
	events, err := c.Events(t.Context(), runtime.EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Close() }()
	_, err = events.Next()
	code(t, "a silent stream", err, runtime.CodeUnavailable)
	if !strings.Contains(err.Error(), "silent") {
		t.Errorf("the reason is %v", err)
	}
}

func TestCloseEndsNext(t *testing.T) {
	c := newClient(t, runtimeclient.Options{URL: streams(t, "\n", true)})
	events, err := c.Events(t.Context(), runtime.EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := events.Next(); ended <- err }()
	for range 2 {
		_ = events.Close()
	}
	select {
	case err := <-ended:
		if !errors.Is(err, io.EOF) {
			t.Errorf("after Close: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Next does not end")
	}
}

// Events go on over the end of a server, as the appliance reads them.
func TestEventsResumeOverARestart(t *testing.T) {
	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	rt := world.Runtime()
	c, _ := serve(t, rt, runtimeserver.Options{})
	if _, err := c.Spawn(t.Context(), runtime.Spec{ID: "a", Type: runtimetest.Type}); err != nil {
		t.Fatal(err)
	}
	events, err := c.Events(t.Context(), runtime.EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := events.Next()
	if err != nil {
		t.Fatal(err)
	}
	rt.Kill()
	for err == nil {
		_, err = events.Next()
	}
	code(t, "events of a runtime that died", err, runtime.CodeUnavailable)
	_ = events.Close()

	fresh, _ := serve(t, world.Runtime(), runtimeserver.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	again, err := fresh.Events(ctx, runtime.EventOptions{After: first.Seq})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if next, err := again.Next(); err != nil || next.Seq != first.Seq+1 {
		t.Errorf("after %d comes %+v, %v", first.Seq, next, err)
	}
}
