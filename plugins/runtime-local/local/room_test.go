package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func symlink(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWorkdir(t *testing.T) {
	dir := t.TempDir()
	good := mkdir(t, filepath.Join(dir, "good/below"))
	other := mkdir(t, filepath.Join(dir, "other"))
	file := write(t, filepath.Join(dir, "good/file"), "")
	inside := symlink(t, good, filepath.Join(dir, "link"))
	outside := symlink(t, other, filepath.Join(dir, "good/escape"))
	system := symlink(t, "/etc", filepath.Join(dir, "etc"))
	for _, test := range []struct {
		name  string
		roots []string
		path  string
		want  string // the real path; empty: refused
		text  string // part of the refusal
	}{
		{"Any", nil, good, good, ""},
		{"Symlink", nil, inside, good, ""},
		{"Root", nil, "/", "", "system"},
		{"Etc", nil, "/etc", "", "system"},
		{"EtcByLink", nil, system, "", "system"},
		{"Proc", nil, "/proc/self", "", "system"},
		{"Relative", nil, "good", "", "absolute"},
		{"Missing", nil, filepath.Join(dir, "missing"), "", "does not exist"},
		{"File", nil, file, "", "not a directory"},
		{"State", nil, filepath.Join(dir, "state"), "", "own state"},
		{"AboveState", nil, dir, dir, ""}, // as in a project that keeps its state in itself
		{"RunDir", nil, filepath.Join(dir, "run"), "", "own state"},
		{"InRoot", []string{filepath.Join(dir, "good")}, good, good, ""},
		{"RootItself", []string{good}, good, good, ""},
		{"ByLinkIntoRoot", []string{filepath.Join(dir, "good")}, inside, good, ""},
		{"RootIsLink", []string{inside}, good, good, ""},
		{"OutOfRoot", []string{filepath.Join(dir, "good")}, other, "", "none of the directories"},
		{"EscapesRoot", []string{filepath.Join(dir, "good")}, outside, "", "none of the directories"},
		{"LikeRoot", []string{filepath.Join(dir, "goo")}, good, "", "none of the directories"},
		{"SystemListed", []string{"/etc"}, "/etc", "/etc", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := open(t, dir, func(o *local.Options) { o.Workdirs = test.roots })
			room, err := l.Prepare(t.Context(), &runtime.Spec{ID: "w", Type: "sh", Workdir: test.path})
			if test.want != "" {
				if err != nil || room.Workdir != test.want {
					t.Errorf("the work directory is %q, error %v, want %q", room.Workdir, err, test.want)
				}
				return
			}
			e := runtime.AsError(err)
			if e == nil || e.Code != runtime.CodeWorkdirNotAllowed || e.Field != "workdir" || !strings.Contains(e.Message, test.text) {
				t.Errorf("error %v, want WORKDIR_NOT_ALLOWED with %q", err, test.text)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	l := open(t, t.TempDir(), func(o *local.Options) {
		o.Environ = []string{
			"PATH=/bin", "LC_TIME=C", "https_proxy=http://p", "SECRET=s", "AWS_ACCESS_KEY_ID=k", "LD_PRELOAD=/x", "HOME=/root", "TERM=dumb",
			"WARDROOM_TOKEN=t", "EMPTY", "SSL_CERT_FILE=/c",
		}
		o.Env = map[string]string{"EXTRA": "e"}
	})
	room, err := l.Prepare(t.Context(), &runtime.Spec{ID: "env", Type: "sh", Env: map[string]string{"MINE": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"COLORTERM=truecolor", "EXTRA=e", "HOME=" + room.Home, "LANG=C.UTF-8", "LC_TIME=C", "PATH=/bin", "SSL_CERT_FILE=/c",
		"TERM=xterm-256color", "TMPDIR=" + room.Temp, "https_proxy=http://p",
	}
	if !slices.Equal(room.Env, want) {
		t.Errorf("the environment is %q, want %q", room.Env, want)
	}
	for _, name := range []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "WARDROOM_AGENT_ID", "HOME", "TMPDIR", "A B", "", "1A", "A=B"} {
		_, err := l.Prepare(t.Context(), &runtime.Spec{ID: "env", Type: "sh", Env: map[string]string{name: "secret-value"}})
		e := runtime.AsError(err)
		if e == nil || e.Code != runtime.CodeInvalidSpec || !strings.HasPrefix(e.Field, "env") || strings.Contains(e.Error(), "secret-value") {
			t.Errorf("the variable %q: %v", name, err)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	l := open(t, t.TempDir(), nil)
	for field, spec := range map[string]runtime.Spec{
		"id": {ID: "../escape"}, "image": {ID: "a", Image: "x"}, "network": {ID: "a", Network: "x"},
		"limits.memoryBytes": {ID: "a", Limits: runtime.Limits{MemoryBytes: 1}}, "limits.cpu": {ID: "a", Limits: runtime.Limits{CPU: 1}},
		"limits.pids": {ID: "a", Limits: runtime.Limits{PIDs: 1}}, // this launcher uses no cgroups
	} {
		_, err := l.Prepare(t.Context(), &spec)
		if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeInvalidSpec || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, id := range []string{"", "a/b", "..", strings.Repeat("x", 65)} {
		if err := l.Remove(t.Context(), id); runtime.ErrorCode(err) != runtime.CodeInvalidSpec {
			t.Errorf("Remove(%q): %v", id, err)
		}
	}
}

// TestRoomIsPrivate checks modes, and that a link in the place of a directory is not taken.
func TestRoomIsPrivate(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	spec := &runtime.Spec{ID: "p", Type: "sh"}
	room, err := l.Prepare(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{room.Home, room.Workdir, room.Temp, filepath.Dir(room.Home), filepath.Join(dir, "run")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, error %v", path, info.Mode(), err)
		}
	}
	if err := os.Remove(room.Temp); err != nil {
		t.Fatal(err)
	}
	symlink(t, "/etc", room.Temp)
	if _, err := l.Prepare(t.Context(), spec); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("a link in the place of a directory: %v", err)
	}
}

// TestFiles writes files before the start, and never through a link.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	outside := mkdir(t, filepath.Join(dir, "outside"))
	victim := write(t, filepath.Join(outside, "victim"), "untouched")
	launch := func(files ...agentcli.File) error {
		spec := &runtime.Spec{ID: "files", Type: "sh"}
		room, err := l.Prepare(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Launch(t.Context(), agentcli.Command{Spec: spec, Room: room, Path: "/bin/true", Files: files, Env: room.Env, Cols: 80, Rows: 24})
		if err == nil {
			_, err = p.Wait(t.Context())
			_ = p.Close()
		}
		return err
	}
	t.Cleanup(func() { _ = l.Remove(t.Context(), "files") })
	home := filepath.Join(dir, "state/agents/files/home")

	if err := launch(agentcli.File{Path: home + "/.a/b/c", Data: []byte("one"), Mode: 0o640}, agentcli.File{Path: home + "/kept", Data: []byte("first"), Keep: true}); err != nil {
		t.Fatal(err)
	}
	if err := launch(agentcli.File{Path: home + "/.a/b/c", Data: []byte("two")}, agentcli.File{Path: home + "/kept", Data: []byte("second"), Keep: true}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{".a/b/c": "two", "kept": "first"} {
		if got, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, error %v", name, got, err)
		}
	}
	if info, err := os.Stat(home + "/.a/b/c"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file without a mode has %v, error %v", info.Mode(), err)
	}

	symlink(t, outside, home+"/linkdir")
	symlink(t, victim, home+"/linkfile")
	for _, bad := range []string{home + "/linkdir/victim", filepath.Join(dir, "outside/new"), home + "/../x", "/etc/x", "relative", home} {
		if err := launch(agentcli.File{Path: bad, Data: []byte("x")}); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
			t.Errorf("the file %s: %v, want SPAWN_FAILED", bad, err)
		}
	}
	if err := launch(agentcli.File{Path: home + "/linkfile", Data: []byte("mine")}); err != nil {
		t.Errorf("a file in the place of a link: %v", err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "untouched" {
		t.Errorf("the target of the link holds %q", got)
	}
}

// TestReadFile reads what is the agent's and no more.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	room, err := l.Prepare(t.Context(), &runtime.Spec{ID: "r", Type: "sh"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, room.Home+"/deep/log", "text")
	symlink(t, "deep/log", room.Home+"/within")
	symlink(t, "/etc/passwd", room.Home+"/away")
	if err := syscall.Mkfifo(room.Home+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, good := range []string{"/deep/log", "/within"} {
		if got, err := room.ReadFile(room.Home + good); err != nil || string(got) != "text" {
			t.Errorf("%s: %q, error %v", good, got, err)
		}
		if got, at, err := room.ReadFrom(room.Home+good, -3, 2); err != nil || string(got) != "ex" || at != 1 {
			t.Errorf("%s: %q at %d, error %v", good, got, at, err)
		}
	}
	for _, bad := range []string{room.Home + "/away", room.Home + "/fifo", room.Home + "/deep", "/etc/passwd", room.Home + "/../life.json", room.Home} {
		if got, err := room.ReadFile(bad); err == nil {
			t.Errorf("%s can be read: %q", bad, got)
		}
		if got, _, err := room.ReadFrom(bad, 0, 100); err == nil {
			t.Errorf("%s can be read in parts: %q", bad, got)
		}
	}
	if _, err := room.ReadFile(room.Workdir + "/missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestCredentials copies a login into a new home, once.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	login := mkdir(t, filepath.Join(dir, "login"))
	write(t, login+"/.credentials.json", "token")
	write(t, login+"/deep/other", "more")
	l := open(t, dir, func(o *local.Options) {
		o.Credentials = map[string]string{"claude": login, "sh": login, "codex": filepath.Join(dir, "none")}
	})
	for agentType, base := range map[string]string{"claude": ".claude", "sh": "."} {
		room, err := l.Prepare(t.Context(), &runtime.Spec{ID: agentType, Type: agentType})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(room.Home, base, ".credentials.json")
		if got, err := os.ReadFile(path); err != nil || string(got) != "token" {
			t.Errorf("%s got %q, error %v", agentType, got, err)
		}
		if info, err := os.Stat(filepath.Join(room.Home, base, "deep/other")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, error %v", agentType, info.Mode(), err)
		}
		write(t, path, "refreshed")
		if _, err := l.Prepare(t.Context(), &runtime.Spec{ID: agentType, Type: agentType}); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != "refreshed" {
			t.Errorf("%s lost what its CLI had refreshed: %q", agentType, got)
		}
	}
	if _, err := l.Prepare(t.Context(), &runtime.Spec{ID: "codex", Type: "codex"}); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("a missing login: %v", err)
	}
}

// TestHandleGolden reads the handles of version 1 for ever.
func TestHandleGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/handle-v1.json")
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, t.TempDir(), nil)
	if _, err := l.Find(t.Context(), golden); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("a handle of version 1: %v, want ErrGone for an agent of another boot", err)
	}
	for _, bad := range []string{"", "[]", `{"v":2}`, `{"v":1}`, strings.Replace(string(golden), `"v":1`, `"v":9`, 1), strings.Replace(string(golden), "agent_1", "../x", 1)} {
		if _, err := l.Find(t.Context(), []byte(bad)); runtime.ErrorCode(err) != runtime.CodeInvalidHandle {
			t.Errorf("the handle %q: %v, want INVALID_HANDLE", bad, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	good := local.Options{StateDir: dir + "/state", RunDir: dir + "/run", Holder: holderBinary}
	for field, change := range map[string]func(*local.Options){
		"stateDir": func(o *local.Options) { o.StateDir = "state" },
		"runDir":   func(o *local.Options) { o.RunDir = "" },
		"holder":   func(o *local.Options) { o.Holder = dir + "/none" },
	} {
		opts := good
		change(&opts)
		if e := runtime.AsError(local.New(opts).Open(t.Context())); e == nil || e.Field != field {
			t.Errorf("%s: %v", field, e)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("a refused Open leaves %v, error %v", entries, err)
	}
}

// TestLongRunDir finds a shorter place for sockets.
func TestLongRunDir(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, func(o *local.Options) { o.RunDir = filepath.Join(dir, strings.Repeat("deep/", 20)) })
	room, err := l.Prepare(t.Context(), &runtime.Spec{ID: "a", Type: "sh"})
	if err != nil || len(room.Hook[2]) > 107 {
		t.Fatalf("the hook is %q, error %v", room.Hook, err)
	}
	t.Cleanup(func() { _ = os.Remove(filepath.Dir(room.Hook[2])) })
	p, _ := start(t, l, "a", "exit 0")
	if _, err := p.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
