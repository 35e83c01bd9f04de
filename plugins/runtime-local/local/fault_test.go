package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// stubborn ignores what it can, and has one child that does so in its session and one in a session of its own.
const stubborn = `trap '' TERM HUP INT
sh -c 'trap "" TERM HUP; echo $$ > "$HOME/child"; while :; do sleep 1; done' &
setsid sh -c 'trap "" TERM HUP; echo $$ > "$HOME/far"; while :; do sleep 1; done' &
until test -s "$HOME/child" && test -s "$HOME/far"; do sleep 0.02; done
echo $$ > "$HOME/main"; echo go; while :; do sleep 1; done`

// pids returns what the stubborn script wrote.
func pids(t *testing.T, room agentcli.Room) []int {
	t.Helper()
	var list []int
	for _, name := range []string{"main", "child", "far"} {
		data, err := os.ReadFile(filepath.Join(room.Home, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pid)
	}
	return list
}

// gone waits until none of the processes runs.
func gone(t *testing.T, list []int) {
	t.Helper()
	for _, pid := range list {
		eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(data), ") Z ")
		})
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not happen", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// readUntil reads output until it holds want.
func readUntil(t *testing.T, p agentcli.Process, from uint64, want string) agentcli.Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	out, err := p.Output(ctx, from)
	if err != nil {
		t.Fatalf("Output: %v", err)
	}
	t.Cleanup(func() { _ = out.Close() })
	var got bytes.Buffer
	buf := make([]byte, 4<<10)
	for !strings.Contains(got.String(), want) {
		n, err := out.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("the output ended (%v) before %q: %q", err, want, got.String())
		}
	}
	return out
}

// TestHolderKilled ends what a killed holder held, and says that nobody knows how it ended.
func TestHolderKilled(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	p, room := start(t, l, "victim", stubborn)
	readUntil(t, p, 0, "go")
	list := pids(t, room)
	if err := unix.Kill(holderOf(t, p), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("Wait: %v, want ErrGone", err)
	}
	gone(t, list)
	if err := p.Kill(ctx); err != nil {
		t.Errorf("Kill of what is gone: %v", err)
	}
	if _, err := l.Find(ctx, p.Handle()); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("Find: %v, want ErrGone", err)
	}
}

// TestBothKilled is the crash of the runtime and of the holder: a new runtime ends what is left.
func TestBothKilled(t *testing.T) {
	for _, way := range []string{"Open", "Find"} {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			p, room := start(t, open(t, dir, nil), "victim", stubborn)
			readUntil(t, p, 0, "go")
			list, handle := pids(t, room), p.Handle()
			later := open(t, dir, nil)
			_ = p.Close()
			if err := unix.Kill(holderOf(t, p), unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if way == "Open" {
				eventually(t, "the end of the holder", func() bool { open(t, dir, nil); return allGone(list) })
			}
			if _, err := later.Find(t.Context(), handle); !errors.Is(err, agentcli.ErrGone) {
				t.Errorf("Find: %v, want ErrGone", err)
			}
			gone(t, list)
		})
	}
}

func allGone(list []int) bool {
	for _, pid := range list {
		if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(data), ") Z ") {
			return false
		}
	}
	return true
}

// TestCommandEndsItsTree ends what outlives a command that ends by itself.
func TestCommandEndsItsTree(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	p, room := start(t, l, "leaver", `setsid sh -c 'trap "" TERM; echo $$ > "$HOME/far"; while :; do sleep 1; done' &
		until test -s "$HOME/far"; do sleep 0.02; done; echo $$ > "$HOME/main"; echo $$ > "$HOME/child"; exit 6`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if exit, err := p.Wait(ctx); err != nil || exit.Code != 6 {
		t.Errorf("exit %+v, error %v", exit, err)
	}
	gone(t, pids(t, room))
}

// TestAdoptHundred loses the runtime of a hundred agents, lets them write meanwhile, and adopts them all with
// every byte of their rings.
func TestAdoptHundred(t *testing.T) {
	const agents, size = 100, 200_000
	dir := t.TempDir()
	before := open(t, dir, nil)
	handles := make([][]byte, agents)
	for i := range agents {
		p, _ := start(t, before, "a"+strconv.Itoa(i), fmt.Sprintf(`stty raw -echo; echo go; read x; yes %d | head -c %d; exec sleep 60`, i, size))
		readUntil(t, p, 0, "go")
		handles[i] = p.Handle()
		if err := p.Write(t.Context(), []byte("\n")); err != nil {
			t.Fatal(err)
		}
		_ = p.Close() // the command writes on, with nobody there
	}
	after := open(t, dir, nil)
	begin := time.Now()
	found := make([]agentcli.Process, agents)
	for i, handle := range handles {
		p, err := after.Find(t.Context(), handle)
		if err != nil {
			t.Fatalf("Find of agent %d: %v", i, err)
		}
		found[i] = p
		t.Cleanup(func() { _ = p.Close() })
	}
	t.Logf("%d agents adopted in %s", agents, time.Since(begin))
	for i, p := range found {
		out, err := p.Output(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 3+size)
		if _, err := io.ReadFull(out, got); err != nil {
			t.Fatalf("agent %d: %v", i, err)
		}
		want := append([]byte("go\n"), bytes.Repeat([]byte(strconv.Itoa(i)+"\n"), size)[:size]...)
		if !bytes.Equal(got, want) {
			t.Errorf("the output of agent %d is another", i)
		}
		_ = out.Close()
	}
	var wg sync.WaitGroup
	for _, p := range found {
		wg.Go(func() {
			if err := p.Kill(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestExitWhileAway reports the exit of an agent that ended with nobody there, even after its holder ended too.
func TestExitWhileAway(t *testing.T) {
	for _, linger := range []time.Duration{time.Millisecond, time.Minute} {
		dir := t.TempDir()
		l := open(t, dir, func(o *local.Options) { o.Linger = linger })
		p, _ := start(t, l, "away", `echo go; read x; sleep 0.2; exit 12`) // not before the client is gone: it would take the exit with it
		readUntil(t, p, 0, "go")
		holder := holderOf(t, p)
		if err := p.Write(t.Context(), []byte("\r")); err != nil {
			t.Fatal(err)
		}
		_ = p.Close()
		if linger < time.Second {
			gone(t, []int{holder})
		} else {
			eventually(t, "the exit", func() bool { _, err := os.Stat(filepath.Join(dir, "state/agents/away/exit")); return err == nil })
		}
		found, err := open(t, dir, nil).Find(t.Context(), p.Handle())
		if err != nil {
			t.Fatalf("Find after %s: %v", linger, err)
		}
		if exit, err := found.Wait(t.Context()); err != nil || exit.Code != 12 {
			t.Errorf("exit %+v, error %v", exit, err)
		}
		out, err := found.Output(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(out); err != nil || linger > time.Second && !strings.Contains(string(got), "go") {
			t.Errorf("output %q, error %v", got, err)
		}
		_ = found.Close()
	}
}

// TestOtherBoot trusts no pid of another boot.
func TestOtherBoot(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	p, _ := start(t, l, "survivor", `echo go; exec sleep 60`)
	readUntil(t, p, 0, "go")
	handle := bytes.Replace(p.Handle(), []byte(`"boot":"`), []byte(`"boot":"other-`), 1)
	if _, err := l.Find(t.Context(), handle); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("Find: %v, want ErrGone", err)
	}
	if err := p.Resize(t.Context(), 90, 30); err != nil {
		t.Errorf("the agent was harmed: %v", err)
	}
}

// TestHugeOutput carries 100 MB, all of them in one line.
func TestHugeOutput(t *testing.T) {
	const size = 100_000_000
	l := open(t, t.TempDir(), nil)
	p, _ := start(t, l, "huge", fmt.Sprintf(`stty raw -echo; printf go; head -c 1 >/dev/null; head -c %d /dev/zero; exit 2`, size))
	begin := readUntil(t, p, 0, "go").Offset()
	out, err := p.Output(t.Context(), begin) // the other one has little time
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	n, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{out}, make([]byte, 64<<10))
	if n != size || err != nil {
		t.Errorf("%d bytes, error %v", n, err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 2 {
		t.Errorf("exit %+v, error %v", exit, err)
	}
}

// TestMemoryLimit holds an agent to its memory, and says why it died.
func TestMemoryLimit(t *testing.T) {
	l := open(t, t.TempDir(), func(o *local.Options) { o.Cgroup = true })
	memory, _, _ := l.Enforces()
	spec := &runtime.Spec{ID: "hungry", Type: "sh", Limits: runtime.Limits{MemoryBytes: 64 << 20}}
	if !memory {
		if _, err := l.Prepare(t.Context(), spec); runtime.ErrorCode(err) != runtime.CodeInvalidSpec {
			t.Errorf("a limit that cannot be held: %v, want INVALID_SPEC", err)
		}
		t.Skip("no cgroup of this machine holds memory")
	}
	p, _ := startSpec(t, l, spec, `echo go; x=$(head -c 300000000 /dev/zero | tr '\0' x); echo ${#x}`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	exit, err := p.Wait(ctx)
	if err != nil || exit.Code != 137 || exit.Reason != runtime.ReasonOutOfMemory {
		t.Errorf("exit %+v, error %v, want out_of_memory", exit, err)
	}
}

// TestUsage measures an agent with what it started.
func TestUsage(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	p, _ := start(t, l, "worker", `sleep 60 & i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo go; wait`)
	readUntil(t, p, 0, "go")
	usage, err := p.(agentcli.Meter).Usage(t.Context())
	if err != nil || usage.PIDs != 2 || usage.MemoryBytes < 500<<10 || usage.CPU <= 0 {
		t.Errorf("usage %+v, error %v", usage, err)
	}
}

// callsHook is a script that calls the hook of its room when callHook says so: only what an agent started may.
const callsHook = `echo go; until [ -e "$HOME/call" ]; do sleep 0.02; done; sh "$HOME/call" >"$HOME/printed"; mv "$HOME/printed" "$HOME/answer"; exec sleep 60`

// callHook makes callsHook call the hook Stop with a payload; answer waits for what was printed.
func callHook(t *testing.T, room agentcli.Room, payload string) (answer func() string) {
	t.Helper()
	line := "echo '" + payload + "' | " + strings.Join(append(slices.Clone(room.Hook), "Stop"), " ")
	file := write(t, filepath.Join(room.Home, "call.new"), line)
	if err := os.Chmod(file, 0o644); err != nil { // the agent may be somebody else
		t.Fatal(err)
	}
	if err := os.Rename(file, filepath.Join(room.Home, "call")); err != nil {
		t.Fatal(err)
	}
	return func() (text string) {
		t.Helper()
		eventually(t, "the answer of the hook", func() bool {
			data, err := os.ReadFile(filepath.Join(room.Home, "answer"))
			text = string(data)
			return err == nil
		})
		return text
	}
}

// TestRunning tells what runs in the foreground of an agent's terminal from what waits there, and from what runs behind it.
func TestRunning(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	for id, tt := range map[string]struct {
		script string
		want   bool
	}{
		"works":  {"while :; do :; done", true},
		"waits":  {"exec sleep 1000", false},
		"behind": {"set -m; (while :; do :; done) & exec sleep 1000", false},
	} {
		p, _ := start(t, l, id, tt.script)
		same := 0 // the shell itself runs for a moment
		eventually(t, id, func() bool {
			u, err := p.(agentcli.Meter).Usage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if same++; u.Running > 0 != tt.want {
				same = 0
			}
			return same >= 5
		})
	}
}

// TestForeground tells who has the terminal: the shell, or what it runs.
func TestForeground(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	p, _ := start(t, l, "shell", "set -m; bash -c 'echo began; read x'; echo back; read y")
	readUntil(t, p, 0, "began")
	foreground := func() int {
		group, err := p.(agentcli.Foregrounder).Foreground(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return group
	}
	if group := foreground(); group == 0 || group == p.Info().PID {
		t.Errorf("group %d has the terminal of %d", group, p.Info().PID)
	}
	if err := p.Write(t.Context(), []byte("\r")); err != nil {
		t.Fatal(err)
	}
	readUntil(t, p, 0, "back")
	if group := foreground(); group != p.Info().PID {
		t.Errorf("group %d has the terminal of %d", group, p.Info().PID)
	}
}

// TestHookOfARoom calls the hook command as a CLI would, while the runtime is away.
func TestHookOfARoom(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	p, room := start(t, l, "hooked", callsHook)
	readUntil(t, p, 0, "go")
	handle := p.Handle()
	_ = p.Close()
	answer := callHook(t, room, `{"text":"done"}`)
	found, err := open(t, dir, nil).Find(t.Context(), handle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	select {
	case call := <-found.(agentcli.HookSource).Hooks():
		if call.Name != "Stop" || strings.TrimSpace(string(call.Payload)) != `{"text":"done"}` {
			t.Errorf("call %q with %q", call.Name, call.Payload)
		}
		call.Answer([]byte("{}"))
	case <-time.After(patience):
		t.Fatal("the call does not come")
	}
	if text := answer(); text != "{}" {
		t.Errorf("the hook printed %q", text)
	}
}
