package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/life"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Options make a Launcher. StateDir, RunDir and Holder are needed, as absolute paths.
type Options struct {
	StateDir    string            // must outlive the process
	RoomsDir    string            // rooms of agents, likewise; empty: below StateDir
	RunDir      string            // sockets; may be emptied by a reboot
	Holder      string            // the binary of plugins/holder
	Workdirs    []string          // roots that work directories have to be in; empty: any but the system's
	Env         map[string]string // for every agent, on top of the allow-list
	Credentials map[string]string // by agent type: a directory whose files each new agent gets
	Limits      runtime.Limits    // of agents that ask for none
	RingBytes   int               // 0: 256 KiB
	Linger      time.Duration     // how long the holder of an ended agent waits for a client; 0: 5 min
	Environ     []string          // the environment to allow from; nil: this process's own
	Cgroup      bool              // use cgroups where they are writable
	Isolation   Isolation         // of agents from the service and from one another
	Private     []string          // what belongs to the service alone: its store, its keys, its configuration
	Workspaces  string            // below it the service makes work directories for agents; empty: it makes none
	Logger      hclog.Logger
}

// Launcher is an agentcli.Launcher for this machine. One process at a time uses a StateDir.
type Launcher struct {
	opts    Options
	bootID  string
	owner   string // identity of StateDir: see local.Identity
	helpers bool   // rooms have helpers of their own: see helper.go
	cgroups cgroups
	log     hclog.Logger

	isolation isolation // what is in force; set by Open
	rooms     local.Rooms
	children  *children // of this process; launchers of all configurations share them
}

var (
	_ agentcli.Archive      = (*Launcher)(nil)
	_ agentcli.Launcher     = (*Launcher)(nil)
	_ agentcli.Rediscoverer = (*Launcher)(nil)
)

// New makes a launcher. Open makes it usable.
func New(opts Options) *Launcher {
	opts.Logger = cmp.Or(opts.Logger, hclog.NewNullLogger())
	if opts.Environ == nil {
		opts.Environ = os.Environ()
	}
	if opts.RoomsDir == "" && opts.StateDir != "" {
		opts.RoomsDir = filepath.Join(opts.StateDir, "agents")
	}
	return &Launcher{
		opts: opts, log: opts.Logger, children: &children{},
		rooms: local.Rooms{
			Dir: opts.RoomsDir, Workdirs: opts.Workdirs, Env: opts.Env, Environ: opts.Environ, Credentials: opts.Credentials,
			Private: opts.Private, Workspaces: opts.Workspaces, Limits: true, Unmarked: true,
		},
	}
}

// Open makes the directories, looks for cgroups, and removes what crashes left: processes of agents whose holder
// is dead, and sockets that nothing listens on.
func (l *Launcher) Open(ctx context.Context) error {
	for _, dir := range []struct{ field, path string }{{"stateDir", l.opts.StateDir}, {"roomsDir", l.opts.RoomsDir}, {"runDir", l.opts.RunDir}, {"holder", l.opts.Holder}} {
		if !filepath.IsAbs(dir.path) {
			return &runtime.Error{Code: runtime.CodeInvalidArgument, Field: dir.field, Message: fmt.Sprintf("%q is not an absolute path", dir.path)}
		}
	}
	if info, err := os.Stat(l.opts.Holder); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return &runtime.Error{
			Code: runtime.CodeInvalidArgument, Field: "holder", Message: fmt.Sprintf("%s is not an executable file", l.opts.Holder),
			Hint: "install the binary \"holder\" beside the plugin, or name it in the configuration",
		}
	}
	if err := l.openIsolation(); err != nil {
		return err
	}
	if l.isolation.user != nil && len(l.socket("x")) > maxSocket {
		return &runtime.Error{
			Code: runtime.CodeInvalidArgument, Field: "roomsDir", Message: l.rooms.Dir + " is too long a path: sockets of agents lie in it",
			Hint: "name a directory with a shorter path, such as /var/lib/wardroom-agents",
		}
	}
	if len(l.socket("x")) > maxSocket {
		// A socket's path is short by the kernel's rule, and a run directory may be deep.
		sum := sha256.Sum256([]byte(l.opts.RunDir))
		l.opts.RunDir = filepath.Join(os.TempDir(), "wardroom-"+strconv.Itoa(os.Getuid())+"-"+hex.EncodeToString(sum[:6]))
	}
	for _, dir := range []string{l.opts.StateDir, l.opts.RoomsDir, l.opts.RunDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make a directory of the runtime: %w", err)
		}
	}
	if err := private(l.opts.RunDir); err != nil {
		return err
	}
	// Rooms are given out as real paths, so these directories are.
	rooms, err := filepath.EvalSymlinks(l.opts.RoomsDir)
	if err != nil {
		return fmt.Errorf("directory of the rooms: %w", err)
	}
	l.rooms.Dir = rooms
	real, err := filepath.EvalSymlinks(l.opts.StateDir)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	l.opts.StateDir = real
	if l.owner, err = local.Identity(real); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	l.lodge()
	if err := l.openRooms(); err != nil {
		return err
	}
	if err := l.openHelpers(); err != nil {
		return err
	}
	boot, err := proc.BootID()
	if err != nil {
		return fmt.Errorf("boot id: %w", err)
	}
	l.bootID = boot
	if l.opts.Cgroup {
		l.cgroups = findCgroups("wardroom-" + strings.TrimSuffix(filepath.Base(l.socket("")), ".sock"))
	}
	return l.sweep(ctx)
}

// private refuses a run directory in which somebody else could have put, or could put, sockets.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() {
		return &runtime.Error{
			Code: runtime.CodeInvalidArgument, Field: "runDir", Message: dir + " is not a directory of this user",
			Hint: "remove it, or name another one",
		}
	}
	return os.Chmod(dir, 0o700)
}

// Enforces reports which limits agents are held to, for the runtime's capabilities.
func (l *Launcher) Enforces() (memory, cpu, pids bool) { return l.cgroups.enforces() }

// Launch starts the command in a holder of its own. What an earlier life of the same id left is ended first.
func (l *Launcher) Launch(ctx context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	if err := local.CheckID(cmd.Spec.ID); err != nil {
		return nil, err
	}
	release, err := l.children.claims.Claim(cmd.Spec.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	l.children.reap()
	if err := l.endEarlier(ctx, cmd.Spec.ID); err != nil {
		return nil, err
	}
	if err := l.rooms.Write(cmd.Room, cmd.Files); err != nil {
		return nil, err
	}
	helper, err := l.giveHelper(cmd.Spec.ID)
	if err != nil {
		return nil, err
	}
	group, err := l.cgroups.make(cmd.Spec.ID, l.limits(cmd.Spec))
	if err != nil {
		return nil, err
	}
	h := handle{
		Version: handleVersion, ID: cmd.Spec.ID, Nonce: holder.NewNonce(), Boot: l.bootID, Socket: l.socket(cmd.Spec.ID),
		StartedAt: time.Now(), Groups: group.dirs(), Owner: l.owner,
	}
	// The nonce is on disk before anything carries it, so that the sweeper knows it whatever happens next.
	if err := l.save(h); err != nil {
		group.remove()
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "record the agent: %v", err)
	}
	holding, err := l.start(ctx, helper, cmd, h, group)
	if err != nil {
		// A holder that was given up may have got as far as to start the command, which may ignore that its
		// terminal is gone. What does not end stays on record for the sweeper.
		if l.clear(h) {
			_ = os.Remove(l.record(h.ID))
		}
		group.remove()
		return nil, err
	}
	h.Holder, h.Command = holding.Holder, holding.Command
	if err := l.save(h); err == nil {
		var p *process
		if p, err = l.connect(ctx, h); err == nil {
			return p, nil
		}
	}
	l.clear(h)
	if known := (*runtime.Error)(nil); errors.As(err, &known) {
		return nil, known
	}
	return nil, runtime.Errorf(runtime.CodeSpawnFailed, "the holder was started and cannot be reached: %v", err)
}

func (l *Launcher) start(ctx context.Context, helper string, cmd agentcli.Command, h handle, group cgroup) (*holder.Holding, error) {
	log, err := os.OpenFile(filepath.Join(l.room(h.ID), "holder.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "the agent's room: %v", err)
	}
	defer func() { _ = log.Close() }()
	launch := wire.Launch{
		Socket: h.Socket, Nonce: h.Nonce, ExitFile: l.exitFile(h.ID), Path: cmd.Path, Args: cmd.Args,
		Env: life.Marked(cmd.Env, h.ID, h.Nonce), Dir: cmd.Room.Workdir, Cols: uint16(cmd.Cols), Rows: uint16(cmd.Rows),
		RingBytes: uint32(l.opts.RingBytes), Linger: l.opts.Linger, Cgroup: group.unified, Joins: group.joins, Homes: group.homes,
	}
	if err := l.confine(&launch, cmd); err != nil {
		return nil, err
	}
	holding, err := holder.StartNoted(ctx, helper, launch, log, func(id proc.ID) error {
		h.Holder = id
		return l.save(h)
	})
	if err != nil {
		return nil, err
	}
	l.children.add(holding)
	return holding, nil
}

// connect makes the Process of a handle. agentcli.ErrGone.
func (l *Launcher) connect(ctx context.Context, h handle) (*process, error) {
	client, err := holder.Connect(ctx, holder.Options{
		Nonce: h.Nonce,
		Dial: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", h.Socket)
		},
	})
	if err != nil {
		return nil, err
	}
	if h.Command.PID == 0 {
		// The runtime ended before it could note it.
		welcome := client.Welcome()
		h.Command = proc.ID{PID: int(welcome.PID), Start: welcome.Start}
		if info, err := proc.Stat(int(welcome.HolderPID)); err == nil {
			h.Holder = info.ID
		}
	}
	return &process{Client: client, launcher: l, handle: h}, nil
}

// Latest implements agentcli.Rediscoverer.
func (l *Launcher) Latest(_ context.Context, id string, since time.Time) ([]byte, error) {
	if err := local.CheckID(id); err != nil {
		return nil, err
	}
	h, err := l.load(id)
	if err != nil && !life.NoRecord(err) {
		return nil, life.Unread(id, err)
	}
	if err != nil || h.StartedAt.Before(since) || !l.owns(h) {
		return nil, agentcli.ErrGone
	}
	return h.encode(), nil
}

// Find returns the process of a handle, running or ended with a known exit. agentcli.ErrGone; what a dead holder
// left running is ended then. A process of another state directory is gone to this one, and not touched: a restored
// copy of an installation has the handles of the original, and must not take its agents away.
func (l *Launcher) Find(ctx context.Context, data []byte) (agentcli.Process, error) {
	h, err := parseHandle(data)
	if err != nil {
		return nil, err
	}
	if !l.owns(h) {
		l.log.Warn("an agent belongs to another state directory, and is left alone", "agent", h.ID)
		return nil, agentcli.ErrGone
	}
	if h.Boot != l.bootID {
		return l.findEnded(h)
	}
	p, err := l.connect(ctx, h)
	if err == nil {
		return p, nil
	}
	unavailable := runtime.ErrorCode(err) == runtime.CodeUnavailable
	switch {
	case unavailable && l.holds(ctx, h):
		return nil, err
	case unavailable: // it died while it was asked
	case !errors.Is(err, agentcli.ErrGone):
		return nil, err
	case proc.Alive(h.Holder) && l.socketOf(h):
		return nil, runtime.Errorf(runtime.CodeUnavailable, "the holder of agent %s does not answer", h.ID)
	}
	l.clear(h)
	return l.findEnded(h)
}

// holds reports whether the holder lives on although its connection broke. One that was killed loses its
// connections a moment before it counts as dead.
func (l *Launcher) holds(ctx context.Context, h handle) bool {
	for until := time.Now().Add(dyingTime); time.Now().Before(until); {
		if !proc.Alive(h.Holder) {
			return false
		}
		select {
		case <-ctx.Done():
			return true
		case <-time.After(dyingTime / 50):
		}
	}
	return l.socketOf(h)
}

// dyingTime is how long a process that was killed may take to be seen dead.
const dyingTime = time.Second

// findEnded returns the process of a life that left its exit.
func (l *Launcher) findEnded(h handle) (agentcli.Process, error) {
	exit, err := l.readExit(h)
	if err != nil {
		return nil, agentcli.ErrGone
	}
	return &life.Ended{
		Record: h.encode(), Process: h.info(), Exit: withReason(holder.ExitOf(exit), h), Head: &exit.Head,
		End: func(context.Context) error { removeGroups(h.Groups); return nil },
	}, nil
}

func (l *Launcher) readExit(h handle) (wire.Exited, error) {
	data, err := os.ReadFile(l.exitFile(h.ID))
	if err != nil {
		return wire.Exited{}, err
	}
	exit, err := wire.ParseExitFile(data)
	if err == nil && exit.Nonce != h.Nonce {
		err = fs.ErrNotExist
	}
	return exit, err
}

// Remove removes the room of an agent, and ends what is left of it.
func (l *Launcher) Remove(ctx context.Context, id string) error {
	if err := local.CheckID(id); err != nil {
		return err
	}
	release, err := l.children.claims.Claim(id)
	if err != nil {
		return err
	}
	defer release()
	if err := l.endEarlier(ctx, id); err != nil {
		return err
	}
	l.children.reap()
	if err := os.RemoveAll(l.room(id)); err != nil {
		return runtime.Errorf(runtime.CodeInternal, "remove the room of agent %s: %v", id, err)
	}
	return nil
}

// Close lets go; agents go on.
func (l *Launcher) Close() error {
	l.children.reap()
	l.cgroups.close()
	return nil
}
