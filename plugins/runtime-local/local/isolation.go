package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/holder/confine"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Values of Isolation.Landlock.
const (
	landlockAuto    = "auto"
	landlockRequire = "require"
	landlockOff     = "off"
)

// Isolation is how agents are kept apart from the service and from one another, beyond no_new_privs, which all have.
type Isolation struct {
	// Landlock is auto (default; where the kernel has it), require or off.
	Landlock string `json:"landlock"`
	// User and Group, names or numbers, are whom agents run as; empty: the user of the service, and the user's own group.
	User  string `json:"user"`
	Group string `json:"group"`
	// Shut are directories that agents may not use, besides those of the service itself.
	Shut []string `json:"shut"`
}

// isolation is what is in force.
type isolation struct {
	abi  int      // of Landlock, or 0 where it is not used
	why  string   // why it is not used
	shut []string // real paths; empty without Landlock
	user *account // nil: the user of the service
}

// check refuses what this machine or this process cannot do.
func (want *Isolation) check() error {
	if abi := confine.ABI(); want.Landlock == landlockRequire && abi < confine.MinABI {
		return &runtime.Error{
			Code: runtime.CodeInvalidArgument, Field: "isolation.landlock",
			Message: fmt.Sprintf("is required, and this kernel offers version %d of Landlock, where %d is needed", abi, confine.MinABI),
			Hint:    "start Linux 5.19 or later with landlock among its security modules (lsm=), or choose auto",
		}
	}
	_, err := lookupAccount(want.User, want.Group)
	return err
}

// openIsolation finds out what can be in force. It refuses what was asked for and cannot be.
func (l *Launcher) openIsolation() error {
	want, abi := l.opts.Isolation, confine.ABI()
	if err := want.check(); err != nil {
		return err
	}
	l.isolation = isolation{}
	switch {
	case want.Landlock == landlockOff:
		l.isolation.why = "switched off"
	case abi >= confine.MinABI:
		l.isolation.abi = abi
	default:
		l.isolation.why = fmt.Sprintf("this kernel offers version %d of it, and %d is needed", abi, confine.MinABI)
	}
	var err error
	l.isolation.user, err = lookupAccount(want.User, want.Group)
	return err
}

// openRooms makes the directory of the rooms, and refuses one that the account of the agents cannot get into.
func (l *Launcher) openRooms() error {
	if err := os.MkdirAll(l.rooms.Dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of the rooms: %w", err)
	}
	if a := l.isolation.user; a != nil {
		if err := os.Chmod(l.rooms.Dir, 0o711); err != nil { // what is in it cannot be listed
			return fmt.Errorf("directory of the rooms: %w", err)
		}
		if barrier := a.reach(l.rooms.Dir); barrier != "" {
			return &runtime.Error{
				Code: runtime.CodeInvalidArgument, Field: "roomsDir",
				Message: fmt.Sprintf("agents run as %s, who cannot enter their rooms in %s: %s is shut to them", a.name, l.rooms.Dir, barrier),
				Hint:    "set roomsDir to a directory outside of the service's own, such as /var/lib/wardroom-agents (mode 0711)",
			}
		}
	}
	if l.isolation.user != nil {
		if err := os.MkdirAll(l.sockets(), 0o700); err != nil {
			return fmt.Errorf("make the directory of the sockets: %w", err)
		}
		if err := os.Chmod(l.sockets(), 0o711); err != nil {
			return fmt.Errorf("directory of the sockets: %w", err)
		}
	}
	if l.isolation.abi > 0 {
		l.isolation.shut = l.private()
	}
	return nil
}

// private returns the real paths of what no agent may use: the state of this runtime, with the rooms of all agents,
// what the service names, and what the operator does.
func (l *Launcher) private() []string {
	var list []string
	for _, path := range slices.Concat([]string{l.opts.StateDir, l.rooms.Dir}, l.opts.Private, l.opts.Isolation.Shut) {
		list = append(list, local.RealPath(path))
	}
	// Sockets are kept by their protocols and by the rights of their directory. One directory of them lies in that for
	// everybody's temporary files where no other path is short enough, and to shut it would shut that for what is new.
	if run := local.RealPath(l.opts.RunDir); filepath.Dir(run) != local.RealPath(os.TempDir()) {
		list = append(list, run)
	}
	slices.Sort(list)
	var outer []string // what lies in another one needs no mention
	for _, path := range list {
		if !slices.ContainsFunc(outer, func(dir string) bool { return confine.Within(path, dir) }) {
			outer = append(outer, path)
		}
	}
	return outer
}

// confine adds to a launch what its command is kept from.
func (l *Launcher) confine(launch *wire.Launch, cmd agentcli.Command) error {
	if user := l.isolation.user; user != nil {
		launch.User = &user.User
	}
	if l.isolation.abi == 0 {
		return nil
	}
	launch.Landlock = true
	if cmd.Mounts {
		// Its own sandbox, which Landlock would not let it make, decides what may be written, and lets all be read.
		if l.opts.Isolation.Landlock == landlockRequire && l.isolation.user == nil {
			return &runtime.Error{
				Code: runtime.CodeInvalidSpec, Field: "approval",
				Message: "this tool makes a sandbox of its own with this preset, which Landlock forbids, and Landlock is required",
				Hint:    "choose the preset autonomous, give agents a user of their own (isolation.user), or set isolation.landlock to auto",
			}
		}
		return nil
	}
	launch.Shut = l.isolation.shut
	room := cmd.Room
	launch.Open = []string{room.Home, room.Temp}
	if holds := l.holdsShut(room.Workdir); holds == "" {
		launch.Open = append(launch.Open, room.Workdir)
	} else if l.opts.Isolation.Landlock == landlockRequire {
		return local.WorkdirNotAllowed("choose a directory that does not hold it, or keep it elsewhere", "%s holds %s, which agents may not use", room.Workdir, holds)
	} else {
		l.log.Warn("the work directory of an agent holds what agents may not use: nothing can be made directly in it",
			"agent", cmd.Spec.ID, "dir", room.Workdir, "holds", holds)
	}
	launch.Readable = []string{launch.Path}
	if len(room.Hook) > 0 {
		launch.Readable = append(launch.Readable, room.Hook[0])
	}
	if g := room.Git; g.Linked() {
		launch.Open = append(launch.Open, g.Dir)
		for _, name := range []string{"objects", "refs", "logs"} {
			launch.Open = append(launch.Open, filepath.Join(g.Common, name))
		}
		launch.Readable = append(launch.Readable, g.Common)
	}
	return nil
}

// holdsShut returns a directory that is shut and lies in dir, or "".
func (l *Launcher) holdsShut(dir string) string {
	for _, shut := range l.isolation.shut {
		if confine.Within(shut, dir) {
			return shut
		}
	}
	return ""
}

// inForce is what is in force, in the terms of the contract.
func (i *isolation) inForce() *runtime.Isolation {
	in := &runtime.Isolation{NoNewPrivs: true, Landlock: i.abi, Reason: i.why}
	if i.user != nil {
		in.User = i.user.name
	}
	return in
}

// check returns what is in force.
func (i *isolation) check() plugin.Check {
	parts := []string{"no_new_privs"}
	c := plugin.Check{Name: "isolation", Status: plugin.StatusOK}
	switch {
	case i.abi == 0:
		parts = append(parts, "no landlock ("+i.why+")")
	case i.abi < 6:
		parts = append(parts, fmt.Sprintf("landlock %d (files and tracing; signals need 6)", i.abi))
	default:
		parts = append(parts, fmt.Sprintf("landlock %d (files, tracing, signals, abstract sockets)", i.abi))
	}
	if i.user != nil {
		parts = append(parts, "user "+i.user.name)
	} else {
		parts = append(parts, "the service's own user")
	}
	c.Text = strings.Join(parts, ", ")
	return c
}
