package holder_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// stream runs this program as the holder's binary, as an exec in a pod would.
func stream(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	own, _ := os.Executable()
	cmd := exec.CommandContext(ctx, own, args...)
	cmd.Stdin, cmd.Stdout, cmd.WaitDelay = in, out, time.Second
	cmd.Env = append(os.Environ(), "OF_THE_POD=yes")
	return cmd.Run()
}

func TestRoom(t *testing.T) {
	ctx, dir, room := t.Context(), t.TempDir(), holder.Room{Stream: stream}
	note := filepath.Join(dir, "home", "deep", "note")
	if err := room.Write(ctx, []agentcli.File{{Path: note, Data: []byte("first"), Mode: 0o640}, {Path: filepath.Join(dir, "secret"), Data: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	if err := room.Write(ctx, []agentcli.File{{Path: note, Data: []byte("other"), Keep: true}}); err != nil {
		t.Fatal(err)
	}
	if data, err := room.ReadFile(ctx, note); err != nil || string(data) != "first" {
		t.Errorf("the file is %q, %v", data, err)
	}
	for name, want := range map[string]fs.FileMode{note: 0o640, filepath.Join(dir, "secret"): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
		}
	}
	for _, tt := range []struct {
		offset int64
		limit  int
		want   string
		at     int64
	}{{0, 2, "fi", 0}, {3, 9, "st", 3}, {-2, 9, "st", 3}, {-99, 1, "f", 0}, {99, 9, "", 99}} {
		if data, at, err := room.ReadFrom(ctx, note, tt.offset, tt.limit); err != nil || string(data) != tt.want || at != tt.at {
			t.Errorf("%d bytes from %d are %q at %d, %v", tt.limit, tt.offset, data, at, err)
		}
	}
	if _, err := room.ReadFile(ctx, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := room.ReadFile(ctx, filepath.Join(dir, "fifo")); err == nil {
		t.Error("a FIFO is read")
	}
	if err := room.Write(ctx, []agentcli.File{{Path: dir, Data: []byte("x")}}); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("a file in place of a directory: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(note)); err != nil || len(left) != 1 {
		t.Errorf("%v is left beside the file, %v", left, err)
	}
	if found, err := room.LookPath(ctx, "sh"); err != nil || !filepath.IsAbs(found) {
		t.Errorf("sh is %q, %v", found, err)
	}
	for _, name := range []string{"no-such-command", "", "sh;true", "../sh", dir} {
		if found, err := room.LookPath(ctx, name); runtime.ErrorCode(err) != runtime.CodeCLINotFound {
			t.Errorf("%q is %q, %v", name, found, err)
		}
	}
	if usage, err := room.Usage(ctx); err != nil || usage.MemoryBytes == 0 && usage.CPU == 0 && usage.PIDs == 0 {
		t.Logf("nothing is measured here: %+v, %v", usage, err) // outside of a container the figures are the machine's, if any
	}
}

// TestRoomLargeFile writes what no frame holds, and reads it back. What is cut off changes nothing.
func TestRoomLargeFile(t *testing.T) {
	ctx, dir, room := t.Context(), t.TempDir(), holder.Room{Stream: stream}
	large, small := filepath.Join(dir, "large"), filepath.Join(dir, "small")
	want := strings.Repeat("0123456789abcde\n", (2*wire.MaxPayload+100)/16)
	if err := room.Write(ctx, []agentcli.File{{Path: large, Data: []byte(want)}, {Path: small, Data: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{large: want, small: "x"} {
		if data, err := room.ReadFile(ctx, name); err != nil || string(data) != want {
			t.Errorf("%s has %d bytes, %v", name, len(data), err)
		}
	}
	if err := room.Write(ctx, []agentcli.File{{Path: small, Data: make([]byte, wire.MaxFile+1)}}); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("a file beyond the bound: %v", err)
	}
	cut := holder.Room{Stream: func(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
		return stream(ctx, io.LimitReader(in, wire.HeaderLen+4+wire.MaxPayload), out, args...)
	}}
	if err := cut.Write(ctx, []agentcli.File{{Path: small, Data: []byte(want)}}); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("a file that is cut off: %v", err)
	}
	if data, err := room.ReadFile(ctx, small); err != nil || string(data) != "x" {
		t.Errorf("after what failed it is %d bytes, %v", len(data), err)
	}
}

// TestStream starts a holder over a stream, which outlives it, and gives its command the environment of the place.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l := wire.Launch{
		Socket: filepath.Join(dir, "s"), Nonce: holder.NewNonce(), ExitFile: filepath.Join(dir, "exit"), Path: "/bin/sh",
		Args: []string{"-c", `echo "$OF_THE_POD $MINE ${GOGC-none}."; read line; exit 6`}, Env: []string{"MINE=too"}, Dir: dir, Cols: 80, Rows: 24, Inherit: true,
	}
	s := holder.Stream(stream)
	if _, err := s.Start(ctx, filepath.Join(dir, "log"), l); err != nil {
		t.Fatal(err)
	}
	c, err := holder.Connect(ctx, holder.Options{Nonce: l.Nonce, Dial: s.Dial(l.Socket)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Output(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	got := ""
	for !strings.Contains(got, ".") {
		n, err := out.Read(buf)
		if got += string(buf[:n]); err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if strings.TrimSpace(got) != "yes too none." {
		t.Errorf("the environment is %q", got)
	}
	_ = out.Close()
	if err := c.Cut(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(ctx); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("Wait after the cut: %v", err)
	}
	_ = c.Close()
	if c, err = holder.Connect(ctx, holder.Options{Nonce: l.Nonce, Dial: s.Dial(l.Socket)}); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(ctx, []byte("x\r")); err != nil {
		t.Fatal(err)
	}
	if exit, err := c.Wait(ctx); err != nil || exit.Code != 6 {
		t.Errorf("exit %+v, %v", exit, err)
	}
	_ = c.Close()
	failing := holder.Stream(func(context.Context, io.Reader, io.Writer, ...string) error { return errors.New("no route to host") })
	if _, err := failing.Start(ctx, "/log", l); runtime.ErrorCode(err) != runtime.CodeUnavailable || !strings.Contains(err.Error(), "no route") {
		t.Errorf("a start over a stream that fails: %v", err)
	}
	if _, err := holder.Connect(ctx, holder.Options{Nonce: l.Nonce, Dial: failing.Dial(l.Socket)}); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("a connection over it: %v", err)
	}
}

// TestStartDial starts a holder and connects to it by one command; a binary that knows no such command is asked as before.
func TestStartDial(t *testing.T) {
	for name, old := range map[string]bool{"Now": false, "OlderBinary": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			l := wire.Launch{
				Socket: filepath.Join(dir, "s"), Nonce: holder.NewNonce(), ExitFile: filepath.Join(dir, "exit"), Path: "/bin/sh",
				Args: []string{"-c", "read line; exit 6"}, Dir: dir, Cols: 80, Rows: 24,
			}
			calls := make(chan string, 8)
			s := holder.Stream(func(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
				calls <- args[0]
				if old && len(args) == 3 {
					return stream(ctx, nil, out, "start")
				}
				return stream(ctx, in, out, args...)
			})
			h, conn, err := s.StartDial(ctx, filepath.Join(dir, "log"), l.Socket, l)
			if err != nil || h.Command.PID == 0 || (conn == nil) != old {
				t.Fatalf("%+v, %v, %v", h, conn, err)
			}
			dial := s.Dial(l.Socket)
			if conn != nil {
				dial = func(context.Context) (net.Conn, error) { return conn, nil }
			}
			c, err := holder.Connect(ctx, holder.Options{Nonce: l.Nonce, Dial: dial})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Write(ctx, []byte("x\r")); err != nil {
				t.Fatal(err)
			}
			if exit, err := c.Wait(ctx); err != nil || exit.Code != 6 {
				t.Errorf("exit %+v, %v", exit, err)
			}
			_ = c.Close()
			if want := map[bool]int{false: 1, true: 3}[old]; len(calls) != want {
				t.Errorf("%d commands, want %d", len(calls), want)
			}
			l.Path = "/no/such/command"
			l.Socket = filepath.Join(dir, "other")
			var code interface{ ExitCode() int }
			if _, conn, err := s.StartDial(ctx, filepath.Join(dir, "log"), l.Socket, l); conn != nil || err == nil || errors.As(err, &code) || runtime.ErrorCode(err) != runtime.CodeCLINotFound {
				t.Errorf("a command that is not there: %v, %v", conn, err)
			}
			failing := holder.Stream(func(context.Context, io.Reader, io.Writer, ...string) error { return errors.New("no route to host") })
			if _, _, err := failing.StartDial(ctx, "/log", l.Socket, l); runtime.ErrorCode(err) != runtime.CodeUnavailable || !strings.Contains(err.Error(), "no route") {
				t.Errorf("a start over a stream that fails: %v", err)
			}
		})
	}
}

// TestStartLetsGo starts a holder and keeps the first connection to it: the holder is not the child of what connects, so that the first
// process of its pod has it.
func TestStartLetsGo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	var starter atomic.Int64
	s := holder.Stream(func(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
		own, _ := os.Executable()
		cmd := exec.CommandContext(ctx, own, args...)
		cmd.Stdin, cmd.Stdout, cmd.WaitDelay = in, out, time.Second
		if err := cmd.Start(); err != nil {
			return err
		}
		starter.Store(int64(cmd.Process.Pid))
		return cmd.Wait()
	})
	l := wire.Launch{
		Socket: filepath.Join(dir, "s"), Nonce: holder.NewNonce(), ExitFile: filepath.Join(dir, "exit"), Path: "/bin/sh", Args: []string{"-c", "read -r line"},
		Dir: dir, Cols: 80, Rows: 24,
	}
	h, conn, err := s.StartDial(ctx, filepath.Join(dir, "log"), l.Socket, l)
	if err != nil || conn == nil {
		t.Fatalf("%+v, %v, %v", h, conn, err)
	}
	c, err := holder.Connect(ctx, holder.Options{Nonce: l.Nonce, Dial: func(context.Context) (net.Conn, error) { return conn, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = c.Kill(ctx), c.Close() }()
	command, err := proc.Stat(h.Command.PID)
	if err != nil {
		t.Fatal(err)
	}
	own, err := proc.Stat(command.Parent)
	if err != nil || own.Parent == int(starter.Load()) {
		t.Errorf("the holder %d is the child of %d, which connects to it: %v", command.Parent, own.Parent, err)
	}
}

// TestRoomEnds is the first process of a pod: it ends when nothing runs.
func TestRoomEnds(t *testing.T) {
	own, _ := os.Executable()
	if err := exec.CommandContext(t.Context(), own, "room", "1", filepath.Join(t.TempDir(), "exit")).Run(); err != nil {
		t.Errorf("without work it ends with %v", err)
	}
	if err := exec.CommandContext(t.Context(), own, "room", "0", "exit").Run(); err == nil {
		t.Error("it waits for no time at all")
	}
}

// What is in the place of the binary may be any program of the image, or the agent's own: one that writes without end is not listened
// to for long.
func TestRoomOfEndlessWords(t *testing.T) {
	const enough = 64 << 20
	taken := 0
	room := holder.Room{Stream: func(_ context.Context, _ io.Reader, out io.Writer, _ ...string) error {
		for taken = 0; taken < enough; {
			n, err := out.Write(make([]byte, 32<<10))
			if taken += n; err != nil {
				break
			}
		}
		return nil // as that of a pod does, which hears the program to its end
	}}
	for name, ask := range map[string]func(ctx context.Context) error{
		"look": func(ctx context.Context) error { _, err := room.LookPath(ctx, "sh"); return err },
		"put": func(ctx context.Context) error {
			return room.Write(ctx, []agentcli.File{{Path: "/x", Data: []byte("x")}})
		},
		"get":   func(ctx context.Context) error { _, err := room.ReadFile(ctx, "/x"); return err },
		"usage": func(ctx context.Context) error { _, err := room.Usage(ctx); return err },
		"start": func(ctx context.Context) error { _, err := room.Stream.Start(ctx, "/log", wire.Launch{}); return err },
	} {
		if err := ask(t.Context()); err == nil || taken > 2*wire.MaxBody {
			t.Errorf("%s: %d bytes were taken, %v", name, taken, err)
		}
	}
}
