package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

func TestPluginRequests(t *testing.T) {
	s := newServer(t, answer(200, `{"name":"runtime-pen","state":"ready","ok":true,"plugins":[],"logs":[]}`))
	c := newClient(t, s.URL, client.Options{})
	for _, tt := range []struct {
		name string
		call func(ctx context.Context) error
		want string
	}{
		{"List", func(ctx context.Context) error { _, err := c.ListPlugins(ctx); return err }, `GET /api/admin/plugins `},
		{"Get", func(ctx context.Context) error { _, err := c.GetPlugin(ctx, "a/b"); return err }, `GET /api/admin/plugins/a%2Fb `},
		{"Verify", func(ctx context.Context) error { _, err := c.VerifyPlugin(ctx, "p"); return err }, `POST /api/admin/plugins/p/verify `},
		{"Enable", func(ctx context.Context) error { _, err := c.EnablePlugin(ctx, "p"); return err }, `POST /api/admin/plugins/p/enable `},
		{"Disable", func(ctx context.Context) error { _, err := c.DisablePlugin(ctx, "p"); return err }, `POST /api/admin/plugins/p/disable `},
		{"Restart", func(ctx context.Context) error { _, err := c.RestartPlugin(ctx, "p"); return err }, `POST /api/admin/plugins/p/restart `},
		{"Logs", func(ctx context.Context) error { _, err := c.PluginLogs(ctx, "p", 5); return err }, `GET /api/admin/plugins/p/logs?tail=5 `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := s.last(t)
			if got := r.Method + " " + r.URI + " " + r.Body; got != tt.want {
				t.Errorf("sent %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFollowPluginLogs(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 1\n\n: heartbeat\n\nevent: log\ndata: {\"level\":\"info\",\"message\":\"one\"}\n\n"+
			"event: other\ndata: 5\n\nevent: log\ndata: {\"level\":\"error\",\"message\":\"two\",\"lost\":3}\n\n")
	})
	c := newClient(t, s.URL, client.Options{})
	var got []client.PluginLogLine
	for line, err := range c.FollowPluginLogs(t.Context(), "p", 7) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	if len(got) != 2 || got[0].Message != "one" || got[1].Lost != 3 || got[1].Level != "error" {
		t.Errorf("lines %+v", got)
	}
	if r := s.last(t); r.URI != "/api/admin/plugins/p/logs?follow=true&tail=7" || r.Header.Get("Accept") != "text/event-stream" {
		t.Errorf("asked %s", r.URI)
	}
}

// TestFollowPluginLogsSilence ends a stream whose connection is open and dead: not even heartbeats come.
func TestFollowPluginLogsSilence(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		events("event: log\ndata: {\"message\":\"one\"}\n\n")(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var last error
	n := 0
	for _, last = range newClient(t, s.URL, client.Options{StreamIdle: 50 * time.Millisecond}).FollowPluginLogs(ctx, "p", 0) {
		n++
	}
	var conn *client.ConnectionError
	if n != 2 || !errors.As(last, &conn) || !strings.Contains(last.Error(), "nothing came for 50ms") {
		t.Errorf("%d results, the last is %v", n, last)
	}
}

func TestFollowPluginLogsRefused(t *testing.T) {
	s := newServer(t, answer(404, `{"error":{"code":"NOT_FOUND","message":"no","details":{}},"requestId":"r"}`))
	n := 0
	for _, err := range newClient(t, s.URL, client.Options{}).FollowPluginLogs(t.Context(), "p", 0) {
		n++
		if client.CodeOf(err) != client.CodeNotFound {
			t.Errorf("error %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d results", n)
	}
}

func TestFollowPluginLogsBadLine(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "event: log\ndata: no json\n\nevent: log\ndata: {}\n\n")
	})
	n := 0
	for _, err := range newClient(t, s.URL, client.Options{}).FollowPluginLogs(t.Context(), "p", 0) {
		n++
		if err == nil {
			t.Error("it was taken")
		}
	}
	if n != 1 {
		t.Errorf("%d results", n)
	}
}
