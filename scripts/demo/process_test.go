package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startShell(t *testing.T, script string) *process {
	t.Helper()
	p, err := startProcess("shell", filepath.Join(t.TempDir(), "log"), nil, "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
	})
	return p
}

func TestProcess_Stop(t *testing.T) {
	p := startShell(t, `trap 'kill $!; exit 0' TERM; echo up; sleep 60 & wait`)
	for { // the trap must be set before the signal comes
		if log, err := os.ReadFile(p.log.Name()); err == nil && len(log) > 0 {
			break
		}
	}
	if err := p.running(); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(20 * time.Second); err != nil {
		t.Error(err)
	}
	if err := p.stop(0); err != nil {
		t.Errorf("second stop: %v", err)
	}
}

func TestProcess_StopDeaf(t *testing.T) {
	p := startShell(t, `trap '' TERM; echo up; while :; do :; done`)
	for {
		if log, err := os.ReadFile(p.log.Name()); err == nil && len(log) > 0 {
			break
		}
	}
	if err := p.stop(time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not end within 1ms") {
		t.Errorf("got %v", err)
	}
	if p.running() == nil {
		t.Error("it runs")
	}
}

func TestProcess_Kill(t *testing.T) {
	p := startShell(t, `while :; do sleep 1; done`)
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.kill(); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("second kill: %v", err)
	}
}

func TestProcess_NoBinary(t *testing.T) {
	if _, err := startProcess("x", filepath.Join(t.TempDir(), "log"), nil, "/nonexistent/binary"); err == nil {
		t.Error("it started")
	}
}

func TestQuoted(t *testing.T) {
	got := strings.Join(quoted([]string{"run", "--input", `{"a": 1}`}), " ")
	if want := `run --input '{"a": 1}'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
