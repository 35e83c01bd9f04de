package holder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/holder/confine"
	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// printed returns what a script in a holder prints before the line "end".
func printed(t *testing.T, script string, change func(*wire.Launch)) string {
	t.Helper()
	h := hold(t, script+"; echo e''nd; exec sleep 60", change)
	return until(t, open(t, h.connect(), 0), "end")
}

// TestNoNewPrivs reads in the agent what the kernel says of it.
func TestNoNewPrivs(t *testing.T) {
	out := printed(t, "grep NoNewPrivs /proc/self/status", nil)
	if !strings.Contains(out, "NoNewPrivs:\t1") {
		t.Errorf("the agent may gain privileges: %q", out)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(status), "NoNewPrivs:\t1") {
		t.Skip("this test runs without new privileges itself")
	}
}

// TestShutDirectories starts a command that may not use a directory but for parts of it.
func TestShutDirectories(t *testing.T) {
	if abi := confine.ABI(); abi < confine.MinABI {
		t.Skipf("the kernel has Landlock %d; %d is needed", abi, confine.MinABI)
	}
	top := t.TempDir()
	for path, text := range map[string]string{
		"data/key": "the key", "data/rooms/a/own": "mine", "data/rooms/b/other": "not mine", "data/git/config": "read me", "beside": "free",
	} {
		path = filepath.Join(top, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(top, "data")
	script := `cd ` + data + `
can() { if eval "$2" >/dev/null 2>&1; then echo "$1: yes"; else echo "$1: no"; fi; }
can key 'cat key'; can list 'ls .'; can make 'echo x >new'; can other 'cat rooms/b/other'; can remove 'rm key'
can own 'cat rooms/a/own'; can write 'echo x >rooms/a/new'; can move 'mkdir rooms/a/d && mv rooms/a/new rooms/a/d/'
can config 'cat git/config'; can change 'echo x >>git/config'; can beside 'cat ../beside'; can link 'ln key rooms/a/key'
can system 'ls /usr/bin'; can null 'echo x >/dev/null'; can init 'kill -0 $PPID'; can environ 'cat /proc/$PPID/environ'
can hidden 'cat /proc/$PPID/root` + data + `/key'`
	out := printed(t, script, func(l *wire.Launch) {
		l.Landlock, l.Shut = true, []string{data}
		l.Open, l.Readable = []string{filepath.Join(data, "rooms/a")}, []string{filepath.Join(data, "git")}
	})
	for what, want := range map[string]bool{
		"key": false, "list": false, "make": false, "other": false, "remove": false, "own": true, "write": true, "move": true,
		"config": true, "change": false, "beside": true, "link": false, "system": true, "null": true, "environ": false, "hidden": false,
		"init": confine.ABI() < 6, // the holder, which is outside
	} {
		answer := map[bool]string{true: "yes", false: "no"}[want]
		if !strings.Contains(out, what+": "+answer) {
			t.Errorf("%s: want %s", what, answer)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestUser runs the command as another user, whose hooks are heard and who cannot end the holder.
func TestUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may start a command as somebody else")
	}
	dir, err := os.MkdirTemp("/tmp", "holder-user")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(dir, "helper")
	data, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(helper, data, 0o755); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := hold(t, "id -u; id -g; id -G; cat "+secret+" || echo shut; kill -0 $PPID || echo kept; tty; : >$(tty) && echo terminal; "+
		"echo {} | "+helper+" hook "+filepath.Join(dir, "s")+" Stop; echo e''nd; exec sleep 60", func(l *wire.Launch) {
		l.Dir, l.Socket = dir, filepath.Join(dir, "s")
		l.User = &wire.User{UID: 65534, GID: 65533, Groups: []uint32{65532}}
	})
	c := h.connect()
	call := next(t, c)
	if call.Name != "Stop" {
		t.Errorf("hook %q", call.Name)
	}
	call.Answer([]byte("heard"))
	out := until(t, open(t, c, 0), "end")
	for _, want := range []string{"65534\r\n65533\r\n65533 65532\r\n", "shut", "kept", "terminal", "heard"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if err := c.Kill(t.Context()); err != nil {
		t.Errorf("the end of an agent of another user: %v", err)
	}
}
