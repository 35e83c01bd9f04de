package holder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/keeper"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const patience = 20 * time.Second

// TestMain makes the test binary a holder when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"run", "hook", "start", "connect", "room", "look", "put", "get", "usage"}, os.Args[1]) {
		os.Exit(keeper.Main(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// held is a holder of a test, and how to reach it.
type held struct {
	t       *testing.T
	holding *holder.Holding
	launch  wire.Launch
	dialed  func(net.Conn)                                  // gets each connection; may be nil
	gone    func(ctx context.Context) (runtime.Exit, error) // Options.Gone
}

// hold starts a script in a holder. change may change what is launched.
func hold(t *testing.T, script string, change func(*wire.Launch)) *held {
	t.Helper()
	dir := t.TempDir()
	l := wire.Launch{
		Socket: filepath.Join(dir, "s"), Nonce: holder.NewNonce(), ExitFile: filepath.Join(dir, "exit"),
		Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, Dir: dir, Cols: 80, Rows: 24,
	}
	if change != nil {
		change(&l)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holding, err := holder.Start(t.Context(), own, l, os.Stderr)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	h := &held{t: t, holding: holding, launch: l}
	t.Cleanup(func() {
		if c, err := h.connectTo(context.Background()); err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_ = c.Kill(ctx)
			_ = c.Close()
		}
		_ = proc.Signal(holding.Holder, 9)
		holding.Reap(true)
	})
	return h
}

func (h *held) connectTo(ctx context.Context) (*holder.Client, error) {
	return holder.Connect(ctx, holder.Options{
		Nonce: h.launch.Nonce, Gone: h.gone,
		Dial: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "unix", h.launch.Socket)
			if err == nil && h.dialed != nil {
				h.dialed(conn)
			}
			return conn, err
		},
	})
}

func (h *held) connect() *holder.Client {
	h.t.Helper()
	c, err := h.connectTo(h.t.Context())
	if err != nil {
		h.t.Fatalf("Connect: %v", err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	return c
}

func open(t *testing.T, c *holder.Client, from uint64) agentcli.Output {
	t.Helper()
	out, err := c.Output(t.Context(), from)
	if err != nil {
		t.Fatalf("Output: %v", err)
	}
	t.Cleanup(func() { _ = out.Close() })
	return out
}

// until reads output until it holds want.
func until(t *testing.T, out agentcli.Output, want string) string {
	t.Helper()
	var got bytes.Buffer
	buf := make([]byte, 4<<10)
	for !strings.Contains(got.String(), want) {
		n, err := out.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("the output ended (%v) before %q", err, want)
		}
	}
	return got.String()
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not happen", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestTakeover lets a second client take over: the first learns it, and input goes on with the second.
func TestTakeover(t *testing.T) {
	h := hold(t, `stty -echo; echo go; while read -r l; do echo "got:$l"; done`, nil)
	first := h.connect()
	out := open(t, first, 0)
	until(t, out, "go")
	second := h.connect()
	if _, err := io.ReadAll(out); runtime.ErrorCode(err) != runtime.CodeUnavailable && !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("the first output ended with %v", err)
	}
	if _, err := first.Wait(t.Context()); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("the first client's Wait: %v, want UNAVAILABLE", err)
	}
	if err := first.Write(t.Context(), []byte("lost\r")); err == nil {
		t.Error("the first client still types")
	}
	if _, err := first.Output(t.Context(), 0); err == nil {
		t.Error("the first client opens an output again")
	}
	later := open(t, second, out.Offset())
	if err := second.Write(t.Context(), []byte("mine\r")); err != nil {
		t.Fatal(err)
	}
	if got := until(t, later, "got:mine"); strings.Contains(got, "lost") {
		t.Errorf("what the first typed afterwards arrived: %q", got)
	}
}

// TestStall drops a reader that takes nothing, so that the command goes on; the ring then overwrites.
func TestStall(t *testing.T) {
	h := hold(t, `stty raw -echo; printf go; head -c 1 >/dev/null; head -c 3000000 /dev/zero; echo done > $HOME/done; exec sleep 60`,
		func(l *wire.Launch) {
			l.Stall = 200 * time.Millisecond
			l.RingBytes = 64 << 10
		})
	c := h.connect()
	out := open(t, c, 0)
	until(t, out, "go")
	if err := c.Write(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the command's output", func() bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(h.launch.Socket), "done"))
		return err == nil
	})
	_, err := io.Copy(io.Discard, out)
	if runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("the stalled output ended with %v, want UNAVAILABLE", err)
	}
	// The holder may still be taking the last of it from the terminal.
	const tail = 2 + 3000000 - 64<<10
	var at uint64
	eventually(t, "an output that goes on at the last of the ring", func() bool {
		again := open(t, c, out.Offset())
		at = again.Offset()
		_ = again.Close()
		return at >= tail
	})
	if at != tail || at <= out.Offset() {
		t.Errorf("the output goes on at %d, want %d", at, tail)
	}
}

// TestUnattended shows that a command without a client is not held up, and that the last bytes are kept.
func TestUnattended(t *testing.T) {
	h := hold(t, `stty raw; i=0; while [ $i -lt 60000 ]; do echo "line $i"; i=$((i+1)); done; exit 4`, nil)
	eventually(t, "the exit", func() bool { _, err := os.Stat(h.launch.ExitFile); return err == nil })
	var want bytes.Buffer
	for i := range 60000 {
		_, _ = fmt.Fprintf(&want, "line %d\n", i)
	}
	c := h.connect()
	out := open(t, c, 0)
	got, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != holder.DefaultRing || !bytes.HasSuffix(want.Bytes(), got) {
		t.Errorf("%d bytes are kept, ending in %q", len(got), got[max(0, len(got)-40):])
	}
	if exit, err := c.Wait(t.Context()); err != nil || exit.Code != 4 {
		t.Errorf("exit %+v, error %v", exit, err)
	}
	if head := c.Welcome().Head; head != uint64(want.Len()) {
		t.Errorf("%d bytes of output, want %d", head, want.Len())
	}
	_ = c.Close()
	if _, err := os.Lstat(h.launch.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket after Close: %v, want none", err)
	}
	if !h.holding.Reap(true) || proc.Alive(h.holding.Holder) {
		t.Error("the holder lives on after its client fetched the exit")
	}
}

// TestLinger ends the holder of an ended command that nobody asks for; the exit file stays.
func TestLinger(t *testing.T) {
	h := hold(t, `exit 9`, func(l *wire.Launch) { l.Linger = 50 * time.Millisecond })
	eventually(t, "the end of the holder", func() bool { return h.holding.Reap(false) })
	data, err := os.ReadFile(h.launch.ExitFile)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := wire.ParseExitFile(data); err != nil || exit.Code != 9 || exit.Nonce != h.launch.Nonce {
		t.Errorf("the exit file tells %+v, error %v", exit, err)
	}
	if _, err := os.Lstat(h.launch.Socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := h.connectTo(t.Context()); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("Connect: %v, want ErrGone", err)
	}
}

// TestHandshake refuses another life, another version, and rubbish.
func TestHandshake(t *testing.T) {
	h := hold(t, `exec sleep 60`, nil)
	other := *h
	other.launch.Nonce = holder.NewNonce()
	if _, err := other.connectTo(t.Context()); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("another life: %v, want ErrGone", err)
	}
	for name, first := range map[string][]byte{
		"version": wire.Append(nil, wire.Hello{Min: wire.Version + 1, Max: wire.Version + 9, Role: wire.RoleControl, Nonce: h.launch.Nonce}),
		"rubbish": []byte("GET / HTTP/1.1\r\n\r\n"),
		"kind":    wire.Append(nil, wire.Kill{ID: 1}),
	} {
		conn, err := net.Dial("unix", h.launch.Socket)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(first)
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		answer, err := io.ReadAll(conn)
		_ = conn.Close()
		if name == "version" {
			kind, body, _ := wire.NewReader(bytes.NewReader(answer)).Next()
			if m, err := wire.ParseRefused(body); kind != wire.KindRefused || err != nil || m.Code != wire.CodeVersion {
				t.Errorf("version: kind %d, %+v, error %v", kind, m, err)
			}
		} else if len(answer) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: answer %q, error %v", name, answer, err) // a reset is an end too
		}
	}
	if err := h.connect().Resize(t.Context(), 100, 30); err != nil {
		t.Errorf("after all that: %v", err)
	}
	info, err := os.Stat(h.launch.Socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, error %v", info.Mode(), err)
	}
}

// hookScript runs the commands that come through a pipe, as an agent runs its hooks: only what the agent started may.
const hookScript = `while read -r line; do eval "$line" & done <>commands`

// withCommands makes the pipe of hookScript, and keeps it: what is in a pipe that nobody has open is lost.
func withCommands(t *testing.T) func(*wire.Launch) {
	return func(l *wire.Launch) {
		path := filepath.Join(l.Dir, "commands")
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		pipe, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pipe.Close() })
	}
}

// hooked is a hook command that runs.
type hooked struct {
	t    *testing.T
	base string // path of its files
}

// hook runs the hook command within the held command, which is hookScript.
func (h *held) hook(name, payload string) *hooked {
	h.t.Helper()
	own, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	k := &hooked{t: h.t, base: filepath.Join(h.launch.Dir, name)}
	if err := os.WriteFile(k.base+".in", []byte(payload), 0o600); err != nil {
		h.t.Fatal(err)
	}
	line := fmt.Sprintf("%s hook %s %s <%s.in >%s.out & echo $! >%s.pid; wait $!; echo $? >%s.new; mv %s.new %s.code\n",
		own, h.launch.Socket, name, k.base, k.base, k.base, k.base, k.base, k.base)
	pipe, err := os.OpenFile(filepath.Join(h.launch.Dir, "commands"), os.O_RDWR, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = pipe.Close() }()
	if _, err := pipe.WriteString(line); err != nil {
		h.t.Fatal(err)
	}
	return k
}

// wait returns what the hook printed, and its exit code.
func (k *hooked) wait() (out, code string) {
	k.t.Helper()
	eventually(k.t, "the end of the hook", func() bool {
		data, err := os.ReadFile(k.base + ".code")
		code = strings.TrimSpace(string(data))
		return err == nil
	})
	data, err := os.ReadFile(k.base + ".out")
	if err != nil {
		k.t.Fatal(err)
	}
	return string(data), code
}

func (k *hooked) kill() {
	k.t.Helper()
	data, err := os.ReadFile(k.base + ".pid")
	if err != nil {
		k.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		k.t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		k.t.Fatal(err)
	}
}

func next(t *testing.T, c *holder.Client) *agentcli.HookCall {
	t.Helper()
	select {
	case call, ok := <-c.Hooks():
		if !ok {
			t.Fatal("the calls ended")
		}
		return call
	case <-time.After(patience):
		t.Fatal("no call comes")
		return nil
	}
}

// TestHookWaitsForAClient calls while nobody is there, loses a client before it answers, and gets the answer of
// the next.
func TestHookWaitsForAClient(t *testing.T) {
	h := hold(t, hookScript, withCommands(t))
	payload := strings.Repeat("p", 3<<20)
	hook := h.hook("Stop", payload)
	first := h.connect()
	call := next(t, first)
	if call.Name != "Stop" || string(call.Payload) != payload {
		t.Errorf("call %q with %d bytes", call.Name, len(call.Payload))
	}
	_ = first.Close()
	select {
	case <-call.Done:
	case <-time.After(patience):
		t.Error("a call of a closed client is not done")
	}
	second := h.connect()
	again := next(t, second)
	again.Answer([]byte(`{"ok":true}`))
	again.Answer([]byte("twice"))
	if out, code := hook.wait(); code != "0" || out != `{"ok":true}` {
		t.Errorf("the hook printed %q, exit %s", out, code)
	}
}

// TestHookAbandoned tells the consumer that the CLI does not wait any more.
func TestHookAbandoned(t *testing.T) {
	h := hold(t, hookScript, withCommands(t))
	c := h.connect()
	hook := h.hook("PreToolUse", "{}")
	call := next(t, c)
	hook.kill()
	select {
	case <-call.Done:
	case <-time.After(patience):
		t.Fatal("Done is not closed")
	}
	call.Answer([]byte("too late")) // does nothing
	if err := c.Resize(t.Context(), 100, 30); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// TestHookWithoutHolder must not break the CLI.
func TestHookWithoutHolder(t *testing.T) {
	h := hold(t, hookScript, withCommands(t))
	h.launch.Socket += ".missing"
	hook := h.hook("Stop", "{}")
	if out, code := hook.wait(); code != "0" || out != "" {
		t.Errorf("the hook printed %q, exit %s", out, code)
	}
}

// TestHookEndsWithTheHolder ends calls that nobody will answer.
func TestHookEndsWithTheHolder(t *testing.T) {
	// It goes on after the hangup of its terminal, to see how the hook ends.
	h := hold(t, `trap "" HUP; `+hookScript, withCommands(t))
	c := h.connect()
	hook := h.hook("Stop", "{}")
	next(t, c)
	if err := proc.Signal(h.holding.Holder, 9); err != nil {
		t.Fatal(err)
	}
	if out, code := hook.wait(); code != "0" || out != "" {
		t.Errorf("the hook printed %q, exit %s", out, code)
	}
	_ = proc.Signal(h.holding.Command, 9)
	if _, err := c.Wait(t.Context()); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("Wait: %v, want UNAVAILABLE", err)
	}
}

// TestCutConnection cuts the way to the holder: that says nothing of the agent, which the launcher is asked about.
func TestCutConnection(t *testing.T) {
	h := hold(t, `stty -echo; echo go; while read -r l; do echo "got:$l"; done`, nil)
	var conns []net.Conn
	h.dialed = func(c net.Conn) { conns = append(conns, c) }
	cut := func() {
		for _, c := range conns {
			_ = c.Close()
		}
		conns = nil
	}
	c := h.connect()
	until(t, open(t, c, 0), "go")
	cut()
	if _, err := c.Wait(t.Context()); runtime.ErrorCode(err) != runtime.CodeUnavailable || errors.Is(err, agentcli.ErrGone) {
		t.Errorf("Wait: %v, want UNAVAILABLE", err)
	}
	if err := c.Write(t.Context(), []byte("x\r")); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("Write: %v, want UNAVAILABLE", err)
	}
	h.gone = func(context.Context) (runtime.Exit, error) { return runtime.Exit{Code: 7}, nil }
	again := h.connect()
	out := open(t, again, 0)
	if err := again.Write(t.Context(), []byte("still here\r")); err != nil {
		t.Error(err)
	}
	until(t, out, "got:still here")
	cut()
	if exit, err := again.Wait(t.Context()); err != nil || exit.Code != 7 {
		t.Errorf("Wait: %+v, %v, want what the launcher knows", exit, err)
	}
}

// TestTerminate ends the agent with its holder, as a container's or a machine's shutdown does.
func TestTerminate(t *testing.T) {
	h := hold(t, `trap 'exit 3' TERM; echo go; while :; do sleep 0.05; done`, func(l *wire.Launch) { l.Linger = time.Millisecond })
	until(t, open(t, h.connect(), 0), "go")
	if err := proc.Signal(h.holding.Holder, 15); err != nil {
		t.Fatal(err)
	}
	h.holding.Reap(true)
	data, err := os.ReadFile(h.launch.ExitFile)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := wire.ParseExitFile(data); err != nil || exit.Code != 3 || !exit.Killed {
		t.Errorf("the exit file tells %+v, error %v", exit, err)
	}
}

// TestKillAsksNobody kills a command that would take SIGTERM for a reason to tidy up.
func TestKillAsksNobody(t *testing.T) {
	h := hold(t, `trap 'while :; do sleep 0.05; done' TERM; echo go; while :; do sleep 0.05; done`, nil)
	c := h.connect()
	until(t, open(t, c, 0), "go")
	began := time.Now()
	if err := c.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %s", took)
	}
	if exit, err := c.Wait(t.Context()); err != nil || exit.Code != 128+9 || exit.Reason != runtime.ReasonKilled {
		t.Errorf("exit %+v, error %v, want 137 and killed", exit, err)
	}
}

// TestStartErrors names what is wrong, and leaves nothing behind.
func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base := wire.Launch{Socket: filepath.Join(dir, "s"), Path: "/bin/sh", Dir: dir, Cols: 80, Rows: 24}
	plainFile := filepath.Join(dir, "file")
	if err := os.WriteFile(plainFile, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*wire.Launch)
		code   runtime.Code
	}{
		{"CommandMissing", func(l *wire.Launch) { l.Path = "/no/such" }, runtime.CodeCLINotFound},
		{"NotExecutable", func(l *wire.Launch) { l.Path = plainFile }, runtime.CodeSpawnFailed},
		{"DirMissing", func(l *wire.Launch) { l.Dir = "/no/such" }, runtime.CodeCLINotFound},
		{"NoSize", func(l *wire.Launch) { l.Cols = 0 }, runtime.CodeSpawnFailed},
		{"SmallRing", func(l *wire.Launch) { l.RingBytes = 1 }, runtime.CodeSpawnFailed},
		{"LongSocket", func(l *wire.Launch) { l.Socket = "/tmp/" + strings.Repeat("x", 120) }, runtime.CodeSpawnFailed},
		{"NoCgroup", func(l *wire.Launch) { l.Cgroup = "/no/such" }, runtime.CodeSpawnFailed},
		{"TooLarge", func(l *wire.Launch) { l.Env = []string{"A=" + strings.Repeat("x", 1<<20)} }, runtime.CodeInvalidSpec},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := base
			test.change(&l)
			if _, err := holder.Start(t.Context(), own, l, nil); runtime.ErrorCode(err) != test.code {
				t.Errorf("Start: %v, want %s", err, test.code)
			}
			if _, err := os.Lstat(base.Socket); !os.IsNotExist(err) {
				t.Errorf("the socket is left: %v", err)
			}
		})
	}
	if _, err := holder.Start(t.Context(), "/no/such/holder", base, nil); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("a missing holder: %v", err)
	}
}

// TestHookOfAStranger calls from a process that the agent did not start: of the same user, it may be another agent.
func TestHookOfAStranger(t *testing.T) {
	h := hold(t, hookScript, withCommands(t))
	c := h.connect()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own, "hook", h.launch.Socket, "Stop")
	cmd.Stdin = strings.NewReader(`{"false":true}`)
	if out, err := cmd.Output(); err != nil || len(out) != 0 {
		t.Errorf("the hook of a stranger printed %q, error %v", out, err)
	}
	h.hook("PreToolUse", "{}")
	if call := next(t, c); call.Name != "PreToolUse" {
		t.Errorf("the call %q of a stranger got through", call.Name)
	}
}

// TestBacklog connects while the command reads nothing of what was typed, and after it went on.
func TestBacklog(t *testing.T) {
	h := hold(t, "stty raw -echo; printf ready; kill -STOP $$; head -c 11 >/dev/null; printf done; sleep 100", nil)
	c := h.connect()
	until(t, open(t, c, 0), "ready")
	eventually(t, "the stop of the command", func() bool {
		info, err := proc.Stat(h.holding.Command.PID)
		return err == nil && info.State == 'T'
	})
	if got := c.Backlog(); got != 0 {
		t.Errorf("%d bytes before anything was typed", got)
	}
	if err := c.Write(t.Context(), []byte("a message\r\n")); err != nil {
		t.Fatal(err)
	}
	unread := func() int {
		t.Helper()
		n, err := c.Unread(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	eventually(t, "what was typed to be with the terminal", func() bool { return unread() == 11 }) // the kernel hands it on by itself
	_ = c.Close()
	c = h.connect()
	if got := c.Backlog(); got != 11 {
		t.Errorf("%d bytes that were not read, want 11", got)
	}
	if err := proc.Signal(h.holding.Command, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, open(t, c, 0), "done")
	if got := unread(); got != 0 {
		t.Errorf("asked: %d bytes after all was read", got)
	}
	_ = c.Close()
	if got := h.connect().Backlog(); got != 0 {
		t.Errorf("%d bytes after all was read", got)
	}
}
