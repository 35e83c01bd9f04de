package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// shell starts a child that runs a script.
func shell(t *testing.T, script string) *server {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	p, err := testbed.Command{Args: []string{"/bin/sh", "-c", script}, Log: log}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &server{Server: &testbed.Server{Process: p}}
}

// A core that ends by itself broke a promise, and the end of its log is shown.
func TestServerThatEnds(t *testing.T) {
	s := shell(t, "for i in $(seq 40); do echo line $i >&2; done; exit 7")
	err := s.ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "line 40") || strings.Contains(err.Error(), "line 20\n") {
		t.Fatalf("ready: %v", err)
	}
	if err := s.kill(); err == nil || s.kills != 0 {
		t.Fatalf("kill: %v", err)
	}
	if err := s.drain(t.Context(), time.Second); err == nil {
		t.Fatal("drain of a core that has ended")
	}
}

func TestServerDrain(t *testing.T) {
	s := shell(t, "trap 'exit 0' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	if err := s.ready(t.Context()); err != nil || len(s.readyTimes) != 1 {
		t.Fatalf("ready: %v", err)
	}
	if err := s.drain(t.Context(), 10*time.Second); err != nil || s.drains != 1 || s.kills != 0 {
		t.Fatalf("in time: %v, %d", err, s.drains)
	}
	s = shell(t, "trap '' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	if err := s.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.drain(t.Context(), 50*time.Millisecond); err != nil || s.kills != 1 {
		t.Fatalf("killed while it drains: %v, %d", err, s.kills)
	}
}
