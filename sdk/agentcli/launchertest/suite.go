// Package launchertest proves that a Launcher keeps the contract of agentcli. Runtime authors call Run from a test
// of theirs; it starts real processes with /bin/sh.
package launchertest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Patience bounds each step of the suite.
const Patience = 20 * time.Second

// Options fit the suite to a launcher.
type Options struct {
	// New makes a launcher for one test. It is called again with the same directory for what survives the
	// launcher's process; closing one must leave its agents running.
	New func(t *testing.T, dir string) agentcli.Launcher
	// Survives says that agents outlive the launcher, so that Find is tried with a new one.
	Survives bool
	// Sever cuts the connections of a process that New's launcher launched, as the network would: the command runs on, and
	// Find reaches it again. Nil: there is none, or it cannot be cut.
	Sever func(t *testing.T, p agentcli.Process)
	// Shell is a POSIX shell where agents run; empty: /bin/sh.
	Shell string
}

// Run runs the suite.
func Run(t *testing.T, opts Options) {
	opts.Shell = cmp.Or(opts.Shell, "/bin/sh")
	s := &suite{opts: opts}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Room", s.room}, {"Echo", s.echo}, {"ExitCode", s.exitCode}, {"ExitSignal", s.exitSignal}, {"Resize", s.resize},
		{"OutputFromOffset", s.outputFromOffset}, {"SecondReader", s.secondReader}, {"LargeOutput", s.largeOutput},
		{"KillTree", s.killTree}, {"CommandMissing", s.commandMissing}, {"WriteBound", s.writeBound}, {"FindGone", s.findGone},
		{"RemoveUnknown", s.removeUnknown}, {"Restart", s.restart}, {"Checkpoint", s.checkpoint}, {"Find", s.find}, {"Sever", s.sever}, {"Hooks", s.hooks},
	} {
		t.Run(test.name, test.run)
	}
}

type suite struct{ opts Options }

// agent is a launched command of a test.
type agent struct {
	agentcli.Process
	t        *testing.T
	launcher agentcli.Launcher
	room     agentcli.Room
	dir      string
	id       string
}

// launch starts a script in the shell, in a launcher of its own.
func (s *suite) launch(t *testing.T, script string) *agent {
	t.Helper()
	dir := t.TempDir()
	return s.launchIn(t, s.opts.New(t, dir), dir, script)
}

func (s *suite) launchIn(t *testing.T, l agentcli.Launcher, dir, script string) *agent {
	t.Helper()
	return s.launchRoom(t, l, dir, func(agentcli.Room) string { return script })
}

// launchRoom is launchIn with a script that depends on the room.
func (s *suite) launchRoom(t *testing.T, l agentcli.Launcher, dir string, script func(room agentcli.Room) string) *agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	spec := &runtime.Spec{ID: "agent_" + strings.ReplaceAll(strings.ToLower(t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]), "#", "_"), Type: "sh"}
	room, err := l.Prepare(ctx, spec)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	a := &agent{t: t, launcher: l, room: room, dir: dir, id: spec.ID}
	a.Process, err = l.Launch(ctx, agentcli.Command{
		Spec: spec, Room: room, Path: s.opts.Shell, Args: []string{"-c", script(room)}, Env: room.Env, Cols: 80, Rows: 24,
	})
	if err != nil {
		t.Fatalf("Launch: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := a.Kill(ctx); err != nil {
			t.Errorf("Kill: %v", err)
		}
		_ = a.Close()
		if err := l.Remove(ctx, a.id); err != nil {
			t.Errorf("Remove: %v", err)
		}
	})
	return a
}

func (a *agent) ctx() context.Context {
	ctx, cancel := context.WithTimeout(a.t.Context(), Patience)
	a.t.Cleanup(cancel)
	return ctx
}

// open opens the output.
func (a *agent) open(from uint64) agentcli.Output {
	a.t.Helper()
	out, err := a.Output(a.ctx(), from)
	if err != nil {
		a.t.Fatalf("Output(%d): %v", from, err)
	}
	a.t.Cleanup(func() { _ = out.Close() })
	return out
}

// until reads output until it holds want.
func (a *agent) until(out agentcli.Output, want string) string {
	a.t.Helper()
	var got bytes.Buffer
	buf := make([]byte, 64<<10)
	for !strings.Contains(got.String(), want) {
		n, err := out.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			a.t.Fatalf("the output ended (%v) before %q: %q", err, want, tail(got.String()))
		}
	}
	return got.String()
}

// wait waits for the end.
func (a *agent) wait() runtime.Exit {
	a.t.Helper()
	exit, err := a.Wait(a.ctx())
	if err != nil {
		a.t.Fatalf("Wait: %v", err)
	}
	return exit
}

func tail(s string) string { return s[max(0, len(s)-400):] }

func (s *suite) room(t *testing.T) {
	a := s.launch(t, `test -d "$HOME" && pwd -P && echo "home=$HOME"; exec sleep 60`)
	got := a.until(a.open(0), "home=")
	if !strings.Contains(got, a.room.Workdir) {
		t.Errorf("the command does not work in %s: %q", a.room.Workdir, got)
	}
	if _, err := a.room.LookPath("surely-no-such-command"); runtime.ErrorCode(err) != runtime.CodeCLINotFound {
		t.Errorf("LookPath of a missing command: %v, want CLI_NOT_FOUND", err)
	}
	if a.room.ReadFile != nil {
		if _, err := a.room.ReadFile(a.room.Home + "/missing"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("ReadFile of a missing file: %v, want os.ErrNotExist", err)
		}
	}
	if a.room.ReadFrom != nil {
		if _, _, err := a.room.ReadFrom(a.room.Home+"/missing", 0, 1); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("ReadFrom of a missing file: %v, want os.ErrNotExist", err)
		}
	}
	if info := a.Info(); info.StartedAt.IsZero() {
		t.Error("Info has no StartedAt")
	}
	if n := len(a.Handle()); n == 0 || n > 4<<10 {
		t.Errorf("the handle has %d bytes, want 1 to 4096", n)
	}
}

func (s *suite) echo(t *testing.T) {
	a := s.launch(t, `stty -echo; echo go; while read -r line; do echo "got:$line"; done`)
	out := a.open(0)
	a.until(out, "go")
	for i := range 3 {
		if err := a.Write(a.ctx(), fmt.Appendf(nil, "line %d\r", i)); err != nil {
			t.Fatalf("Write: %v", err)
		}
		a.until(out, fmt.Sprintf("got:line %d", i))
	}
}

func (s *suite) exitCode(t *testing.T) {
	a := s.launch(t, `echo last words; exit 7`)
	got, err := io.ReadAll(a.open(0))
	if err != nil || !strings.Contains(string(got), "last words") {
		t.Errorf("output %q, error %v", got, err)
	}
	if exit := a.wait(); exit.Code != 7 {
		t.Errorf("exit code %d, want 7", exit.Code)
	}
}

func (s *suite) exitSignal(t *testing.T) {
	a := s.launch(t, `echo go; exec sleep 60`)
	a.until(a.open(0), "go")
	if err := a.Interrupt(a.ctx()); err != nil {
		t.Fatalf("Interrupt: %v", err)
	}
	if exit := a.wait(); exit.Code != 143 {
		t.Errorf("exit code %d, want 143 after SIGTERM", exit.Code)
	}
}

func (s *suite) resize(t *testing.T) {
	a := s.launch(t, `stty -echo; stty size; while read -r line; do stty size; done`)
	out := a.open(0)
	a.until(out, "24 80")
	if err := a.Resize(a.ctx(), 132, 43); err != nil {
		t.Fatalf("Resize: %v", err)
	}
	if err := a.Write(a.ctx(), []byte("\r")); err != nil {
		t.Fatalf("Write: %v", err)
	}
	a.until(out, "43 132")
	for _, size := range [][2]int{{0, 10}, {10, 0}, {100_000, 10}, {10, 100_000}, {-1, 10}} {
		if err := a.Resize(a.ctx(), size[0], size[1]); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
			t.Errorf("Resize(%d, %d): %v, want INVALID_ARGUMENT", size[0], size[1], err)
		}
	}
}

func (s *suite) outputFromOffset(t *testing.T) {
	a := s.launch(t, `printf 0123456789; exec sleep 60`)
	out := a.open(0)
	if got := a.until(out, "9"); got != "0123456789" || out.Offset() != 10 {
		t.Fatalf("output %q, offset %d", got, out.Offset())
	}
	later := a.open(4)
	if later.Offset() != 4 {
		t.Errorf("offset %d, want 4", later.Offset())
	}
	if got := a.until(later, "9"); got != "456789" {
		t.Errorf("output from 4 is %q", got)
	}
	if beyond := a.open(1 << 40); beyond.Offset() != 10 {
		t.Errorf("output from beyond the end begins at %d, want 10", beyond.Offset())
	}
}

func (s *suite) secondReader(t *testing.T) {
	a := s.launch(t, `echo go; exec sleep 60`)
	first := a.open(0)
	a.until(first, "go")
	ended := make(chan error, 1)
	go func() {
		_, err := first.Read(make([]byte, 1))
		ended <- err
	}()
	a.open(0)
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the first reader got %v, want an error: nothing has ended", err)
		}
	case <-time.After(Patience):
		t.Error("a second reader does not end the first")
	}
}

// largeOutput proves that a reader gets every byte. The command waits for it: what is written before somebody reads
// is kept only as far as there is room.
func (s *suite) largeOutput(t *testing.T) {
	const size = 8 << 20
	a := s.launch(t, fmt.Sprintf(`stty raw -echo; printf go; head -c 1 >/dev/null; yes 0123456789abcde | head -c %d; echo; exit 3`, size))
	out := a.open(0)
	a.until(out, "go")
	start := out.Offset()
	if err := a.Write(a.ctx(), []byte("x")); err != nil {
		t.Fatalf("Write: %v", err)
	}
	line := []byte("0123456789abcde\n")
	var total int
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		for i, b := range buf[:n] {
			if at := total + i; at < size && b != line[at%len(line)] {
				t.Fatalf("byte %d is %q, want %q", at, b, line[at%len(line)])
			}
		}
		total += n
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("after %d bytes: %v", total, err)
			}
			break
		}
	}
	if total != size+1 {
		t.Errorf("%d bytes, want %d", total, size+1)
	}
	if got, want := out.Offset()-start, uint64(total); got != want {
		t.Errorf("the offset went on by %d for %d bytes", got, want)
	}
	if exit := a.wait(); exit.Code != 3 {
		t.Errorf("exit code %d, want 3", exit.Code)
	}
}

// killTree has a command that ignores SIGTERM, with a child in the same session and one in its own.
func (s *suite) killTree(t *testing.T) {
	a := s.launch(t, `trap '' TERM HUP; sh -c 'trap "" TERM HUP; while :; do echo alive >> "$HOME/child"; sleep 0.05; done' &
		setsid sh -c 'trap "" TERM HUP; while :; do echo alive >> "$HOME/far"; sleep 0.05; done' &
		until test -s "$HOME/child" && test -s "$HOME/far"; do sleep 0.02; done; echo go; while :; do sleep 1; done`)
	a.until(a.open(0), "go")
	if err := a.Kill(a.ctx()); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	if err := a.Kill(a.ctx()); err != nil {
		t.Errorf("a second Kill: %v", err)
	}
	if exit := a.wait(); exit.Code != 137 {
		t.Errorf("exit code %d, want 137", exit.Code)
	}
	if a.room.ReadFile == nil {
		return
	}
	for _, name := range []string{"child", "far"} {
		before, err := a.room.ReadFile(a.room.Home + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(200 * time.Millisecond) // it would have written four times
		after, _ := a.room.ReadFile(a.room.Home + "/" + name)
		if len(after) != len(before) {
			t.Errorf("%s lives on after Kill", name)
		}
	}
}

func (s *suite) commandMissing(t *testing.T) {
	l := s.opts.New(t, t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	spec := &runtime.Spec{ID: "missing", Type: "sh"}
	room, err := l.Prepare(ctx, spec)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	_, err = l.Launch(ctx, agentcli.Command{Spec: spec, Room: room, Path: "/no/such/command", Env: room.Env, Cols: 80, Rows: 24})
	switch runtime.ErrorCode(err) {
	case runtime.CodeCLINotFound, runtime.CodeSpawnFailed:
	default:
		t.Errorf("Launch of a missing command: %v, want CLI_NOT_FOUND or SPAWN_FAILED", err)
	}
	if err := l.Remove(ctx, spec.ID); err != nil {
		t.Errorf("Remove: %v", err)
	}
}

// writeBound types into a command that does not read: the caller's time bounds it, and output goes on.
func (s *suite) writeBound(t *testing.T) {
	a := s.launch(t, `stty raw -echo; echo go; i=0; while :; do echo "tick $i"; i=$((i+1)); sleep 0.05; done`)
	out := a.open(0)
	a.until(out, "go")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- a.Write(ctx, bytes.Repeat([]byte("x"), 1<<20)) }()
	a.until(out, "tick 3")
	select {
	case err := <-failed:
		if err == nil {
			t.Error("a command that does not read took 1 MiB")
		}
	case <-time.After(Patience):
		t.Fatal("Write does not return when its ctx ends")
	}
	if err := a.Kill(a.ctx()); err != nil {
		t.Errorf("Kill: %v", err)
	}
}

func (s *suite) findGone(t *testing.T) {
	dir := t.TempDir()
	l := s.opts.New(t, dir)
	a := s.launchIn(t, l, dir, `exec sleep 60`)
	handle := a.Handle()
	if err := a.Kill(a.ctx()); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	_ = a.Close()
	if err := l.Remove(a.ctx(), a.id); err != nil {
		t.Fatalf("Remove: %v", err)
	}
	if _, err := l.Find(a.ctx(), handle); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("Find of a removed agent: %v, want ErrGone", err)
	}
	for _, bad := range []string{"", "{}", "rubbish"} {
		if _, err := l.Find(a.ctx(), []byte(bad)); err == nil {
			t.Errorf("Find(%q) has no error", bad)
		}
	}
}

func (s *suite) removeUnknown(t *testing.T) {
	l := s.opts.New(t, t.TempDir())
	if err := l.Remove(t.Context(), "never_there"); err != nil {
		t.Errorf("Remove of what is not there: %v", err)
	}
}

// restart starts a second life under the same id: home is kept.
func (s *suite) restart(t *testing.T) {
	dir := t.TempDir()
	l := s.opts.New(t, dir)
	first := s.launchIn(t, l, dir, `echo kept > "$HOME/note"; echo go; exec sleep 60`)
	first.until(first.open(0), "go")
	if err := first.Kill(first.ctx()); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	_ = first.Close()
	second := s.launchIn(t, l, dir, `cat "$HOME/note"; exec sleep 60`)
	second.until(second.open(0), "kept")
}

func (s *suite) checkpoint(t *testing.T) {
	a := s.launch(t, `exec sleep 60`)
	keeper, ok := a.Process.(agentcli.Checkpointer)
	if !ok {
		t.Skip("this launcher keeps no checkpoints")
	}
	if _, note, err := keeper.LoadCheckpoint(a.ctx()); err != nil || len(note) != 0 {
		t.Errorf("a fresh checkpoint is %d bytes, error %v", len(note), err)
	}
	want := bytes.Repeat([]byte("screen "), 400<<10)
	if err := keeper.SaveCheckpoint(a.ctx(), 1<<40, want); err != nil {
		t.Fatalf("SaveCheckpoint: %v", err)
	}
	offset, note, err := keeper.LoadCheckpoint(a.ctx())
	if err != nil || offset != 1<<40 || !bytes.Equal(note, want) {
		t.Errorf("LoadCheckpoint: offset %d, %d bytes, error %v", offset, len(note), err)
	}
	if err := keeper.SaveCheckpoint(a.ctx(), 0, make([]byte, 4<<20+1)); err == nil {
		t.Error("a checkpoint of more than 4 MiB is taken")
	}
}

// find drops the launcher and finds the agent with a new one: output from the offset, hooks, checkpoint and all.
func (s *suite) find(t *testing.T) {
	if !s.opts.Survives {
		t.Skip("agents of this launcher do not outlive it")
	}
	a := s.launch(t, `stty -echo; echo go; while read -r line; do echo "got:$line"; done; exit 5`)
	out := a.open(0)
	a.until(out, "go")
	offset, handle := out.Offset(), a.Handle()
	if err := a.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	later := s.opts.New(t, a.dir)
	p, err := later.Find(a.ctx(), handle)
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	found := &agent{Process: p, t: t, launcher: later, room: a.room, id: a.id}
	a.Process = p // for the clean-up
	if found.Info().PID != 0 && !bytes.Equal(found.Handle(), handle) {
		t.Errorf("the handle changed from %s to %s", handle, found.Handle())
	}
	next := found.open(offset)
	if err := found.Write(found.ctx(), []byte("after\r")); err != nil {
		t.Fatalf("Write: %v", err)
	}
	found.until(next, "got:after")
	if err := found.Write(found.ctx(), []byte{4}); err != nil {
		t.Fatalf("Write: %v", err)
	}
	if exit := found.wait(); exit.Code != 5 {
		t.Errorf("exit code %d, want 5", exit.Code)
	}
}

// sever cuts the connection: the command is out of reach, and nobody may say that it is gone.
func (s *suite) sever(t *testing.T) {
	if s.opts.Sever == nil {
		t.Skip("the launcher has no connections that can be cut")
	}
	a := s.launch(t, "read line; echo got $line; exit 4")
	handle := a.Handle()
	s.opts.Sever(t, a.Process)
	if exit, err := a.Wait(a.ctx()); err == nil || errors.Is(err, agentcli.ErrGone) || a.ctx().Err() != nil {
		t.Fatalf("Wait after the connection was cut: %+v, %v; that is an end, and the command runs", exit, err)
	}
	found, err := a.launcher.Find(a.ctx(), handle)
	if err != nil {
		t.Fatalf("Find after the connection was cut: %v", err)
	}
	_ = a.Close()
	a.Process = found
	out := a.open(0)
	if err := a.Write(a.ctx(), []byte("it\r")); err != nil {
		t.Fatalf("Write: %v", err)
	}
	a.until(out, "got it")
	if exit := a.wait(); exit.Code != 4 {
		t.Errorf("exit %+v, want code 4", exit)
	}
}
