package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// A socket's path is at most 107 bytes and a NUL; its name in the run directory is short for that.
const (
	maxSocket  = 107
	socketName = 21 // 16 digits and ".sock"
)

// maxRead bounds a file that ReadFile returns.
const maxRead = 64 << 20

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func checkID(id string) error {
	if !validID.MatchString(id) {
		return runtime.Invalid("id", "%q is not an id: 1 to 64 letters, digits, _ and -", id)
	}
	return nil
}

func (l *Launcher) rooms() string             { return l.opts.RoomsDir }
func (l *Launcher) room(id string) string     { return filepath.Join(l.rooms(), id) }
func (l *Launcher) record(id string) string   { return filepath.Join(l.room(id), "life.json") }
func (l *Launcher) exitFile(id string) string { return filepath.Join(l.room(id), "exit") }

// socket is the same in each life of an agent, because its hook command stands in configuration files of its
// CLI. Two state directories may share a run directory.
func (l *Launcher) socket(id string) string {
	sum := sha256.Sum256([]byte(l.opts.StateDir + "\x00" + id))
	return filepath.Join(l.sockets(), hex.EncodeToString(sum[:8])+".sock")
}

// sockets is the directory of the holders' sockets. Hooks of agents that run as somebody else have to get there.
func (l *Launcher) sockets() string {
	if l.isolation.user != nil {
		return filepath.Join(l.rooms(), ".sockets")
	}
	return l.opts.RunDir
}

// Prepare makes the room of an agent. INVALID_SPEC, WORKDIR_NOT_ALLOWED.
func (l *Launcher) Prepare(_ context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	if err := checkID(spec.ID); err != nil {
		return agentcli.Room{}, err
	}
	if spec.Image != "" {
		return agentcli.Room{}, runtime.Invalid("image", "the local runtime starts commands of this machine, not images")
	}
	if spec.Network != "" {
		return agentcli.Room{}, runtime.Invalid("network", "the local runtime has no networks to choose from")
	}
	if err := checkNames("env", spec.Env); err != nil {
		return agentcli.Room{}, err
	}
	if err := l.cgroups.check(spec.Limits); err != nil {
		return agentcli.Room{}, err
	}
	workdir := ""
	if spec.Workdir != "" {
		var err error
		if workdir, err = l.workdir(spec.Workdir); err != nil {
			return agentcli.Room{}, err
		}
	}
	base := l.room(spec.ID)
	room := agentcli.Room{
		Home: filepath.Join(base, "home"), Workdir: filepath.Join(base, "work"), Temp: filepath.Join(base, "tmp"),
		Hook: []string{l.hookHelper(spec.ID), "hook", l.socket(spec.ID)},
	}
	_, err := os.Lstat(room.Home)
	first := os.IsNotExist(err)
	for _, dir := range []string{base, room.Home, room.Workdir, room.Temp} {
		err := makeDir(dir)
		if err == nil && dir == base && l.isolation.user != nil {
			err = os.Chmod(base, 0o711) // the agent gets to its directories, and cannot take others in their place
		}
		if err != nil {
			return agentcli.Room{}, runtime.Errorf(runtime.CodeSpawnFailed, "make the room of the agent: %v", err)
		}
	}
	if workdir != "" {
		room.Workdir = workdir
	}
	if first {
		if err := l.lend(spec.Type, room); err != nil {
			_ = os.RemoveAll(room.Home)
			return agentcli.Room{}, err
		}
	}
	room.Git = local.FindGit(room.Workdir)
	if err := l.handOver(room, workdir != ""); err != nil {
		return agentcli.Room{}, err
	}
	room.Env = l.environment(room)
	room.LookPath = func(name string) (string, error) { return l.lookPath(name, room.Env) }
	room.ReadFile = func(path string) ([]byte, error) { return readInside(room, path) }
	room.ReadFrom = func(path string, offset int64, limit int) ([]byte, int64, error) {
		return readInsideFrom(room, path, offset, limit)
	}
	return room, nil
}

// makeDir makes a private directory, or takes one that is there and no symlink.
func makeDir(path string) error {
	if err := os.Mkdir(path, 0o700); err == nil || !os.IsExist(err) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", path)
	}
	return os.Chmod(path, 0o700)
}

// lookPath finds a command on the PATH of the agent, which whoever the agent runs as may run.
func (l *Launcher) lookPath(name string, env []string) (string, error) {
	path, err := lookPath(name, env)
	if a := l.isolation.user; err == nil && a != nil && a.access(path, unix.X_OK) != nil {
		return "", &runtime.Error{
			Code: runtime.CodeCLINotFound, Message: fmt.Sprintf("agents run as %s, who may not run %s: %s is shut to them", a.name, path, a.barrier(path)),
			Hint: "install the command where every user may run it, such as /usr/local",
		}
	}
	return path, err
}

// lookPath finds a command on the PATH of the agent.
func lookPath(name string, env []string) (string, error) {
	notFound := &runtime.Error{
		Code: runtime.CodeCLINotFound, Message: fmt.Sprintf("the command %q was not found", name),
		Hint: "install it, or put its directory on the PATH of the service or into env.PATH of the runtime's configuration",
	}
	if strings.ContainsRune(name, '/') {
		if filepath.IsAbs(name) && executable(name) {
			return name, nil
		}
		return "", notFound
	}
	if name == "" {
		return "", notFound
	}
	path := ""
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		// A relative entry would mean another command in every directory.
		if full := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(full) {
			return full, nil
		}
	}
	return "", notFound
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

// readInside reads a regular file of the room. A symlink that leads out of it is not followed: the agent could
// put one there, and its reader may be allowed more than it is.
func readInside(room agentcli.Room, path string) ([]byte, error) {
	file, err := openInside(room, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxRead+1))
	if err == nil && len(data) > maxRead {
		err = runtime.Errorf(runtime.CodeResourceLimit, "%s is larger than %d bytes", path, maxRead)
	}
	return data, err
}

// readInsideFrom reads a part of such a file, as agentcli.Room has it.
func readInsideFrom(room agentcli.Room, path string, offset int64, limit int) (data []byte, at int64, err error) {
	file, err := openInside(room, path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }()
	return agentcli.ReadPart(file, offset, min(limit, maxRead))
}

// openInside opens a regular file of the room, and nothing that a symlink leads to from outside of it.
func openInside(room agentcli.Room, path string) (*os.File, error) {
	root, rest, ok := inside(room, path)
	if !ok {
		return nil, runtime.Errorf(runtime.CodeForbidden, "%s is outside of the agent's room", path)
	}
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer func() { _ = unix.Close(dir) }()
	fd, err := unix.Openat2(dir, rest, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(fd), path)
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = runtime.Errorf(runtime.CodeForbidden, "%s is not a file", path)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// inside splits a path into a directory of the room and what is below it.
func inside(room agentcli.Room, path string) (root, rest string, ok bool) {
	path = filepath.Clean(path)
	for _, root := range []string{room.Home, room.Workdir, room.Temp} {
		if rest, ok := strings.CutPrefix(path, root+"/"); ok && root != "" {
			return root, rest, true
		}
	}
	return "", "", false
}
