package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shell starts a child that runs a script.
func shell(t *testing.T, script string) (*process, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	p, err := launch(log, "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p, log
}

func TestProcessTellsReady(t *testing.T) {
	p, log := shell(t, "echo before; echo oops >&2; echo 'ready: http://x'; echo 'ready: twice'; exec cat /dev/zero >/dev/null")
	if took := <-p.ready; took <= 0 {
		t.Fatalf("ready after %s", took)
	}
	if p.ended() {
		t.Fatal("it has ended")
	}
	p.kill()
	if !p.ended() || !strings.Contains(p.outcome(), "killed") {
		t.Fatalf("after the kill: %s", p.outcome())
	}
	if text, err := os.ReadFile(log); err != nil || string(text) != "oops\n" {
		t.Fatalf("log %q, %v", text, err)
	}
}

func TestProcessStop(t *testing.T) {
	p, _ := shell(t, "trap 'exit 0' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	<-p.ready
	if err := p.stop(10 * time.Second); err != nil || p.outcome() != "exit status 0" {
		t.Fatalf("stop: %v, %s", err, p.outcome())
	}
	p, _ = shell(t, "trap 'exit 3' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	<-p.ready
	if err := p.stop(10 * time.Second); err == nil || !strings.Contains(err.Error(), "3") {
		t.Fatalf("a bad end: %v", err)
	}
	p, _ = shell(t, "trap '' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	<-p.ready
	if err := p.stop(50 * time.Millisecond); err == nil || !p.ended() {
		t.Fatalf("one that does not end: %v", err)
	}
}

func TestLaunchOfNothing(t *testing.T) {
	if _, err := launch(filepath.Join(t.TempDir(), "log"), "/nowhere/at/all"); err == nil {
		t.Fatal("no error")
	}
}

// A core that ends by itself broke a promise, and the end of its log is shown.
func TestServerThatEnds(t *testing.T) {
	p, log := shell(t, "for i in $(seq 40); do echo line $i >&2; done; exit 7")
	s := &server{process: p, log: log}
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
	p, log := shell(t, "trap 'exit 0' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	s := &server{process: p, log: log}
	if err := s.ready(t.Context()); err != nil || len(s.readyTimes) != 1 {
		t.Fatalf("ready: %v", err)
	}
	if err := s.drain(t.Context(), 10*time.Second); err != nil || s.drains != 1 || s.kills != 0 {
		t.Fatalf("in time: %v, %d", err, s.drains)
	}
	p, log = shell(t, "trap '' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	s = &server{process: p, log: log}
	if err := s.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.drain(t.Context(), 50*time.Millisecond); err != nil || s.kills != 1 {
		t.Fatalf("killed while it drains: %v, %d", err, s.kills)
	}
}
