package local_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func prepare(t *testing.T, r *local.Rooms, spec runtime.Spec) agentcli.Room {
	t.Helper()
	room, err := r.Prepare(t.Context(), &spec)
	if err != nil {
		t.Fatal(err)
	}
	return room
}

func TestPrepare(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(mkdir(t, filepath.Join(dir, "real")), link); err != nil {
		t.Fatal(err)
	}
	r := &local.Rooms{Dir: link, Env: map[string]string{"EXTRA": "e"}, Environ: []string{
		"PATH=/bin", "LC_TIME=C", "https_proxy=http://p", "SECRET=s", "LD_PRELOAD=/x", "HOME=/root", "WARDROOM_TOKEN=t", "EMPTY",
	}}
	room := prepare(t, r, runtime.Spec{ID: "a"})
	base := filepath.Join(dir, "real", "a")
	want := []string{
		"COLORTERM=truecolor", "EXTRA=e", "HOME=" + room.Home, "LANG=C.UTF-8", "LC_TIME=C", "PATH=/bin", "TERM=xterm-256color",
		"TMPDIR=" + room.Temp, "WARDROOM_AGENT_ROOM=" + base, "https_proxy=http://p",
	}
	if !slices.Equal(room.Env, want) {
		t.Errorf("the environment is %q, want %q", room.Env, want)
	}
	for _, path := range []string{room.Home, room.Workdir, room.Temp} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(path) != base {
			t.Errorf("%s: %v, error %v", path, info, err)
		}
	}
	if path, err := room.LookPath("sh"); err != nil || path != "/bin/sh" {
		t.Errorf("LookPath: %q, %v", path, err)
	}
	for _, name := range []string{"", "surely-no-such-command", "./sh", "/etc/passwd"} {
		if _, err := room.LookPath(name); runtime.ErrorCode(err) != runtime.CodeCLINotFound {
			t.Errorf("LookPath(%q): %v", name, err)
		}
	}
	if err := os.Remove(room.Temp); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", room.Temp); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Prepare(t.Context(), &runtime.Spec{ID: "a"}); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("a link in the place of a directory: %v", err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	r := &local.Rooms{Dir: t.TempDir()}
	env := func(name string) runtime.Spec {
		return runtime.Spec{ID: "a", Env: map[string]string{name: "secret-value"}}
	}
	for _, tt := range []struct {
		field string
		spec  runtime.Spec
	}{
		{"id", runtime.Spec{ID: "../a"}}, {"id", runtime.Spec{}}, {"id", runtime.Spec{ID: strings.Repeat("x", 65)}},
		{"limits.memoryBytes", runtime.Spec{ID: "a", Limits: runtime.Limits{MemoryBytes: 1}}},
		{"limits.cpu", runtime.Spec{ID: "a", Limits: runtime.Limits{CPU: 1}}},
		{"limits.pids", runtime.Spec{ID: "a", Limits: runtime.Limits{PIDs: 1}}},
		{"env", env("A B")}, {"env.LD_PRELOAD", env("LD_PRELOAD")}, {"env.WARDROOM_AGENT_ROOM", env("WARDROOM_AGENT_ROOM")},
		{"env.HOME", env("HOME")}, {"env.TMPDIR", env("TMPDIR")},
		{"declared.env.HOME", runtime.Spec{ID: "a", Declared: &runtime.DeclaredType{Env: map[string]string{"HOME": "/"}}}},
	} {
		_, err := r.Prepare(t.Context(), &tt.spec)
		e := runtime.AsError(err)
		if e == nil || e.Code != runtime.CodeInvalidSpec || e.Field != tt.field || strings.Contains(e.Error(), "secret-value") {
			t.Errorf("%s: %v", tt.field, err)
		}
	}
	if left, _ := os.ReadDir(r.Dir); len(left) > 0 {
		t.Errorf("refused specs left %v", left)
	}
	limited := &local.Rooms{Dir: t.TempDir(), Limits: true}
	prepare(t, limited, runtime.Spec{ID: "a", Limits: runtime.Limits{MemoryBytes: 1}})
	relative := &local.Rooms{Dir: "rooms"}
	if _, err := relative.Prepare(t.Context(), &runtime.Spec{ID: "a"}); runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("a relative directory of rooms: %v", err)
	}
}

func TestWorkdir(t *testing.T) {
	dir := t.TempDir()
	good, other := mkdir(t, filepath.Join(dir, "good/below")), mkdir(t, filepath.Join(dir, "other"))
	for from, to := range map[string]string{"link": good, "good/escape": other} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rooms := mkdir(t, filepath.Join(dir, "rooms"))
	roots := []string{filepath.Join(dir, "good")}
	for _, tt := range []struct {
		roots      []string
		path, want string // want: the real path; empty: refused
	}{
		{nil, good, good}, {nil, filepath.Join(dir, "link"), good}, {roots, good, good}, {roots, filepath.Join(dir, "link"), good},
		{nil, "good", ""}, {nil, file, ""}, {nil, filepath.Join(dir, "missing"), ""}, {nil, rooms, ""}, {nil, filepath.Join(rooms, "w"), ""},
		{roots, other, ""}, {roots, filepath.Join(dir, "good/escape"), ""}, {[]string{filepath.Join(dir, "goo")}, good, ""},
	} {
		r := &local.Rooms{Dir: rooms, Workdirs: tt.roots}
		room, err := r.Prepare(t.Context(), &runtime.Spec{ID: "w", Workdir: tt.path})
		if tt.want == "" {
			if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeWorkdirNotAllowed || e.Field != "workdir" {
				t.Errorf("%s in %v: %v", tt.path, tt.roots, err)
			}
		} else if err != nil || room.Workdir != tt.want {
			t.Errorf("%s in %v is %q, error %v", tt.path, tt.roots, room.Workdir, err)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	room := prepare(t, &local.Rooms{Dir: filepath.Join(dir, "rooms")}, runtime.Spec{ID: "f"})
	outside := mkdir(t, filepath.Join(dir, "outside"))
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode, keep bool) error {
		return (&local.Rooms{}).Write(room, []agentcli.File{{Path: name, Data: []byte(text), Mode: mode, Keep: keep}})
	}
	nested, kept := room.Home+"/.a/b", room.Workdir+"/kept"
	for _, text := range []string{"first", "second"} {
		if err := errors.Join(write(nested, text, 0o640, false), write(kept, text, 0, true)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{nested: "second", kept: "first"} {
		if got, err := room.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, error %v", name, got, err)
		}
		if got, at, err := room.ReadFrom(name, 1, 3); err != nil || string(got) != want[1:4] || at != 1 {
			t.Errorf("%s holds %q at %d, error %v", name, got, at, err)
		}
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file without a mode: %v, %v", info, err)
	}
	for name, target := range map[string]string{"/dir": outside, "/file": victim} {
		if err := os.Symlink(target, room.Home+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(room.Home+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{room.Home + "/dir/new", victim, room.Home + "/../x", "/etc/x", "x", room.Home, room.Home + "/.a"} {
		if err := write(name, "x", 0, false); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
			t.Errorf("write of %s: %v", name, err)
		}
	}
	for _, name := range []string{victim, room.Home + "/dir/victim", room.Home + "/file", room.Home + "/fifo", room.Home} {
		if _, err := room.ReadFile(name); err == nil {
			t.Errorf("%s can be read", name)
		}
		if _, _, err := room.ReadFrom(name, 0, 10); err == nil {
			t.Errorf("%s can be read in parts", name)
		}
	}
	if _, err := room.ReadFile(room.Home + "/missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := write(room.Home+"/file", "mine", 0, false); err != nil {
		t.Errorf("a file in the place of a link: %v", err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "untouched" {
		t.Errorf("the target of a link holds %q", got)
	}
}

// TestEnd ends what ignores signals, in its own session and with another parent, and nothing of another room.
func TestEnd(t *testing.T) {
	r := &local.Rooms{Dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	start := func(id, script string) *exec.Cmd {
		room := prepare(t, r, runtime.Spec{ID: id})
		c := exec.CommandContext(ctx, "sh", "-c", script)
		c.Dir, c.Env = room.Workdir, room.Env
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	// The shell ends at once; what it started has no parent in the room.
	orphan := start("a", `setsid sh -c 'trap "" TERM HUP; while :; do sleep 1; done' &`)
	if err := orphan.Wait(); err != nil {
		t.Fatal(err)
	}
	other := start("b", "exec sleep 60")
	for found := false; !found; {
		usage, err := r.Usage("a")
		found = err == nil && usage.PIDs >= 1 && usage.MemoryBytes > 0
		if ctx.Err() != nil {
			t.Fatalf("the orphan is not found: %+v, %v", usage, err)
		}
	}
	if err := r.End(ctx, "a"); err != nil {
		t.Fatalf("End: %v", err)
	}
	if _, err := r.Usage("a"); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("after End: %v", err)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process of another room: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	if err := r.Remove(ctx, "b"); err != nil {
		t.Errorf("Remove: %v", err)
	}
	<-ended
	if _, err := os.Stat(filepath.Join(r.Dir, "b")); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
	if err := errors.Join(r.Remove(ctx, "b"), r.End(ctx, "never")); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
}
