package local_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestWorkdirOfOthers keeps agents out of the directories of the system, of the runtime and of its service.
func TestWorkdirOfOthers(t *testing.T) {
	dir := t.TempDir()
	state, site := mkdir(t, filepath.Join(dir, "state")), mkdir(t, filepath.Join(dir, "site"))
	work := mkdir(t, filepath.Join(site, "threads/one"))
	link := filepath.Join(dir, "etc")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	r := &local.Rooms{
		Dir: filepath.Join(dir, "rooms"), Own: []string{state}, Private: []string{site}, Workspaces: filepath.Join(site, "threads"),
	}
	for path, text := range map[string]string{
		"/": "system", "/etc": "system", link: "system", "/proc/self": "system", state: "own state", site: "service's own state", work: "",
		filepath.Join(site, "threads"): "of threads", dir: "",
	} {
		_, err := r.Prepare(t.Context(), &runtime.Spec{ID: "w", Workdir: path, Labels: map[string]string{"wardroom.thread": "thread_1"}})
		if text == "" && err != nil || text != "" && !strings.Contains(runtime.AsError(err).Message, text) {
			t.Errorf("%s: %v, want %q", path, err, text)
		}
	}
	r.Workdirs = []string{"/etc"}
	if room, err := r.Prepare(t.Context(), &runtime.Spec{ID: "w", Workdir: "/etc"}); err != nil || room.Workdir != "/etc" {
		t.Errorf("a listed directory of the system: %v", err)
	}
	// An agent that is no thread's gets into no workspace, by a link neither.
	by := filepath.Join(dir, "by")
	if err := os.Symlink(work, by); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{work, by, filepath.Join(site, "threads")} {
		_, err := r.Prepare(t.Context(), &runtime.Spec{ID: "w", Workdir: path, Labels: map[string]string{"team": "core"}})
		if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeWorkdirNotAllowed || !strings.Contains(e.Message, "of threads") {
			t.Errorf("%s, of an agent that is no thread's: %v", path, err)
		}
	}
	if !r.Provided(work) || r.Provided(site) || (&local.Rooms{}).Provided(work) {
		t.Error("what the service provides is not told from the rest")
	}
}

// TestCredentials copies a login into a new home, and not again over what the CLI made of it.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	login := mkdir(t, filepath.Join(dir, "login"))
	if err := os.WriteFile(filepath.Join(login, "token"), []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &local.Rooms{Dir: filepath.Join(dir, "rooms"), Unmarked: true, Credentials: map[string]string{"codex": login, "sh": filepath.Join(dir, "none")}}
	room := prepare(t, r, runtime.Spec{ID: "a", Type: "codex"})
	token := filepath.Join(room.Home, ".codex/token")
	if data, err := os.ReadFile(token); err != nil || string(data) != "first" {
		t.Fatalf("the login is %q, error %v", data, err)
	}
	if slices.ContainsFunc(room.Env, func(pair string) bool { return strings.HasPrefix(pair, "WARDROOM_") }) {
		t.Errorf("a room without a mark has %q", room.Env)
	}
	if err := os.WriteFile(token, []byte("refreshed"), 0o600); err != nil {
		t.Fatal(err)
	}
	prepare(t, r, runtime.Spec{ID: "a", Type: "codex"})
	if data, _ := os.ReadFile(token); string(data) != "refreshed" {
		t.Errorf("what the CLI had refreshed is %q", data)
	}
	if _, err := r.Prepare(t.Context(), &runtime.Spec{ID: "b", Type: "sh"}); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("a login that is not there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "b/home")); !os.IsNotExist(err) {
		t.Errorf("the home without its login is left: %v", err)
	}
}

// TestOwner gives rooms and files to another user, where this process may.
func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may give files away")
	}
	r := &local.Rooms{Dir: filepath.Join(t.TempDir(), "rooms"), Owner: &local.Owner{UID: 65534, GID: 65533}}
	room := prepare(t, r, runtime.Spec{ID: "a"})
	if info, err := os.Stat(filepath.Dir(room.Home)); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("the room: %v, error %v", info, err)
	}
	name := filepath.Join(room.Home, "deep/file")
	if err := r.Write(room, []agentcli.File{{Path: name, Data: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{name, filepath.Dir(name)} {
		if uid, gid := ownerOf(t, path); uid != 65534 || gid != 65533 {
			t.Errorf("%s is of %d:%d", path, uid, gid)
		}
	}
}

func ownerOf(t *testing.T, path string) (uid, gid uint32) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("%s has no owner", path)
	}
	return stat.Uid, stat.Gid
}
