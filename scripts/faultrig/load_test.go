package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// clientOf makes a client of a scripted server.
func clientOf(c *caller) *client {
	l := &load{caller: c, told: &told{}, prefix: "test", stopped: make(chan struct{})}
	return &client{load: l, random: rand.New(rand.NewPCG(1, 0))}
}

// events answers with server-sent events, and breaks the connection after them unless the last one ends.
func events(wantLast string, frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if last := r.Header.Get("Last-Event-ID"); last != wantLast {
			http.Error(w, "resumed after "+last, http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, f := range frames {
			_, _ = fmt.Fprint(w, f+"\n\n")
		}
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

const (
	frameStarted  = "event: started\nid: 4\ndata: {\"executionId\":\"exec_1\",\"status\":\"running\"}"
	frameResult   = "event: agent_result\nid: 6\ndata: {\"agentId\":\"a\"}"
	frameProgress = "event: agent_progress\ndata: {}"
	frameEnd      = "event: completed\nid: 7\ndata: {\"status\":\"completed\"}"
)

func TestStreamIsTakenUpOverKills(t *testing.T) {
	caller, served := scripted(t,
		die, events("", ": nothing yet"), events("", frameStarted, frameProgress),
		status(http.StatusServiceUnavailable, "{}"), events("4", frameResult), events("6", frameResult, frameEnd))
	c := clientOf(caller)
	if err := c.stream(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.told.streams) != 1 || served.Load() != 6 {
		t.Fatalf("%d streams, %d requests", len(c.told.streams), served.Load())
	}
	s := c.told.streams[0]
	want := []proof.Frame{{Sequence: 4, Type: "started"}, {Sequence: 6, Type: "agent_result"}, {Sequence: 6, Type: "agent_result"}, {Sequence: 7, Type: "completed"}}
	if fmt.Sprint(s.Frames) != fmt.Sprint(want) { // the event that came twice is not hidden
		t.Errorf("frames %v", s.Frames)
	}
	if !s.Ended || s.Resumes != 2 || s.ExecutionID != "exec_1" {
		t.Errorf("stream %+v", s)
	}
	if p := c.told.promises; len(p) != 1 || p[0].ID != "exec_1" || p[0].Key == "" {
		t.Errorf("promises %+v", p)
	}
}

func TestStreamThatNeverEnds(t *testing.T) {
	caller, _ := scripted(t, events("", frameStarted), events("4"), status(http.StatusNoContent, ""))
	c := clientOf(caller)
	if err := c.stream(t.Context()); err != nil || len(c.told.streams) != 1 || c.told.streams[0].Ended {
		t.Fatalf("over without its last event: %v, %+v", err, c.told.streams)
	}
	caller, _ = scripted(t, events("", frameStarted), events("4"))
	c = clientOf(caller)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	if err := c.stream(ctx); err == nil || !strings.Contains(err.Error(), "had not ended") || len(c.told.streams) != 1 {
		t.Fatalf("for ever: %v", err)
	}
}

func TestStartKeepsWhatItWasTold(t *testing.T) {
	caller, _ := scripted(t, die, status(http.StatusOK, `{"executionId":"exec_1","status":"completed","result":{"a":1}}`))
	c := clientOf(caller)
	body := []byte("{}")
	s, ok, err := c.start(t.Context(), "/x", "key", body, http.StatusOK, proof.Promise{Kind: proof.PromiseExecution})
	if err != nil || !ok || s.id() != "exec_1" || len(c.told.resends) != 1 {
		t.Fatalf("with a key: %v %v %+v", err, ok, s)
	}
	if p := c.told.promises[0]; p.Status != "completed" || string(p.Result) != `{"a":1}` || p.Key != "key" {
		t.Fatalf("promise %+v", p)
	}
	if err := sendAgain(t.Context(), caller, c.told, c.told.resends); err != nil || len(c.told.promises) != 2 {
		t.Fatalf("sent again: %v, %d promises", err, len(c.told.promises))
	}
	caller, _ = scripted(t, die)
	if _, ok, err := clientOf(caller).start(t.Context(), "/x", "", body, http.StatusOK, proof.Promise{}); ok || err != nil {
		t.Fatalf("lost without a key: %v, %v", ok, err)
	}
	var unexpected *unexpectedError
	for _, answer := range []string{`{}`, `{"executionId":5}`} {
		caller, _ = scripted(t, status(http.StatusOK, answer))
		if _, _, err := clientOf(caller).start(t.Context(), "/x", "k", body, http.StatusOK, proof.Promise{}); err == nil {
			t.Fatalf("%s is no answer to a start", answer)
		}
	}
	caller, _ = scripted(t, status(http.StatusInternalServerError, `{}`))
	if _, _, err := clientOf(caller).start(t.Context(), "/x", "k", body, http.StatusOK, proof.Promise{}); !errors.As(err, &unexpected) {
		t.Fatalf("an internal error: %v", err)
	}
}

func TestWatchAndCancel(t *testing.T) {
	caller, served := scripted(t,
		status(200, `{"executionId":"exec_1","status":"pending"}`), die,
		status(200, `{"executionId":"exec_1","status":"cancelled","cancelledAt":"T"}`),
		status(200, `{"executionId":"exec_1","status":"cancelled","cancelledAt":"T","completedAt":"T"}`))
	c := clientOf(caller)
	if status, err := c.watch(t.Context(), "exec_1", 1); err != nil || status != "cancelled" || served.Load() != 4 {
		t.Fatalf("watched until %s, %v, after %d requests", status, err, served.Load())
	}
	if p := c.told.promises; len(p) != 1 || p[0].Kind != proof.PromiseCancel || p[0].CancelledAt != "T" {
		t.Fatalf("promises %+v", p)
	}
	if s := c.told.sightings; len(s) != 2 || s[0].Status != "pending" || s[1].CompletedAt != "T" || s[1].Sent.Before(s[0].Got) {
		t.Fatalf("sightings %+v", s)
	}
	caller, _ = scripted(t, status(404, `{}`))
	if _, err := clientOf(caller).watch(t.Context(), "exec_1", -1); err == nil || !strings.Contains(err.Error(), "acknowledged") {
		t.Fatalf("an acknowledged execution that is not there: %v", err)
	}
	caller, _ = scripted(t, status(409, `{}`))
	c = clientOf(caller)
	if err := c.cancel(t.Context(), "exec_1"); err != nil || c.told.refused != 1 {
		t.Fatalf("a cancel that came too late: %v", err)
	}
}

func TestCreateOverAKill(t *testing.T) {
	caller, _ := scripted(t, die, status(409, `{}`))
	if err := clientOf(caller).create(t.Context(), "p", []byte("{}")); err != nil {
		t.Fatalf("stored before the kill: %v", err)
	}
	caller, _ = scripted(t, status(409, `{}`))
	if err := clientOf(caller).create(t.Context(), "p", []byte("{}")); err == nil {
		t.Fatal("a conflict that no kill explains")
	}
}
