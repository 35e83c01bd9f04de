package drivertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Launcher starts commands on this machine, for as long as the test's process lives.
type Launcher struct {
	Dir  string            // of the rooms, a real path
	Path map[string]string // commands by name; others are looked up on the PATH
}

// Prepare implements agentcli.Launcher.
func (l *Launcher) Prepare(_ context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	root := filepath.Join(l.Dir, spec.ID)
	room := agentcli.Room{
		Home: filepath.Join(root, "home"), Workdir: filepath.Join(root, "work"), Temp: filepath.Join(root, "tmp"),
		LookPath: l.lookPath, ReadFile: os.ReadFile, ReadFrom: readFrom,
	}
	if spec.Workdir != "" {
		room.Workdir = spec.Workdir
	}
	for _, dir := range []string{room.Home, room.Workdir, room.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return room, runtime.Errorf(runtime.CodeSpawnFailed, "%v", err)
		}
	}
	room.Git = local.FindGit(room.Workdir)
	self, err := os.Executable()
	if err != nil {
		return room, err
	}
	socket, err := l.socket(spec.ID)
	if err != nil {
		return room, err
	}
	room.Hook = []string{self, relayArg, socket}
	room.Env = []string{
		"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "TMPDIR=" + room.Temp,
	}
	return room, nil
}

func readFrom(path string, offset int64, limit int) (data []byte, at int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	return agentcli.ReadPart(f, offset, limit)
}

// socket returns the path of the agent's hook socket, which stays the same over its lives.
func (l *Launcher) socket(id string) (string, error) {
	note := filepath.Join(l.Dir, id, "socket")
	if b, err := os.ReadFile(note); err == nil {
		return string(b), nil
	}
	socket, err := shortSocket(id)
	if err != nil {
		return "", err
	}
	return socket, os.WriteFile(note, []byte(socket), 0o600)
}

func (l *Launcher) lookPath(name string) (string, error) {
	if p := l.Path[name]; p != "" {
		return p, nil
	}
	p, err := exec.LookPath(name)
	if err != nil {
		return "", runtime.Errorf(runtime.CodeCLINotFound, "%q is not on the PATH", name)
	}
	return p, nil
}

// Launch implements agentcli.Launcher.
func (l *Launcher) Launch(_ context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	for _, f := range cmd.Files {
		if err := writeFile(f); err != nil {
			return nil, runtime.Errorf(runtime.CodeSpawnFailed, "%v", err)
		}
	}
	socket, err := l.socket(cmd.Spec.ID)
	if err != nil {
		return nil, err
	}
	return start(cmd, socket)
}

func writeFile(f agentcli.File) error {
	if _, err := os.Stat(f.Path); err == nil && f.Keep {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(f.Path, f.Data, f.Mode)
}

// Room implements agentcli.Archive.
func (l *Launcher) Room(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	if _, err := os.Stat(filepath.Join(l.Dir, spec.ID)); err != nil {
		return agentcli.Room{}, agentcli.ErrGone
	}
	return l.Prepare(ctx, spec)
}

// Find implements agentcli.Launcher: nothing outlives this process.
func (l *Launcher) Find(context.Context, []byte) (agentcli.Process, error) {
	return nil, agentcli.ErrGone
}

// Remove implements agentcli.Launcher.
func (l *Launcher) Remove(_ context.Context, id string) error {
	if socket, err := os.ReadFile(filepath.Join(l.Dir, id, "socket")); err == nil {
		os.RemoveAll(filepath.Dir(string(socket)))
	}
	return os.RemoveAll(filepath.Join(l.Dir, id))
}

var _ agentcli.Launcher = (*Launcher)(nil)
