package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const patience = 30 * time.Second

// start launches a shell script as an agent and ends it with the test.
func start(t testing.TB, l *local.Launcher, id, script string) (agentcli.Process, agentcli.Room) {
	t.Helper()
	return startSpec(t, l, &runtime.Spec{ID: id, Type: "sh"}, script)
}

func startSpec(t testing.TB, l *local.Launcher, spec *runtime.Spec, script string) (agentcli.Process, agentcli.Room) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	room, err := l.Prepare(ctx, spec)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	p, err := l.Launch(ctx, agentcli.Command{
		Spec: spec, Room: room, Path: "/bin/sh", Args: []string{"-c", script}, Env: room.Env, Cols: 80, Rows: 24,
	})
	if err != nil {
		t.Fatalf("Launch: %v", err)
	}
	t.Cleanup(func() {
		_ = p.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := l.Remove(ctx, spec.ID); err != nil {
			t.Errorf("Remove: %v", err)
		}
	})
	return p, room
}

// memory returns a figure of /proc/PID/smaps_rollup in KiB.
func memory(t testing.TB, pid int, figure string) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Skipf("memory cannot be measured: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == figure+":" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in smaps_rollup of %d", figure, pid)
	return 0
}

// holderOf returns the pid of the holder of a command.
func holderOf(t testing.TB, p agentcli.Process) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Info().PID))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "PPid:"); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("no parent")
	return 0
}

// BenchmarkHolderMemory reports what each of a hundred holders costs, with a client and the output open.
func BenchmarkHolderMemory(b *testing.B) {
	const sessions = 100
	for b.Loop() {
		l := open(b, b.TempDir(), nil)
		rss, private := 0, 0
		var holders []int
		for i := range sessions {
			p, _ := start(b, l, "m"+strconv.Itoa(i), "echo go; exec sleep 600")
			out, err := p.Output(b.Context(), 0)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 16)); err != nil {
				b.Fatal(err)
			}
			// A runtime keeps the screen with the holder, again and again.
			for range 10 {
				if err := p.(agentcli.Checkpointer).SaveCheckpoint(b.Context(), 0, make([]byte, 64<<10)); err != nil {
					b.Fatal(err)
				}
			}
			holders = append(holders, holderOf(b, p))
		}
		for _, pid := range holders {
			rss += memory(b, pid, "Rss")
			private += memory(b, pid, "Private_Dirty") + memory(b, pid, "Private_Clean")
		}
		b.ReportMetric(float64(rss)/sessions, "KiB-rss/holder")
		b.ReportMetric(float64(private)/sessions, "KiB-private/holder")
	}
}

// BenchmarkOutput reads what cat writes through the holder.
func BenchmarkOutput(b *testing.B) {
	const size = 64 << 20
	dir := b.TempDir()
	file := filepath.Join(dir, "text")
	line := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 2) + "\n"
	if err := os.WriteFile(file, []byte(strings.Repeat(line, size/len(line))), 0o600); err != nil {
		b.Fatal(err)
	}
	l := open(b, dir, nil)
	b.SetBytes(size)
	n := 0
	for b.Loop() {
		n++
		p, _ := start(b, l, "o"+strconv.Itoa(n), "stty raw; read x; cat "+file)
		out, err := p.Output(b.Context(), 0)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Write(b.Context(), []byte("\n")); err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 64<<10)
		for {
			if _, err := out.Read(buf); err != nil {
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				break
			}
		}
	}
}
