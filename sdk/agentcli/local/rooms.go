package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Rooms are the rooms of the agents of one runtime. Methods may be called concurrently for different agents.
type Rooms struct {
	Dir      string            // absolute; rooms are made below it, 0700. Needed
	Workdirs []string          // roots that work directories have to be in; empty: any directory but the system's
	Env      map[string]string // for every agent, on top of the allow-list
	Environ  []string          // what the allow-list takes from; nil: this process's own environment
	// Credentials are the operator's logins, by agent type: a directory whose files each new agent gets.
	Credentials map[string]string
	// Limits says that the launcher holds agents to their limits. Otherwise a spec with limits is refused.
	Limits bool
	// Unmarked says that the launcher marks and ends the processes of an agent by itself: End and Usage find none.
	Unmarked bool
	// Owner is whom rooms belong to where agents run as another user than this process; nil: this process's.
	Owner *Owner

	Own     []string // directories of the runtime's state beside Dir: nobody works in them
	Private []string // of the service that the runtime is part of (plugin Place.Private): likewise
	// Workspaces is a directory in which agents work although it is private: the service makes directories for them there.
	Workspaces string
}

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckID refuses what cannot be the name of a room. INVALID_SPEC.
func CheckID(id string) error {
	if !validID.MatchString(id) {
		return runtime.Invalid("id", "%q is not an id: 1 to 64 letters, digits, _ and -", id)
	}
	return nil
}

// base returns the directory of a room. INVALID_SPEC.
func (r *Rooms) base(id string) (string, error) {
	if err := CheckID(id); err != nil {
		return "", err
	}
	if !filepath.IsAbs(r.Dir) {
		return "", runtime.Errorf(runtime.CodeInternal, "the directory of the rooms, %q, is not an absolute path", r.Dir)
	}
	return filepath.Join(r.Dir, id), nil
}

// Prepare implements agentcli.Launcher. INVALID_SPEC, WORKDIR_NOT_ALLOWED, SPAWN_FAILED when a directory cannot
// be made.
func (r *Rooms) Prepare(_ context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	base, err := r.base(spec.ID)
	if err != nil {
		return agentcli.Room{}, err
	}
	if err := r.check(spec); err != nil {
		return agentcli.Room{}, err
	}
	workdir, err := r.workdir(spec)
	if err != nil {
		return agentcli.Room{}, err
	}
	failed := func(err error) (agentcli.Room, error) {
		return agentcli.Room{}, runtime.Errorf(runtime.CodeSpawnFailed, "make the room of the agent: %v", err)
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return failed(err)
	}
	// Rooms are given out as real paths.
	real, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		return failed(err)
	}
	base = filepath.Join(real, filepath.Base(base))
	room := agentcli.Room{Home: filepath.Join(base, "home"), Workdir: filepath.Join(base, "work"), Temp: filepath.Join(base, "tmp")}
	_, err = os.Lstat(room.Home)
	first := os.IsNotExist(err)
	for _, dir := range []string{base, room.Home, room.Workdir, room.Temp} {
		err := makeDir(dir)
		if err == nil && dir == base && r.Owner != nil {
			err = os.Chmod(base, 0o711) // the agent gets to its directories, and cannot take others in their place
		}
		if err != nil {
			return failed(err)
		}
	}
	if workdir != "" {
		room.Workdir = workdir
	}
	if first {
		if err := r.lend(spec.Type, room); err != nil {
			_ = os.RemoveAll(room.Home)
			return agentcli.Room{}, err
		}
	}
	room.Git = FindGit(room.Workdir)
	room.Env = r.environment(room, base)
	room.LookPath = func(name string) (string, error) { return lookPath(name, room.Env) }
	room.ReadFile = func(path string) ([]byte, error) { return readFile(room, path) }
	room.ReadFrom = func(path string, offset int64, limit int) ([]byte, int64, error) {
		return readFrom(room, path, offset, limit)
	}
	return room, nil
}

// Room implements agentcli.Archive: the room of an agent that has ended, to read in. ErrGone if it is not there.
func (r *Rooms) Room(_ context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	base, err := r.base(spec.ID)
	if err != nil {
		return agentcli.Room{}, err
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return agentcli.Room{}, agentcli.ErrGone
	}
	room := agentcli.Room{Home: filepath.Join(base, "home"), Workdir: filepath.Join(base, "work"), Temp: filepath.Join(base, "tmp")}
	if info, err := os.Lstat(room.Home); err != nil || !info.IsDir() {
		return agentcli.Room{}, agentcli.ErrGone
	}
	if spec.Workdir != "" {
		room.Workdir = spec.Workdir
		if real, err := filepath.EvalSymlinks(spec.Workdir); err == nil {
			room.Workdir = real
		}
	}
	room.ReadFile = func(path string) ([]byte, error) { return readFile(room, path) }
	room.ReadFrom = func(path string, offset int64, limit int) ([]byte, int64, error) {
		return readFrom(room, path, offset, limit)
	}
	return room, nil
}

// makeDir makes a private directory, or takes one that is there and no symlink: the agent may have put one there
// in an earlier life.
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

// Remove implements agentcli.Launcher: it ends what is left in the room, and removes it.
func (r *Rooms) Remove(ctx context.Context, id string) error {
	base, err := r.base(id)
	if err != nil {
		return err
	}
	if err := r.End(ctx, id); err != nil {
		return err
	}
	if err := os.RemoveAll(base); err != nil {
		return runtime.Errorf(runtime.CodeInternal, "remove the room of agent %s: %v", id, err)
	}
	return nil
}
