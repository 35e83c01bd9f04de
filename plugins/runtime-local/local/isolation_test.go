package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder/confine"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const nobody = 65534

// asNobody makes a launcher whose agents run as nobody, in rooms that they can get to. The test needs root.
func asNobody(t *testing.T, change func(*local.Options)) (l *local.Launcher, dir, rooms string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may run agents as somebody else")
	}
	rooms, err := os.MkdirTemp("/tmp", "rooms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(rooms) })
	if err := os.Chmod(rooms, 0o711); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	return open(t, dir, func(o *local.Options) {
		o.RoomsDir, o.Isolation = filepath.Join(rooms, "r"), local.Isolation{User: "65534", Group: "65533"}
		if change != nil {
			change(o)
		}
	}), dir, rooms
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// TestAgentOfAnotherUser runs an agent as nobody through what is done to one: files, hooks, an adoption by the next
// process, its end with all that it started, and the end of its room.
func TestAgentOfAnotherUser(t *testing.T) {
	var options local.Options
	l, dir, _ := asNobody(t, func(o *local.Options) { options = *o })
	spec := &runtime.Spec{ID: "a", Type: "sh"}
	room, err := l.Prepare(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	files := []agentcli.File{{Path: filepath.Join(room.Home, ".tool/settings"), Data: []byte("given")}}
	p, err := l.Launch(t.Context(), agentcli.Command{
		Spec: spec, Room: room, Path: "/bin/sh", Env: room.Env, Files: files, Cols: 80, Rows: 24,
		Args: []string{"-c", `id -u; cat ~/.tool/settings && echo new >~/.tool/other && echo x >work && echo $USER
setsid sleep 300 & ` + callsHook},
	})
	if err != nil {
		t.Fatal(err)
	}
	readUntil(t, p, 0, "go")
	if uid := ownerOf(t, filepath.Join(room.Home, ".tool/other")); uid != nobody {
		t.Errorf("what the agent made belongs to %d", uid)
	}
	if data, err := room.ReadFile(filepath.Join(room.Home, ".tool/other")); err != nil || string(data) != "new\n" {
		t.Errorf("the service reads %q, error %v", data, err)
	}
	handle := p.Handle()
	_ = p.Close()

	next := open(t, dir, func(o *local.Options) { o.RoomsDir, o.Isolation = options.RoomsDir, options.Isolation })
	found, err := next.Find(t.Context(), handle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	answer := callHook(t, room, "{}")
	select {
	case call := <-found.(agentcli.HookSource).Hooks():
		call.Answer([]byte("heard"))
	case <-time.After(patience):
		t.Fatal("the call does not come")
	}
	if text := answer(); text != "heard" {
		t.Errorf("the hook printed %q", text)
	}
	if err := found.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command("pgrep", "-u", "65534", "sleep").Output(); err == nil {
		t.Errorf("processes are left: %s", out)
	}
	if err := next.Remove(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(options.RoomsDir); err != nil || len(left) != 2 { // of sockets and of helpers
		t.Errorf("left: %v, error %v", left, err)
	}
}

// TestWorkspaceOfAnotherUser commits as nobody in a work tree that the service made, twice: the service writes in
// between.
func TestWorkspaceOfAnotherUser(t *testing.T) {
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=s", "-c", "user.email=s@s"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	site, err := os.MkdirTemp("/tmp", "site")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(site) })
	if err := os.Chmod(site, 0o711); err != nil {
		t.Fatal(err)
	}
	l, _, _ := asNobody(t, func(o *local.Options) { o.Private, o.Workspaces = []string{site}, site })
	mirror, tree := filepath.Join(site, "mirror"), filepath.Join(site, "tree")
	outside := write(t, filepath.Join(t.TempDir(), "outside"), "not theirs")
	git(site, "init", "-q", "--initial-branch=main", mirror)
	git(mirror, "commit", "-q", "--allow-empty", "-m", "first")
	git(mirror, "worktree", "add", "-q", "-b", "work", tree)
	symlink(t, outside, filepath.Join(tree, "link"))

	const commit = `date +%N >>file && git add file && git -c user.name=a -c user.email=a@a commit -q -m "of the agent"; echo "exit $? of $(git log --oneline | wc -l)"; exec sleep 60`
	for life, want := range []string{"exit 0 of 2", "exit 0 of 4"} {
		p, _ := startSpec(t, l, &runtime.Spec{ID: "w", Type: "sh", Workdir: tree, Labels: map[string]string{"wardroom.thread": "thread_1"}}, commit)
		readUntil(t, p, 0, want)
		_ = p.Kill(t.Context())
		_ = p.Close()
		cmd := exec.Command("git", "-c", "safe.directory=*", "log", "--oneline")
		cmd.Dir = tree
		log, err := cmd.Output()
		if n := strings.Count(string(log), "\n"); err != nil || !strings.HasSuffix(want, string(rune('0'+n))) {
			t.Fatalf("life %d: %d commits (%v), want %s", life, n, err, want)
		}
		git(tree, "-c", "safe.directory=*", "commit", "-q", "--allow-empty", "-m", "of the service")
	}
	if uid := ownerOf(t, outside); uid != 0 {
		t.Errorf("a link was followed out of the work tree: %d", uid)
	}
	if uid := ownerOf(t, filepath.Join(mirror, ".git/config")); uid != 0 {
		t.Errorf("the configuration of the repository belongs to %d", uid)
	}
}

// TestIsolationRefused says which field is wrong, and why.
func TestIsolationRefused(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		want  local.Isolation
		field string
		text  string
	}{
		"Unknown":     {local.Isolation{User: "no-such-user"}, "isolation.user", "no user of this machine"},
		"Root":        {local.Isolation{User: "root"}, "isolation.user", "root"},
		"Group":       {local.Isolation{User: "nobody", Group: "no-such-group"}, "isolation.group", "no group"},
		"RootGroup":   {local.Isolation{User: "nobody", Group: "0"}, "isolation.group", "root"},
		"GroupAlone":  {local.Isolation{Group: "daemon"}, "isolation.group", "without isolation.user"},
		"NumberAlone": {local.Isolation{User: "4242424"}, "isolation.group", "is needed"},
		"Rooms":       {local.Isolation{User: "nobody"}, "roomsDir", "cannot enter"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "Rooms" && os.Getuid() != 0 {
				t.Skip("only root gets that far")
			}
			options := local.Options{
				StateDir: filepath.Join(dir, "state"), RunDir: filepath.Join(dir, "run"), Holder: holderBinary, Isolation: test.want,
			}
			err := runtime.AsError(local.New(options).Open(t.Context()))
			if err == nil || err.Code != runtime.CodeInvalidArgument || err.Field != test.field || !strings.Contains(err.Message, test.text) || err.Hint == "" {
				t.Errorf("error %+v, want one of %s with %q", err, test.field, test.text)
			}
		})
	}
}

// TestLookPath finds commands before there is an agent, as it does for one.
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := open(t, t.TempDir(), func(o *local.Options) { o.Env = map[string]string{"PATH": dir} })
	if path, err := l.LookPath(t.Context(), "tool"); err != nil || path != tool {
		t.Errorf("%q, error %v, want %q", path, err, tool)
	}
	if err := os.Remove(tool); err != nil {
		t.Fatal(err)
	}
	if path, err := l.LookPath(t.Context(), "tool"); runtime.ErrorCode(err) != runtime.CodeCLINotFound {
		t.Errorf("%q, error %v, want CLI_NOT_FOUND", path, err)
	}
}

// TestWorkdirOfTheService refuses to let an agent work in what is the service's own, but for workspaces of its thread.
func TestWorkdirOfTheService(t *testing.T) {
	site := t.TempDir()
	l := open(t, t.TempDir(), func(o *local.Options) {
		o.Private, o.Workspaces = []string{site}, filepath.Join(site, "trees")
	})
	for path, fine := range map[string]bool{"": false, "keys": false, "trees/one": true} {
		dir := mkdir(t, filepath.Join(site, path))
		_, err := l.Prepare(t.Context(), &runtime.Spec{ID: "a", Type: "sh", Workdir: dir, Labels: map[string]string{"wardroom.thread": "thread_1"}})
		if want := runtime.CodeWorkdirNotAllowed; (err == nil) != fine || !fine && runtime.ErrorCode(err) != want {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestSandboxUnderLandlock starts a tool that makes a sandbox of its own: where Landlock is required, it is refused.
func TestSandboxUnderLandlock(t *testing.T) {
	if abi := confine.ABI(); abi < confine.MinABI {
		t.Skipf("the kernel has Landlock %d; %d is needed", abi, confine.MinABI)
	}
	for _, landlock := range []string{"auto", "require"} {
		dir := t.TempDir()
		l := open(t, dir, func(o *local.Options) { o.Isolation.Landlock = landlock })
		spec := &runtime.Spec{ID: "a", Type: "sh"}
		room, err := l.Prepare(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Launch(t.Context(), agentcli.Command{
			Spec: spec, Room: room, Path: "/bin/sh", Env: room.Env, Cols: 80, Rows: 24, Mounts: true,
			Args: []string{"-c", "cat " + write(t, filepath.Join(dir, "state/key"), "readable") + "; cat /proc/$PPID/environ && echo open || echo shut; exec sleep 60"},
		})
		if landlock == "require" {
			if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeInvalidSpec || e.Field != "approval" {
				t.Errorf("a tool that cannot be confined: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if out := readUntil(t, p, 0, "shut"); out == nil {
			t.Error("no output")
		}
		_ = p.Kill(t.Context())
		_ = p.Close()
	}
}
