package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/life"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Options make a Launcher. Config is one that decode returned; all but Private, Workspaces and Logger is needed.
type Options struct {
	Config     Config
	Version    string   // of the plugin
	Private    []string // what belongs to the service alone
	Workspaces string   // below it the service makes work directories for agents
	Logger     hclog.Logger
}

// Launcher is an agentcli.Launcher for the containers of an engine of this machine. One process at a time uses a StateDir.
type Launcher struct {
	config  Config
	version string
	private []string
	log     hclog.Logger
	engine  *engine
	images  *images
	probes  *probes
	rooms   local.Rooms
	owner   string // identity of StateDir: see local.Identity
	bootID  string

	claims life.Claims

	mu    sync.Mutex      // guards found
	found map[string]bool // ids of agents that were found again, and not prepared since

	stop context.CancelFunc // of the sweeper
	wg   sync.WaitGroup     // the sweeper
}

var (
	_ agentcli.Launcher     = (*Launcher)(nil)
	_ agentcli.Rediscoverer = (*Launcher)(nil)
	_ agentcli.Archive      = (*Launcher)(nil)
)

// notInside are variables of the service that speak of its own files: a container has others.
var notInside = []string{"PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"}

// Open makes a launcher. The engine need not be there.
func Open(opts Options) (*Launcher, error) {
	c := opts.Config
	l := &Launcher{config: c, version: opts.Version, private: opts.Private, log: opts.Logger, found: map[string]bool{}}
	l.log = cmp.Or(l.log, hclog.NewNullLogger())
	if info, err := os.Stat(c.Holder); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return nil, &runtime.Error{
			Code: runtime.CodeInvalidArgument, Field: "holder", Message: c.Holder + " is not an executable file",
			Hint: "install the binary \"holder\" beside the plugin, or name it in the configuration",
		}
	}
	for _, dir := range []*string{&c.StateDir, &c.RoomsDir} {
		if err := os.MkdirAll(*dir, 0o700); err != nil {
			return nil, fmt.Errorf("make a directory of the runtime: %w", err)
		}
		real, err := filepath.EvalSymlinks(*dir) // rooms are given out, and mounted, as real paths
		if err != nil {
			return nil, fmt.Errorf("directory of the runtime: %w", err)
		}
		*dir = real
	}
	var err error
	if c.Holder, err = filepath.EvalSymlinks(c.Holder); err != nil {
		return nil, fmt.Errorf("holder: %w", err)
	}
	l.config = c
	if l.owner, err = local.Identity(c.StateDir); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if l.bootID, err = proc.BootID(); err != nil {
		return nil, fmt.Errorf("boot id: %w", err)
	}
	if l.engine, err = openEngine(c.Socket); err != nil {
		return nil, err
	}
	environ := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(notInside, name)
	})
	l.rooms = local.Rooms{
		Dir: c.RoomsDir, Workdirs: c.Workdirs, Env: c.Env, Environ: environ, Credentials: c.Credentials, Limits: true, Unmarked: true,
		Own: []string{c.StateDir}, Private: opts.Private, Workspaces: opts.Workspaces,
	}
	l.images = newImages(l.engine, &c, l.log)
	l.probes = newProbes(l.engine, l.owner)
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	l.wg.Go(func() { l.sweep(ctx, duration(c.OrphanGrace, defaultGrace)) })
	return l, nil
}

// Close lets go; agents go on.
func (l *Launcher) Close() error {
	l.stop()
	l.wg.Wait()
	l.images.close()
	l.probes.close()
	return l.engine.Close()
}

func (l *Launcher) room(id string) string { return filepath.Join(l.rooms.Dir, id) }

// Prepare makes the room of an agent, on this machine and at the same paths in its container. INVALID_SPEC,
// WORKDIR_NOT_ALLOWED, RESOURCE_LIMIT. An agent that was found again is prepared without the engine and the registry of its image, which
// may be away or hang.
func (l *Launcher) Prepare(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	rooms := l.rooms
	_, err := l.load(spec.ID)
	again := err == nil // it had a life, and may have it still
	var f facts
	asked := !l.tookFound(spec.ID)
	if asked {
		var away error
		if f, away = l.engine.look(ctx); away == nil {
			rooms.Owner = l.config.identify(f).owner
		} else if !again {
			return agentcli.Room{}, away
		}
		asked = away == nil
	}
	if err := l.checkLimits(spec, f); err != nil {
		return agentcli.Room{}, err
	}
	ref, err := l.config.Choose(spec, checkImage)
	if err != nil {
		return agentcli.Room{}, err
	}
	if _, err := l.config.chooseNetwork(spec); err != nil {
		return agentcli.Room{}, err
	}
	room, err := rooms.Prepare(ctx, spec)
	if err != nil {
		return agentcli.Room{}, err
	}
	if spec.Workdir != "" && !l.rooms.Provided(room.Workdir) {
		if why := l.holdsOwn(room.Workdir); why != "" {
			return agentcli.Room{}, local.WorkdirNotAllowed("choose a directory apart from it", "%s cannot be given to agents: %s", room.Workdir, why)
		}
	}
	if err := rooms.HandOver(room, spec.Workdir != ""); err != nil {
		return agentcli.Room{}, err
	}
	room.Contained = true
	room.Hook = []string{insideHolder, "hook", insideSocket}
	search := sync.OnceValues(func() (image, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
		defer cancel()
		return l.images.find(ctx, ref)
	})
	env := room.Env
	if asked {
		if in, err := search(); err == nil {
			room.Env = imageEnv(in, room.Env)
		} else if !again {
			return agentcli.Room{}, err
		}
	} else {
		room.Env = slices.DeleteFunc(slices.Clone(env), isPath) // the image's: see Launch
	}
	room.LookPath = func(name string) (string, error) {
		in, err := search()
		if err != nil {
			return "", err
		}
		return l.probes.lookPath(context.WithoutCancel(ctx), in, name, imageEnv(in, env))
	}
	return room, nil
}

// noteFound notes that an agent was found: until it is prepared, what it is prepared for is no start.
func (l *Launcher) noteFound(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found[id] = true
}

// tookFound reports whether an agent was found, and was not prepared or removed since.
func (l *Launcher) tookFound(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.found[id]
	delete(l.found, id)
	return found
}

// Room implements agentcli.Archive: rooms are directories of this machine, which outlive their containers.
func (l *Launcher) Room(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	return l.rooms.Room(ctx, spec)
}

// lookTime bounds how long an image may take to be there before a start is given up. What is being pulled goes on.
const lookTime = 60 * time.Second

const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// imageEnv puts the environment of a room over that of its image, which alone says where commands are.
func imageEnv(in image, room []string) []string {
	env := append([]string{defaultPath}, in.env...)
	for _, pair := range room {
		if !isPath(pair) {
			env = append(env, pair)
		}
	}
	return env
}

func isPath(pair string) bool { return strings.HasPrefix(pair, "PATH=") }

// Launch starts the command in a container of its own. What an earlier life of the same id left is ended first.
func (l *Launcher) Launch(ctx context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	id := cmd.Spec.ID
	release, err := l.claims.Claim(id)
	if err != nil {
		return nil, err
	}
	defer release()
	f, err := l.engine.look(ctx)
	if err != nil {
		return nil, err
	}
	who := l.config.identify(f)
	volumes, err := l.volumes(cmd.Spec)
	if err != nil {
		return nil, err
	}
	network, err := l.config.chooseNetwork(cmd.Spec)
	if err != nil {
		return nil, err
	}
	ref, err := l.config.Choose(cmd.Spec, checkImage)
	if err != nil {
		return nil, err
	}
	in, err := l.images.inspect(ctx, ref) // Prepare has pulled it where that is wanted
	if err != nil {
		return nil, err
	}
	if err := l.endEarlier(ctx, id); err != nil {
		return nil, err
	}
	rooms := l.rooms
	rooms.Owner = who.owner
	if err := rooms.Write(cmd.Room, cmd.Files); err != nil {
		return nil, err
	}
	if err := l.furnish(id, who, cmd.Room.Home); err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "make the room of the agent: %v", err)
	}
	h := handle{Version: handleVersion, ID: id, Nonce: holder.NewNonce(), Owner: l.owner, StartedAt: time.Now()}
	// The nonce is on disk before a container has it, so that the sweeper knows it whatever happens next.
	if err := l.save(h); err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "record the agent: %v", err)
	}
	if err := l.haveNetwork(ctx, network); err != nil {
		return nil, err
	}
	p, err := l.planOf(cmd, h, in, network, who, volumes, f)
	if err != nil {
		return nil, err
	}
	if h.Container, err = l.create(ctx, p); err != nil {
		l.discard(ctx, h) // the engine may have made it all the same
		return nil, err
	}
	if variable(cmd.Env, "PATH") == "" { // its room was prepared without the image
		cmd.Env = imageEnv(in, cmd.Env)
	}
	process, err := l.begin(ctx, cmd, h)
	if err != nil {
		l.discard(ctx, h)
		return nil, err
	}
	return process, nil
}

// begin starts a container that was made, hands its holder the command, and connects to it.
func (l *Launcher) begin(ctx context.Context, cmd agentcli.Command, h handle) (agentcli.Process, error) {
	if err := l.save(h); err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "record the agent: %v", err)
	}
	if err := l.start(ctx, cmd, h); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := l.engine.ContainerInspect(ctx, h.Container)
	if err != nil {
		return nil, l.engine.failed("look at the container", err)
	}
	if info.State != nil && info.State.Pid > 0 {
		h.Boot = l.bootID
		h.Holder, h.Command = processesOf(info.State.Pid)
	}
	if err := l.save(h); err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "record the agent: %v", err)
	}
	process, err := l.connect(ctx, h)
	var known *runtime.Error
	if err != nil && !errors.As(err, &known) {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "the agent was started and ended at once: %v", err)
	}
	return process, err
}

// startTime bounds how long a container may take to start its command.
const startTime = 45 * time.Second

// start starts the container, attached to its first process, which is handed the command with its environment: neither is
// seen in what the engine tells of the container.
func (l *Launcher) start(ctx context.Context, cmd agentcli.Command, h handle) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	attached, err := l.engine.ContainerAttach(ctx, h.Container, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return l.engine.refused("attach to the container", err)
	}
	out, words := io.Pipe()
	var crash life.Words
	var heard int64 // read after done
	done := make(chan struct{})
	go func() { // ends with the connection
		defer close(done)
		var err error
		heard, err = stdcopy.StdCopy(words, &crash, attached.Reader)
		if err == nil {
			err = io.EOF
		}
		_ = words.CloseWithError(err)
	}()
	hangUp := sync.OnceFunc(func() { attached.Close(); _ = out.Close() })
	stop := context.AfterFunc(ctx, hangUp)
	defer func() { stop(); hangUp(); <-done }()
	if err := l.engine.ContainerStart(ctx, h.Container, container.StartOptions{}); err != nil {
		return l.engine.refused("start the container", err)
	}
	_, err = holder.StartThrough(ctx, attached.Conn, out, wire.Launch{
		Socket: insideSocket, Nonce: h.Nonce, ExitFile: insideExit, Path: cmd.Path, Args: cmd.Args, Env: life.Marked(cmd.Env, h.ID, h.Nonce),
		Dir: cmd.Room.Workdir, Cols: uint16(cmd.Cols), Rows: uint16(cmd.Rows), RingBytes: uint32(l.config.RingBytes),
	})
	if err == nil {
		return nil
	}
	hangUp()
	<-done
	return l.startFailed(ctx, h, err, crash.String(), heard == 0)
}

// startFailed adds what is known of a container whose holder did not start its command; silent says that nothing was heard of it.
func (l *Launcher) startFailed(ctx context.Context, h handle, err error, words string, silent bool) error {
	e := *runtime.AsError(err)
	if e.Code != runtime.CodeSpawnFailed && e.Code != runtime.CodeUnavailable {
		return &e
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	info, inspectErr := l.engine.ContainerInspect(ctx, h.Container)
	switch {
	case inspectErr != nil && notReached(inspectErr):
		return l.engine.failed("start the command in the container", inspectErr)
	case inspectErr != nil || info.State == nil:
	case info.State.Running && silent: // it is the way to it that broke
		return &runtime.Error{
			Code: runtime.CodeSocketError, Message: "the container engine lost the connection to the container before its command started", Retry: true, Hint: "try again",
		}
	case info.State.OOMKilled:
		return &runtime.Error{
			Code: runtime.CodeResourceLimit, Field: "limits.memoryBytes", Message: "the container ran out of memory before its command started",
			Hint: "give the agent more memory",
		}
	}
	e.Code = runtime.CodeSpawnFailed // it is removed: there is nothing that may yet start
	if words != "" {
		e.Message += ": " + words
	}
	return &e
}

// furnish makes what the runtime keeps in the room of an agent, anew for each life.
func (l *Launcher) furnish(id string, who identity, home string) error {
	base := l.room(id)
	run := filepath.Join(base, runDir)
	if err := os.RemoveAll(run); err != nil {
		return err
	}
	if err := os.Mkdir(run, 0o700); err != nil {
		return err
	}
	if who.owner != nil {
		if err := os.Lchown(run, int(who.owner.UID), int(who.owner.GID)); err != nil {
			return err
		}
	}
	passwd, group := accounts(who, home)
	for name, text := range map[string]string{passwdFile: passwd, groupFile: group} {
		path := filepath.Join(base, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o644); err != nil { // whatever the umask is
			return err
		}
	}
	return nil
}

// connect makes the Process of a handle. agentcli.ErrGone when nothing listens, or another life does.
func (l *Launcher) connect(ctx context.Context, h handle) (*process, error) {
	p := &process{launcher: l, handle: h}
	client, err := holder.Connect(ctx, holder.Options{
		Nonce: h.Nonce,
		Dial:  func(ctx context.Context) (net.Conn, error) { return l.dial(ctx, h.ID) },
		Gone:  p.gone,
	})
	if err != nil {
		return nil, err
	}
	p.Client = client
	return p, nil
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
	if err != nil || h.StartedAt.Before(since) || h.Owner != l.owner || h.Over {
		return nil, agentcli.ErrGone
	}
	return h.encode(), nil
}

// Find returns the process of a handle, running or ended with a known exit. agentcli.ErrGone. The container of another
// state directory is gone to this one, and not touched: a restored copy of an installation has the handles of the original,
// and must not take its agents away.
func (l *Launcher) Find(ctx context.Context, data []byte) (agentcli.Process, error) {
	h, err := parseHandle(data)
	if err != nil {
		return nil, err
	}
	if h.Owner != l.owner {
		l.log.Warn("an agent belongs to another state directory, and is left alone", "agent", h.ID)
		return nil, agentcli.ErrGone
	}
	p, err := l.connect(ctx, h)
	if err == nil {
		l.noteFound(h.ID)
		return p, nil
	}
	if !errors.Is(err, agentcli.ErrGone) && runtime.ErrorCode(err) != runtime.CodeUnavailable {
		return nil, err
	}
	exit, err := l.ended(ctx, h)
	if err != nil {
		return nil, err
	}
	gone := &life.Ended{Record: h.encode(), Process: h.info(), Exit: exit, End: func(ctx context.Context) error { return l.end(ctx, h) }}
	if known, err := l.readExit(h); err == nil {
		gone.Head = &known.Head
	}
	l.noteFound(h.ID)
	return gone, nil
}

// ended returns how a life ended whose holder does not answer. agentcli.ErrGone when nothing is known of its end, and
// UNAVAILABLE when it runs as far as is known: because its container does, or because the engine cannot be asked.
func (l *Launcher) ended(ctx context.Context, h handle) (runtime.Exit, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	ref := cmp.Or(h.Container, containerName(h.ID))
	info, err := l.engine.ContainerInspect(ctx, ref)
	oom := false
	switch {
	case cerrdefs.IsNotFound(err):
	case err != nil:
		e := runtime.AsError(l.engine.failed("look at the container", err))
		return runtime.Exit{}, &runtime.Error{Code: runtime.CodeUnavailable, Message: e.Message, Hint: e.Hint, Retry: true}
	case info.Config == nil || info.Config.Labels[labelNonce] != h.Nonce.String(): // of a later life
	case l.cutShort(h):
		l.log.Warn("removing a container whose start was cut short", "agent", h.ID, "container", info.ID)
		if err := l.engine.remove(ctx, info.ID); err != nil {
			return runtime.Exit{}, &runtime.Error{Code: runtime.CodeUnavailable, Message: runtime.AsError(err).Message, Retry: true}
		}
		return runtime.Exit{}, agentcli.ErrGone
	case info.State != nil && info.State.Running:
		return runtime.Exit{}, &runtime.Error{
			Code: runtime.CodeUnavailable, Message: "the holder of agent " + h.ID + " does not answer in its container", Retry: true,
		}
	default:
		oom = info.State != nil && info.State.OOMKilled
	}
	exit := runtime.Exit{Code: 128 + 9}
	known, err := l.readExit(h)
	switch {
	case err == nil:
		exit = holder.ExitOf(known)
	case !oom:
		return exit, agentcli.ErrGone
	}
	if oom && exit.Reason == "" && exit.Code == 128+9 {
		exit.Reason = runtime.ReasonOutOfMemory
	}
	return exit, nil
}

// cutShort reports whether this process, or its engine, ended within the start of a life, and the holder has no command, nor will
// get one: it listens before it starts one. Where both ended, its input may stay open, and it waits for ever.
func (l *Launcher) cutShort(h handle) bool {
	if h.Boot != "" {
		return false
	}
	for _, name := range []string{socketFile, exitFile} {
		if _, err := os.Lstat(filepath.Join(l.room(h.ID), runDir, name)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// endEarlier ends what there is of an agent's last life.
func (l *Launcher) endEarlier(ctx context.Context, id string) error {
	h, err := l.load(id)
	if err != nil && !life.NoRecord(err) {
		return life.Unread(id, err)
	}
	if err != nil || h.Owner != l.owner {
		return nil // no life, or none of this state directory; create removes a container of its name
	}
	if err := l.end(ctx, h); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(l.room(id), lifeFile))
	return nil
}

// end removes the container of a life, and with it all that runs there.
func (l *Launcher) end(ctx context.Context, h handle) error {
	if h.Container != "" {
		return l.engine.remove(ctx, h.Container)
	}
	// The runtime ended before it could note the container.
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := l.engine.ContainerInspect(call, containerName(h.ID))
	switch {
	case cerrdefs.IsNotFound(err):
		return nil
	case err != nil:
		return l.engine.failed("look at the container", err)
	case info.Config == nil || info.Config.Labels[labelOwner] != l.owner || info.Config.Labels[labelNonce] != h.Nonce.String():
		return nil
	}
	return l.engine.remove(ctx, info.ID)
}

// discard removes the container of a life that did not begin. What does not go is the sweeper's.
func (l *Launcher) discard(ctx context.Context, h handle) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if err := l.end(ctx, h); err != nil {
		l.log.Warn("a container that did not start cannot be removed yet", "agent", h.ID, "error", err)
		h.Over = true
		if err := l.save(h); err != nil {
			l.log.Error("it is not stored that a container is to be removed", "agent", h.ID, "error", err)
		}
		return
	}
	_ = os.Remove(filepath.Join(l.room(h.ID), lifeFile))
}

// Remove removes the room of an agent, and ends what is left of it.
func (l *Launcher) Remove(ctx context.Context, id string) error {
	release, err := l.claims.Claim(id)
	if err != nil {
		return err
	}
	defer release()
	if err := l.endEarlier(ctx, id); err != nil {
		return err
	}
	l.tookFound(id)
	if err := os.RemoveAll(l.room(id)); err != nil {
		return runtime.Errorf(runtime.CodeInternal, "remove the room of agent %s: %v", id, err)
	}
	return nil
}
