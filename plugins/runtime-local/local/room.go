package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"

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

func (l *Launcher) room(id string) string     { return filepath.Join(l.rooms.Dir, id) }
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
		return filepath.Join(l.rooms.Dir, ".sockets")
	}
	return l.opts.RunDir
}

// lodge tells the rooms whom they are for.
func (l *Launcher) lodge() {
	l.rooms.Own = []string{l.opts.StateDir, l.opts.RunDir}
	if a := l.isolation.user; a != nil {
		l.rooms.Owner = &local.Owner{UID: a.UID, GID: a.GID}
		l.rooms.Env = maps.Clone(l.opts.Env)
		if l.rooms.Env == nil {
			l.rooms.Env = map[string]string{}
		}
		l.rooms.Env["USER"], l.rooms.Env["LOGNAME"] = a.name, a.name
	}
}

// Room implements agentcli.Archive.
func (l *Launcher) Room(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	return l.rooms.Room(ctx, spec)
}

// Prepare makes the room of an agent. INVALID_SPEC, WORKDIR_NOT_ALLOWED.
func (l *Launcher) Prepare(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	if spec.Image != "" {
		return agentcli.Room{}, runtime.Invalid("image", "the local runtime starts commands of this machine, not images")
	}
	if spec.Network != "" {
		return agentcli.Room{}, runtime.Invalid("network", "the local runtime has no networks to choose from")
	}
	if err := l.cgroups.check(spec.Limits); err != nil {
		return agentcli.Room{}, err
	}
	room, err := l.rooms.Prepare(ctx, spec)
	if err != nil {
		return agentcli.Room{}, err
	}
	room.Hook = []string{l.hookHelper(spec.ID), "hook", l.socket(spec.ID)}
	if err := l.handOver(room, spec.Workdir != ""); err != nil {
		return agentcli.Room{}, err
	}
	if a := l.isolation.user; a != nil {
		room.LookPath = a.lookPath(room.LookPath)
	}
	return room, nil
}

// LookPath implements agentcli.Finder: it finds a command as agents will, whichever account they run as. CLI_NOT_FOUND.
func (l *Launcher) LookPath(ctx context.Context, name string) (string, error) {
	find := func(name string) (string, error) { return l.rooms.LookPath(ctx, name) }
	if a := l.isolation.user; a != nil {
		find = a.lookPath(find)
	}
	return find(name)
}

// lookPath narrows a look-up of commands to those that the account may run.
func (a *account) lookPath(find func(string) (string, error)) func(string) (string, error) {
	return func(name string) (string, error) {
		path, err := find(name)
		if err == nil && a.access(path, unix.X_OK) != nil {
			return "", &runtime.Error{
				Code: runtime.CodeCLINotFound, Message: fmt.Sprintf("agents run as %s, who may not run %s: %s is shut to them", a.name, path, a.barrier(path)),
				Hint: "install the command where every user may run it, such as /usr/local",
			}
		}
		return path, err
	}
}
