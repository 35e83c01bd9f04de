package local

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// account is the user that agents run as where it is not the user of the service.
type account struct {
	wire.User
	name string
}

// needed are the capabilities that it takes to run agents as somebody else, and to keep and end them.
var needed = []struct {
	number uint
	name   string
}{
	{unix.CAP_CHOWN, "CAP_CHOWN"}, {unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"}, {unix.CAP_FOWNER, "CAP_FOWNER"}, {unix.CAP_KILL, "CAP_KILL"},
	{unix.CAP_SETGID, "CAP_SETGID"}, {unix.CAP_SETUID, "CAP_SETUID"}, {unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
}

func badAccount(field, hint, format string, args ...any) error {
	return &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "isolation." + field, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// lookupAccount finds the account of a configuration; nil without a user. It refuses one that this process cannot
// run agents as.
func lookupAccount(name, group string) (*account, error) {
	if name == "" {
		if group != "" {
			return nil, badAccount("group", "name the user too", "is given without isolation.user")
		}
		return nil, nil
	}
	a := &account{name: name}
	known, err := user.Lookup(name)
	if uid, parseErr := strconv.ParseUint(name, 10, 32); err != nil && parseErr == nil {
		known, err = user.LookupId(name)
		if err != nil {
			known, err = &user.User{Uid: strconv.FormatUint(uid, 10)}, nil
			if group == "" {
				return nil, badAccount("group", "name a group, by its name or number", "is needed beside user %s, which this machine has no entry for", name)
			}
		}
	}
	if err != nil {
		return nil, badAccount("user", "make the user, for instance with useradd --system, or name another one", "%q is no user of this machine", name)
	}
	uid, err := strconv.ParseUint(known.Uid, 10, 32)
	if err != nil {
		return nil, badAccount("user", "", "%q has the id %q, which is no number", name, known.Uid)
	}
	a.UID = uint32(uid)
	group = cmp.Or(group, known.Gid)
	if a.GID, err = groupID(group); err != nil {
		return nil, err
	}
	if known.Username != "" {
		ids, err := known.GroupIds()
		if err != nil {
			return nil, badAccount("user", "", "the groups of %q cannot be read", name)
		}
		for _, id := range ids {
			if n, err := strconv.ParseUint(id, 10, 32); err == nil && n != uint64(a.GID) {
				a.Groups = append(a.Groups, uint32(n))
			}
		}
	}
	return a, a.check()
}

func groupID(name string) (uint32, error) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), nil
	}
	known, err := user.LookupGroup(name)
	if err == nil {
		if n, err := strconv.ParseUint(known.Gid, 10, 32); err == nil {
			return uint32(n), nil
		}
	}
	return 0, badAccount("group", "make the group, or name another one", "%q is no group of this machine", name)
}

// check refuses an account that keeps nothing apart, or that this process cannot become.
func (a *account) check() error {
	switch {
	case a.UID == 0:
		return badAccount("user", "name a user for agents alone", "%s is root, who may use everything", a.name)
	case a.GID == 0 || slices.Contains(a.Groups, 0):
		return badAccount("group", "name a group for agents alone", "the group root is among those of %s", a.name)
	case int(a.UID) == os.Getuid():
		return badAccount("user", "name another user, or leave it out", "%s is the user of the service itself", a.name)
	}
	missing, err := missingCapabilities()
	if err != nil {
		return fmt.Errorf("capabilities of this process: %w", err)
	}
	if len(missing) > 0 {
		return badAccount("user", "run the service as root, or give it these capabilities (AmbientCapabilities= of its unit), or leave user out",
			"agents cannot run as %s: the service lacks %s", a.name, strings.Join(missing, ", "))
	}
	return nil
}

// missingCapabilities returns the names of those of needed that are not in effect.
func missingCapabilities() (missing []string, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return nil, err
	}
	for _, capability := range needed {
		if data[capability.number/32].Effective&(1<<(capability.number%32)) == 0 {
			missing = append(missing, capability.name)
		}
	}
	return missing, nil
}

// access reports as an error whether the account may use a path: mode is of access(2).
func (a *account) access(path string, mode uint32) error {
	result := make(chan error, 1)
	go func() {
		goruntime.LockOSThread() // for good: the thread, and with it the change of user, ends with this goroutine
		result <- func() error {
			groups := append([]uint32{a.GID}, a.Groups...)
			if err := setThreadUser(a.UID, a.GID, groups); err != nil {
				return err
			}
			return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
		}()
	}()
	return <-result
}

// reach returns what keeps the account from entering a directory, or "" if nothing does.
func (a *account) reach(dir string) (barrier string) {
	for path := filepath.Clean(dir); ; path = filepath.Dir(path) {
		if err := a.access(path, unix.X_OK); err == nil {
			return barrier
		} else if !errors.Is(err, unix.EACCES) {
			return path
		}
		barrier = path // the topmost one is what has to change
		if path == "/" {
			return barrier
		}
	}
}
