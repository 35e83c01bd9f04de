package local

import (
	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
)

// handOver gives a room to the account that its agent runs as, and refuses a work directory that the account cannot use.
func (l *Launcher) handOver(room agentcli.Room, given bool) error {
	a := l.isolation.user
	if a == nil {
		return nil
	}
	if err := l.rooms.HandOver(room, given); err != nil {
		return err
	}
	if err := a.access(room.Workdir, unix.R_OK|unix.X_OK); err != nil {
		return local.WorkdirNotAllowed("let the user "+a.name+" read and enter it and what leads to it",
			"%s cannot be used by %s, whom agents run as: %s shuts it", room.Workdir, a.name, a.barrier(room.Workdir))
	}
	return nil
}

// barrier names what keeps the account out of a directory.
func (a *account) barrier(dir string) string {
	if b := a.reach(dir); b != "" {
		return b
	}
	return dir
}
