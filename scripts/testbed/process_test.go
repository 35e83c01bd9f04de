package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shell starts a child that runs a script.
func shell(t *testing.T, script string) (*Process, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	p, err := Command{Args: []string{"/bin/sh", "-c", script}, Log: log}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p, log
}

func TestProcessTellsReady(t *testing.T) {
	p, log := shell(t, "echo before; echo oops >&2; echo 'ready: http://x'; echo 'ready: twice'; exec cat /dev/zero >/dev/null")
	if err := p.Await(t.Context(), time.Minute); err != nil || p.Took <= 0 || p.Address != "http://x" {
		t.Fatalf("ready at %q after %s: %v", p.Address, p.Took, err)
	}
	if p.Ended() {
		t.Fatal("it has ended")
	}
	p.Kill()
	if !p.Ended() || !strings.Contains(p.Outcome(), "killed") {
		t.Fatalf("after the kill: %s", p.Outcome())
	}
	if text, err := os.ReadFile(log); err != nil || string(text) != "oops\n" {
		t.Fatalf("log %q, %v", text, err)
	}
}

func TestProcessStop(t *testing.T) {
	p, _ := shell(t, "trap 'exit 0' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	<-p.Ready
	if err := p.Stop(10 * time.Second); err != nil || p.Outcome() != "exit status 0" {
		t.Fatalf("stop: %v, %s", err, p.Outcome())
	}
	p, _ = shell(t, "trap 'exit 3' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	<-p.Ready
	if err := p.Stop(10 * time.Second); err == nil || !strings.Contains(err.Error(), "3") {
		t.Fatalf("a bad end: %v", err)
	}
	p, _ = shell(t, "trap '' TERM; echo 'ready: '; while :; do sleep 0.01; done")
	<-p.Ready
	if err := p.Stop(50 * time.Millisecond); err == nil || !p.Ended() {
		t.Fatalf("one that does not end: %v", err)
	}
}

func TestStartOfNothing(t *testing.T) {
	if _, err := (Command{Args: []string{"/nowhere/at/all"}, Log: filepath.Join(t.TempDir(), "log")}).Start(); err == nil {
		t.Fatal("no error")
	}
}
