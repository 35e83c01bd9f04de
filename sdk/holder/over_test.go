package holder_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// far is a place that is reached by starting programs.
type far struct {
	mu   sync.Mutex
	cmds []*exec.Cmd
}

func (f *far) run(ctx context.Context, args ...string) *exec.Cmd {
	own, _ := os.Executable()
	cmd := exec.CommandContext(ctx, own, args...)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cmds = append(f.cmds, cmd)
	return cmd
}

// cut ends what runs, as a network that fails does.
func (f *far) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, cmd := range f.cmds {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	}
	f.cmds = nil
}

func TestStartOver(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	place := new(far)
	l := wire.Launch{
		Socket: filepath.Join(dir, "s"), Nonce: holder.NewNonce(), ExitFile: filepath.Join(dir, "exit"), Path: "/bin/sh",
		Args: []string{"-c", `echo go; while read -r line; do echo "got:$line"; done; exit 5`}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: dir, Cols: 80, Rows: 24,
	}
	holding, err := holder.StartOver(ctx, place.run, filepath.Join(dir, "log"), l)
	if err != nil {
		t.Fatal(err)
	}
	if holding.Command.PID == 0 {
		t.Errorf("started %+v", holding)
	}
	connect := func() *holder.Client {
		t.Helper()
		c, err := holder.Connect(ctx, holder.Options{Nonce: l.Nonce, Dial: holder.DialOver(place.run, l.Socket)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	read := func(c *holder.Client, from uint64, want string) uint64 {
		t.Helper()
		out, err := c.Output(ctx, from)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		var got strings.Builder
		buf := make([]byte, 4096)
		for !strings.Contains(got.String(), want) {
			n, err := out.Read(buf)
			got.Write(buf[:n])
			if err != nil {
				t.Fatalf("the output ended (%v) before %q: %q", err, want, got.String())
			}
		}
		return out.Offset()
	}
	c := connect()
	at := read(c, 0, "go")

	// The way there is cut: the command runs on, and nobody says that it ended.
	place.cut()
	if _, err := c.Wait(ctx); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("Wait after the cut: %v", err)
	}
	_ = c.Close()
	c = connect()
	if err := c.Write(ctx, []byte("after\r")); err != nil {
		t.Fatal(err)
	}
	read(c, at, "got:after")
	if err := c.Write(ctx, []byte{4}); err != nil {
		t.Fatal(err)
	}
	if exit, err := c.Wait(ctx); err != nil || exit.Code != 5 {
		t.Errorf("exit %+v, %v", exit, err)
	}
	_ = c.Close()
	for until := time.Now().Add(patience); ; { // the holder ends once its exit was fetched
		_, err := holder.Connect(ctx, holder.Options{Nonce: l.Nonce, Dial: holder.DialOver(place.run, l.Socket)})
		if errors.Is(err, agentcli.ErrGone) {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("Connect to a holder that ended: %v", err)
		}
	}
}

func TestStartOverFails(t *testing.T) {
	dir := t.TempDir()
	l := wire.Launch{Socket: filepath.Join(dir, "s"), Nonce: holder.NewNonce(), Path: "/no/such/command", Dir: dir, Cols: 80, Rows: 24}
	log := filepath.Join(dir, "log")
	if _, err := holder.StartOver(t.Context(), new(far).run, log, l); runtime.ErrorCode(err) != runtime.CodeCLINotFound {
		t.Errorf("of a missing command: %v", err)
	}
	if _, err := holder.StartOver(t.Context(), new(far).run, "/no/such/dir/log", l); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("with a log that cannot be: %v", err)
	}
	broken := func(ctx context.Context, _ ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "/bin/sh", "-c", "head -c 1 >/dev/null; echo no route to host >&2; exit 255")
	}
	if _, err := holder.StartOver(t.Context(), broken, log, l); runtime.ErrorCode(err) != runtime.CodeUnavailable || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("over a transport that fails: %v", err)
	}
	if _, err := holder.Connect(t.Context(), holder.Options{Dial: holder.DialOver(broken, l.Socket)}); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("a connection over it: %v", err)
	}
	l.Args = []string{strings.Repeat("x", 5<<20)}
	if _, err := holder.StartOver(t.Context(), broken, log, l); runtime.ErrorCode(err) != runtime.CodeInvalidSpec {
		t.Errorf("of too much: %v", err)
	}
}

// However much a transport writes to standard error, only its last line is kept, for the error.
func TestStartOverNoise(t *testing.T) {
	noisy := func(ctx context.Context, _ ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "/bin/sh", "-c", "head -c 67108864 /dev/zero >&2; echo >&2; echo no route >&2; exit 255")
	}
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	_, err := holder.StartOver(t.Context(), noisy, "/log", wire.Launch{Path: "/bin/sh"})
	goruntime.ReadMemStats(&after)
	if runtime.ErrorCode(err) != runtime.CodeUnavailable || !strings.Contains(err.Error(), "no route") {
		t.Errorf("a transport that fails: %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("64 MiB of noise took %d MiB", took>>20)
	}
}
