package stream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/stream"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const patience = 20 * time.Second

// terminal is a command made of two pipes, without deadlines: what a container engine or ssh gives.
type terminal struct {
	*io.PipeReader // output
	*io.PipeWriter // input
	mu             sync.Mutex
	cols, rows     int
}

func (t *terminal) Read(b []byte) (int, error)  { return t.PipeReader.Read(b) }
func (t *terminal) Write(b []byte) (int, error) { return t.PipeWriter.Write(b) }
func (t *terminal) Close() error                { return errors.Join(t.PipeReader.Close(), t.PipeWriter.Close()) }
func (t *terminal) Resize(cols, rows int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cols, t.rows = cols, rows
	return nil
}

// command is the other side of a terminal.
type command struct {
	t      *testing.T
	table  *stream.Table
	p      *stream.Process
	term   *terminal
	output *io.PipeWriter
	input  *io.PipeReader
	exit   chan runtime.Exit
	once   sync.Once
}

func start(t *testing.T, change func(*stream.Options)) *command {
	t.Helper()
	out, output := io.Pipe()
	input, in := io.Pipe()
	c := &command{
		t: t, table: &stream.Table{}, term: &terminal{PipeReader: out, PipeWriter: in}, output: output, input: input,
		exit: make(chan runtime.Exit, 1),
	}
	o := stream.Options{
		Terminal: c.term, Info: agentcli.ProcessInfo{PID: 7},
		Interrupt: func(context.Context) error { c.end(143); return nil },
		Kill:      func(context.Context) error { c.end(137); return nil },
		Wait:      func() (runtime.Exit, error) { return <-c.exit, nil },
	}
	if change != nil {
		change(&o)
	}
	c.p = c.table.Add("a", o)
	t.Cleanup(func() {
		if err := c.table.Close(c.ctx()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func (c *command) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

// end ends the command once.
func (c *command) end(code int) {
	c.once.Do(func() {
		c.exit <- runtime.Exit{Code: code}
		_ = c.output.Close()
	})
}

func (c *command) print(b []byte) {
	c.t.Helper()
	if _, err := c.output.Write(b); err != nil {
		c.t.Errorf("the output is not read: %v", err)
	}
}

func (c *command) open(from uint64) agentcli.Output {
	c.t.Helper()
	out, err := c.p.Output(c.ctx(), from)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func wantCode(t *testing.T, what string, err error, want runtime.Code) {
	t.Helper()
	if runtime.ErrorCode(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// TestBackPressure has a reader that waits: the command is held up, and no byte is lost.
func TestBackPressure(t *testing.T) {
	c := start(t, func(o *stream.Options) { o.RingBytes = 1 })
	const total = 1 << 20
	want := bytes.Repeat([]byte("0123456789abcdef"), total/16)
	out := c.open(0)
	go func() {
		c.print(want)
		c.end(0)
	}()
	var got []byte
	buf := make([]byte, 1000)
	for {
		n, err := out.Read(buf)
		got = append(got, buf[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) || out.Offset() != total {
		t.Errorf("%d bytes of %d, offset %d", len(got), total, out.Offset())
	}
}

// TestUnreadOutput drops the oldest when nobody reads, and says where the rest begins.
func TestUnreadOutput(t *testing.T) {
	c := start(t, func(o *stream.Options) { o.RingBytes = 64 << 10 })
	c.print(bytes.Repeat([]byte("x"), 1<<20))
	c.print([]byte("end"))
	c.end(0)
	if _, err := c.p.Wait(c.ctx()); err != nil {
		t.Fatal(err)
	}
	out := c.open(5)
	if want := uint64(1<<20 + 3 - 64<<10); out.Offset() != want {
		t.Errorf("the output begins at %d, want %d", out.Offset(), want)
	}
	rest, err := io.ReadAll(out)
	if err != nil || len(rest) != 64<<10 || !bytes.HasSuffix(rest, []byte("xend")) {
		t.Errorf("%d bytes, error %v", len(rest), err)
	}
}

// TestKillReleases ends a command that a reader holds up.
func TestKillReleases(t *testing.T) {
	c := start(t, nil)
	out := c.open(0)
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		_, _ = c.output.Write(make([]byte, 4<<20)) // more than fits: it fails at the end
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := c.p.Kill(c.ctx()); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	<-printed
	if exit, err := c.p.Wait(c.ctx()); err != nil || exit.Code != 137 {
		t.Errorf("exit %+v, error %v", exit, err)
	}
}

// A kill that overlooks a process, which one in the middle of an exec may be, is repeated until the command has ended.
func TestKillIsRepeated(t *testing.T) {
	kills := 0
	var c *command
	c = start(t, func(o *stream.Options) {
		o.Kill = func(context.Context) error {
			if kills++; kills > 1 {
				c.end(137)
			}
			return nil
		}
	})
	if err := c.p.Kill(c.ctx()); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	if exit, err := c.p.Wait(c.ctx()); err != nil || exit.Code != 137 || kills != 2 {
		t.Errorf("exit %+v after %d kills, error %v", exit, kills, err)
	}
}

// TestWriterLeftBehind ends a command while something that it started writes on without a pause.
func TestWriterLeftBehind(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	out := c.open(0)
	read, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, out) // until the command is over
	}()
	go func() {
		defer close(written)
		for {
			if _, err := c.output.Write([]byte("on and on\n")); err != nil {
				return // the terminal is closed
			}
		}
	}()
	c.exit <- runtime.Exit{Code: 3}
	if exit, err := c.p.Wait(c.ctx()); err != nil || exit.Code != 3 {
		t.Errorf("exit %+v, error %v", exit, err)
	}
	<-read
	<-written
}

// TestReaderEnds ends a reader by its context and by Close, while it waits.
func TestReaderEnds(t *testing.T) {
	c := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	out, err := c.p.Output(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	read := func() { _, err := out.Read(make([]byte, 1)); failed <- err }
	go read()
	cancel()
	if err := <-failed; !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end of its context a reader got %v", err)
	}
	out = c.open(0)
	go read()
	if err := errors.Join(out.Close(), out.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-failed; !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close a reader got %v", err)
	}
}

// TestWriteWithoutDeadlines gives up a caller, not what it typed.
func TestWriteWithoutDeadlines(t *testing.T) {
	c := start(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	wantCode(t, "Write into a command that does not read", c.p.Write(ctx, []byte("ab")), runtime.CodeTimeout)
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	wantCode(t, "Write while another types", c.p.Write(cancelled, []byte("cd")), runtime.CodeCanceled)
	got := make([]byte, 2)
	if _, err := io.ReadFull(c.input, got); err != nil || string(got) != "ab" {
		t.Errorf("typed %q, error %v", got, err)
	}
	done := make(chan error, 1)
	go func() { done <- c.p.Write(c.ctx(), []byte("ef")) }()
	if _, err := io.ReadFull(c.input, got); err != nil || string(got) != "ef" {
		t.Errorf("typed %q, error %v", got, err)
	}
	if err := <-done; err != nil {
		t.Errorf("Write: %v", err)
	}
}

// TestEnded tells everything that needs a running command so.
func TestEnded(t *testing.T) {
	c := start(t, nil)
	wantCode(t, "Usage without a measure", usage(c), runtime.CodeUnimplemented)
	wantCode(t, "Resize to 0", c.p.Resize(c.ctx(), 0, 1), runtime.CodeInvalidArgument)
	if err := c.p.Resize(c.ctx(), 90, 30); err != nil || c.term.cols != 90 || c.term.rows != 30 {
		t.Errorf("Resize: %v, and the size is %dx%d", err, c.term.cols, c.term.rows)
	}
	if err := c.p.Interrupt(c.ctx()); err != nil {
		t.Fatal(err)
	}
	if exit, err := c.p.Wait(c.ctx()); err != nil || exit.Code != 143 {
		t.Errorf("exit %+v, error %v", exit, err)
	}
	wantCode(t, "Write", c.p.Write(c.ctx(), []byte("x")), runtime.CodeNotRunning)
	wantCode(t, "Resize", c.p.Resize(c.ctx(), 80, 24), runtime.CodeNotRunning)
	wantCode(t, "Interrupt", c.p.Interrupt(c.ctx()), runtime.CodeNotRunning)
	wantCode(t, "Usage", usage(c), runtime.CodeNotRunning)
}

func usage(c *command) error {
	_, err := c.p.Usage(c.ctx())
	return err
}

// TestFind finds what runs, and what ended and was not closed.
func TestFind(t *testing.T) {
	c := start(t, nil)
	handle := c.p.Handle()
	if stream.AgentOf(handle) != "a" || stream.AgentOf([]byte("{}")) != "" {
		t.Errorf("the agent of %s is %q", handle, stream.AgentOf(handle))
	}
	if err := c.p.Close(); err != nil {
		t.Fatal(err)
	}
	if p, err := c.table.Find(handle); err != nil || p.Info().PID != 7 {
		t.Fatalf("Find after Close: %v", err)
	}
	c.end(0)
	if _, err := c.p.Wait(c.ctx()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.table.Find(handle); err != nil {
		t.Errorf("Find of what ended: %v", err)
	}
	_ = c.p.Close()
	if _, err := c.table.Find(handle); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("Find of what was closed: %v, want ErrGone", err)
	}
	_, err := (&stream.Table{}).Find(handle)
	if !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("Find by a later process: %v, want ErrGone", err)
	}
}

func FuzzFind(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"v":1,"id":"a","nonce":"n"}`, `{"v":2,"id":"a","nonce":"n"}`, "null", "[1]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := (&stream.Table{}).Find(data)
		if gone := errors.Is(err, agentcli.ErrGone); gone != (stream.AgentOf(data) != "") || !gone && runtime.ErrorCode(err) != runtime.CodeInvalidHandle {
			t.Errorf("Find(%q): %v", data, err)
		}
	})
}
