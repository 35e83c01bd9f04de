package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/life"
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

// Launcher is an agentcli.Launcher for the pods of a namespace. One process at a time uses a StateDir.
type Launcher struct {
	config  Config
	version string
	log     hclog.Logger
	cluster *cluster
	watcher *watcher
	rooms   local.Rooms // of work directories on this machine
	dir     string      // what is stored of agents
	owner   string      // identity of StateDir: see identity

	claims   life.Claims
	commands commands

	records sync.Mutex // held by who writes what is stored of an agent, and reads it for that

	mu        sync.Mutex            // guards what follows
	processes map[string][]*process // connected, by pod
	running   map[string]wire.Nonce // lives that are not known to be over, by id
	furnished string                // uid of the owner object, once all of the namespace's is there

	stop context.CancelFunc // of the sweeper
	wg   sync.WaitGroup     // the sweeper
}

var (
	_ agentcli.Launcher     = (*Launcher)(nil)
	_ agentcli.Rediscoverer = (*Launcher)(nil)
	_ agentcli.RoomEnder    = (*Launcher)(nil)
)

// Open makes a launcher. The cluster need not be there.
func Open(opts Options) (*Launcher, error) {
	c := opts.Config
	l := &Launcher{
		version: opts.Version, log: opts.Logger, processes: map[string][]*process{}, running: map[string]wire.Nonce{},
	}
	l.log = cmp.Or(l.log, hclog.NewNullLogger())
	l.dir = filepath.Join(c.StateDir, "agents")
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a directory of the runtime: %w", err)
	}
	var err error
	if c.StateDir, err = filepath.EvalSymlinks(c.StateDir); err != nil {
		return nil, fmt.Errorf("directory of the runtime: %w", err)
	}
	if err := errors.Join(life.SweepRecords(c.StateDir), life.SweepRecords(l.dir)); err != nil {
		return nil, fmt.Errorf("directory of the runtime: %w", err)
	}
	l.config = c
	if l.owner, err = identityOf(c.StateDir, l.dir); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	l.rooms = local.Rooms{
		Dir: filepath.Join(c.StateDir, "rooms"), Own: []string{c.StateDir}, Private: opts.Private, Workspaces: opts.Workspaces, Limits: true, Unmarked: true,
	}
	if os.Getuid() == 0 {
		l.rooms.Owner = &local.Owner{UID: uint32(c.User), GID: uint32(c.User)}
	}
	if l.cluster, err = openCluster(&c, opts.Version); err != nil {
		return nil, err
	}
	l.watcher = watchPods(l.cluster, labelOwner+"="+l.owner, l.podOver)
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	l.wg.Go(func() { l.sweep(ctx, duration(c.OrphanGrace, defaultGrace)) })
	return l, nil
}

// Close lets go; agents go on.
func (l *Launcher) Close() error {
	l.stop()
	l.wg.Wait()
	l.watcher.close()
	l.cluster.close()
	return nil
}

// room is the holder's binary in a pod.
func (l *Launcher) room(pod string) holder.Room {
	return holder.Room{Stream: l.cluster.stream(pod, l.config.Holder)}
}

// Prepare makes the pod of an agent, or finds the one that its last life has left. INVALID_SPEC, WORKDIR_NOT_ALLOWED,
// IMAGE_NOT_FOUND, RESOURCE_LIMIT. For an agent that runs nothing is made.
func (l *Launcher) Prepare(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	release, err := l.claims.Claim(spec.ID)
	if err != nil {
		return agentcli.Room{}, err
	}
	defer release()
	w, err := l.wish(ctx, spec)
	if err != nil {
		return agentcli.Room{}, err
	}
	plan, err := l.podOf(w)
	if err != nil {
		return agentcli.Room{}, err
	}
	v, err := l.load(spec.ID)
	switch {
	case err == nil || errors.Is(err, os.ErrNotExist):
	case errors.Is(err, errDamaged) && !l.connected(spec.ID): // or what it named ran on beside the agent
		if _, err := l.removePods(ctx, spec.ID); err != nil {
			return agentcli.Room{}, err
		}
	default:
		return agentcli.Room{}, life.Unread(spec.ID, err)
	}
	if err != nil || !l.runs(v.Handle) {
		if v, err = l.have(ctx, spec.ID, v, plan); err != nil {
			return agentcli.Room{}, err
		}
	}
	return l.describe(spec, w.git), nil
}

// wish checks what a spec asks for.
func (l *Launcher) wish(ctx context.Context, spec *runtime.Spec) (wish, error) {
	image, err := l.config.Choose(spec, checkImage)
	if err != nil {
		return wish{}, err
	}
	w := wish{spec: spec, image: image}
	if spec.Network != "" {
		return w, runtime.Invalid("network", "pods have one network; egress in the runtime's configuration bounds it")
	}
	if err := local.CheckEnv("env", spec.Env); err != nil {
		return w, err
	}
	if spec.Declared != nil {
		if err := local.CheckEnv("declared.env", spec.Declared.Env); err != nil {
			return w, err
		}
	}
	if dir := spec.Workdir; dir != "" {
		if l.config.mountOf(dir) == "" {
			return w, local.WorkdirNotAllowed("add it to mounts in the runtime's configuration", "%s is below none of the paths that pods may have", dir)
		}
		if _, err := os.Stat(dir); err == nil { // the service sees it too: threads need that
			room, err := l.rooms.Prepare(ctx, spec)
			if err != nil {
				return w, err
			}
			if room.Workdir != dir {
				return w, local.WorkdirNotAllowed("name "+room.Workdir, "%s is a symlink, which leads elsewhere in a pod", dir)
			}
			if err := l.rooms.HandOver(room, true); err != nil {
				return w, err
			}
			w.git = room.Git
		}
	}
	return w, nil
}

// runs reports whether a life is connected, or was found, and is not known to be over.
func (l *Launcher) runs(h handle) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	nonce, ok := l.running[h.ID]
	return ok && nonce == h.Nonce
}

// connected reports whether some life of an agent is connected, or was found, and is not known to be over.
func (l *Launcher) connected(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.running[id]
	return ok
}

// have returns the pod of a plan: the one that there is, or a new one in its place.
func (l *Launcher) have(ctx context.Context, id string, v record, plan *corev1.Pod) (record, error) {
	digest, err := planOf(plan)
	if err != nil {
		return v, runtime.Errorf(runtime.CodeInternal, "the pod cannot be planned: %v", err)
	}
	if v.Handle.Pod != "" && v.Handle.Owner == l.owner {
		pod, err := l.cluster.get(ctx, v.Handle.Pod)
		if err != nil {
			return v, err
		}
		if pod != nil && string(pod.UID) == v.Handle.UID {
			// On a node that is silent an agent may run, or have its home: both may be there again.
			empty := !v.Launched || v.Over && l.config.HomeClaim != ""
			if ready, _ := judge(pod); ready && v.Plan == digest && !v.Unwanted && !(empty && silent(pod)) {
				return v, nil
			}
			if err := l.cluster.remove(ctx, pod.Name, v.Handle.UID); err != nil {
				return v, err
			}
		}
	}
	image := plan.Spec.Containers[0].Image
	pod, err := l.create(ctx, id, plan)
	if err != nil {
		return v, err
	}
	v = record{
		Handle: handle{Version: handleVersion, ID: id, Owner: l.owner, Pod: pod.Name, UID: string(pod.UID), StartedAt: time.Now()}, Plan: digest, Image: image, Digest: imageOf(pod),
	}
	if err := l.save(v); err != nil {
		l.discard(ctx, pod)
		return v, runtime.Errorf(runtime.CodeSpawnFailed, "record the agent: %v", err)
	}
	return v, nil
}

// describe is the room that an agent's pod is, whichever that is when it is asked.
func (l *Launcher) describe(spec *runtime.Spec, git agentcli.Git) agentcli.Room {
	ask := func(question func(ctx context.Context, in holder.Room) error) error {
		v, err := l.load(spec.ID)
		if err != nil {
			return runtime.NotFound(spec.ID)
		}
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		return question(ctx, l.room(v.Handle.Pod))
	}
	room := agentcli.Room{
		Home: l.config.HomeDir, Workdir: workDir, Temp: tempDir, Git: git, Contained: true, Hook: []string{l.config.Holder, "hook", socketPath},
		Env: []string{"COLORTERM=truecolor", "HOME=" + l.config.HomeDir, "LANG=C.UTF-8", "TERM=xterm-256color", "TMPDIR=" + tempDir},
	}
	if spec.Workdir != "" {
		room.Workdir = spec.Workdir
	}
	room.LookPath = func(name string) (found string, err error) {
		v, err := l.load(spec.ID)
		if err != nil {
			return "", runtime.NotFound(spec.ID)
		}
		place := commandPlace{v.Digest, strings.Join(spec.Volumes, "\n"), name}
		if found, ok := l.commands.find(place); ok {
			return found, nil
		}
		err = ask(func(ctx context.Context, in holder.Room) error {
			found, err = in.LookPath(ctx, name)
			return err
		})
		if err == nil {
			l.commands.keep(place, found)
		}
		return found, err
	}
	room.ReadFile = func(file string) (data []byte, err error) {
		if err := insideOf(room, file); err != nil {
			return nil, err
		}
		err = ask(func(ctx context.Context, in holder.Room) error {
			data, err = in.ReadFile(ctx, file)
			return err
		})
		return data, err
	}
	room.ReadFrom = func(file string, offset int64, limit int) (data []byte, at int64, err error) {
		if err := insideOf(room, file); err != nil {
			return nil, 0, err
		}
		err = ask(func(ctx context.Context, in holder.Room) error {
			data, at, err = in.ReadFrom(ctx, file, offset, limit)
			return err
		})
		return data, at, err
	}
	return room
}

// insideOf returns an error for a file that is not in a room.
func insideOf(room agentcli.Room, file string) error {
	for _, dir := range []string{room.Home, room.Workdir, room.Temp} {
		if file != dir && within(path.Clean(file), dir) {
			return nil
		}
	}
	return runtime.Errorf(runtime.CodeForbidden, "%s is outside of the agent's room", file)
}

// Launch starts the command in the pod that Prepare has made. What an earlier life of the same id left is ended first.
func (l *Launcher) Launch(ctx context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	id := cmd.Spec.ID
	release, err := l.claims.Claim(id)
	if err != nil {
		return nil, err
	}
	defer release()
	v, err := l.load(id)
	if err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "the agent was not prepared: %v", err)
	}
	if v.Launched && !v.Over {
		if err := l.endLife(ctx, v.Handle); err != nil {
			return nil, err
		}
	}
	for _, file := range cmd.Files {
		clean := path.Clean(file.Path)
		if clean != file.Path || !within(clean, cmd.Room.Home) && !within(clean, cmd.Room.Workdir) {
			return nil, runtime.Errorf(runtime.CodeSpawnFailed, "the file %s is outside of the agent's room", file.Path)
		}
	}
	if cmd.ReadOnly { // Prepare could not know
		plan, err := l.podOf(wish{spec: cmd.Spec, image: v.Image, git: cmd.Room.Git, readOnly: true})
		if err != nil {
			return nil, err
		}
		if v, err = l.have(ctx, id, v, plan); err != nil {
			return nil, err
		}
	}
	if err := l.room(v.Handle.Pod).Write(ctx, cmd.Files); err != nil {
		return nil, err
	}
	v.Handle.Nonce, v.Handle.StartedAt, v.Launched, v.Over = holder.NewNonce(), time.Now(), true, false
	// It is stored before it runs, so that it is found whatever happens next.
	if err := l.save(v); err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "record the agent: %v", err)
	}
	holding, conn, err := l.cluster.stream(v.Handle.Pod, l.config.Holder).StartDial(ctx, logPath, socketPath, wire.Launch{
		Socket: socketPath, Nonce: v.Handle.Nonce, ExitFile: exitPath, Path: cmd.Path, Args: cmd.Args, Env: life.Marked(cmd.Env, v.Handle.ID, v.Handle.Nonce),
		Dir: cmd.Room.Workdir, Cols: uint16(cmd.Cols), Rows: uint16(cmd.Rows), RingBytes: uint32(l.config.RingBytes), Inherit: true,
	})
	if err != nil {
		l.forgo(ctx, v)
		return nil, err
	}
	v.Handle.PID = holding.Command.PID
	if err := l.save(v); err != nil {
		if conn != nil {
			_ = conn.Close()
		}
		l.forgo(ctx, v)
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "record the agent: %v", err)
	}
	process, err := l.connectOver(ctx, v.Handle, conn)
	if err != nil {
		l.forgo(ctx, v)
		var known *runtime.Error
		if !errors.As(err, &known) {
			err = runtime.Errorf(runtime.CodeSpawnFailed, "the agent was started and ended at once: %v", err)
		}
		return nil, err
	}
	return process, nil
}

// forgo removes the pod of a life that did not begin, as far as is known. What does not go is the sweeper's.
func (l *Launcher) forgo(ctx context.Context, v record) {
	ctx = context.WithoutCancel(ctx)
	err := l.cluster.remove(ctx, v.Handle.Pod, v.Handle.UID)
	if err != nil {
		l.log.Warn("the pod of an agent that did not start cannot be removed yet", "pod", v.Handle.Pod, "error", err)
	}
	l.endNow(v.Handle, err != nil)
}

// endLife ends what runs of a life, and leaves its pod.
func (l *Launcher) endLife(ctx context.Context, h handle) error {
	p, err := l.connect(ctx, h)
	if errors.Is(err, agentcli.ErrGone) {
		l.overNow(h)
		return nil
	}
	if err != nil {
		return err
	}
	if err = p.Client.Kill(ctx); err == nil {
		l.overNow(h)
	} else { // it may run on: the next start looks at its pod again, and ends it
		l.forget(h)
	}
	return errors.Join(err, p.Close())
}

// forget takes back that a life is connected.
func (l *Launcher) forget(h handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[h.ID] == h.Nonce {
		delete(l.running, h.ID)
	}
}

// overNow notes that a life is over.
func (l *Launcher) overNow(h handle) { l.endNow(h, false) }

// endNow notes that a life is over, and whether its pod, which could not be removed, is unwanted.
func (l *Launcher) endNow(h handle, unwanted bool) {
	l.forget(h)
	l.records.Lock() // a next life is not written over
	defer l.records.Unlock()
	v, err := l.load(h.ID)
	if err != nil || v.Handle.Nonce != h.Nonce || v.Over {
		return
	}
	v.Over, v.Unwanted = true, unwanted
	if err := l.write(v); err != nil {
		l.log.Warn("the end of an agent is not stored", "agent", h.ID, "error", err)
	}
}

// connect makes the Process of a handle. agentcli.ErrGone when nothing listens, or another life does.
func (l *Launcher) connect(ctx context.Context, h handle) (*process, error) {
	return l.connectOver(ctx, h, nil)
}

// connectOver is connect over a connection that is there already, unless first is nil.
func (l *Launcher) connectOver(ctx context.Context, h handle, first net.Conn) (*process, error) {
	p := &process{launcher: l, handle: h}
	more := l.cluster.stream(h.Pod, l.config.Holder).Dial(socketPath)
	dial := func(ctx context.Context) (net.Conn, error) {
		if conn := first; conn != nil { // Connect dials once before anybody else can
			first = nil
			return conn, nil
		}
		return more(ctx)
	}
	client, err := holder.Connect(ctx, holder.Options{Nonce: h.Nonce, Dial: dial, Gone: p.gone})
	if err != nil {
		return nil, err
	}
	p.Client = client
	l.mu.Lock()
	l.running[h.ID] = h.Nonce
	l.processes[h.Pod] = append(l.processes[h.Pod], p)
	l.mu.Unlock()
	return p, nil
}

// podOver cuts the connections to a pod that ended, is gone, or whose node has fallen silent: they might not notice by themselves.
// An agent whose pod can be reached all the same is connected again.
func (l *Launcher) podOver(pod *corev1.Pod) {
	l.mu.Lock()
	list := slices.Clone(l.processes[pod.Name])
	l.mu.Unlock()
	for _, p := range list {
		p.cut()
	}
}

// Latest implements agentcli.Rediscoverer.
func (l *Launcher) Latest(_ context.Context, id string, since time.Time) ([]byte, error) {
	if err := local.CheckID(id); err != nil {
		return nil, err
	}
	v, err := l.load(id)
	switch {
	case errors.Is(err, errDamaged): // whether it runs is not known
		return nil, runtime.Errorf(runtime.CodeInternal, "%v; remove the agent %s, which ends its pod", err, id)
	case errors.Is(err, os.ErrNotExist):
		return nil, agentcli.ErrGone
	case err != nil: // nor here, for as long as that lasts
		return nil, life.Unread(id, err)
	}
	if !v.Launched || v.Over || v.Handle.StartedAt.Before(since) || v.Handle.Owner != l.owner {
		return nil, agentcli.ErrGone
	}
	return v.Handle.encode(), nil
}

// Find returns the process of a handle, running or ended with a known exit. agentcli.ErrGone. The pod of another state
// directory is gone to this one, and not touched: a restored copy of an installation has the handles of the original, and must
// not take its agents away.
func (l *Launcher) Find(ctx context.Context, data []byte) (agentcli.Process, error) {
	h, err := parseHandle(data)
	if err != nil {
		return nil, err
	}
	if h.Owner != l.owner {
		l.log.Warn("an agent belongs to another state directory, and is left alone", "agent", h.ID)
		return nil, agentcli.ErrGone
	}
	_, stored := l.load(h.ID)
	if errors.Is(stored, os.ErrNotExist) { // it was removed
		return nil, agentcli.ErrGone
	}
	p, err := l.connect(ctx, h)
	if err == nil {
		if errors.Is(stored, errDamaged) { // its pod is nobody's otherwise
			l.log.Warn("what is stored of an agent that runs is made anew from its handle", "agent", h.ID, "error", stored)
			if err := l.save(record{Handle: h, Launched: true}); err != nil {
				return nil, errors.Join(runtime.Errorf(runtime.CodeInternal, "record the agent %s: %v", h.ID, err), p.Close())
			}
		}
		return p, nil
	}
	shut := errors.Is(err, agentcli.ErrGone)
	if !shut && runtime.ErrorCode(err) != runtime.CodeUnavailable && runtime.ErrorCode(err) != runtime.CodeTimeout {
		return nil, err
	}
	exit, err := l.ended(ctx, h, shut)
	if err != nil {
		return nil, err
	}
	return &life.Ended{Record: h.encode(), Process: h.info(), Exit: exit}, nil
}

// endTime is how long a pod whose holder is gone may take to be seen as ended.
const endTime = 3 * time.Second

// errRemoved is agentcli.ErrGone of a life whose pod is gone.
var errRemoved = fmt.Errorf("%w: its pod was removed", agentcli.ErrGone)

// ended returns how a life ended whose holder does not answer; shut reports that certainly nothing listens in the
// pod. agentcli.ErrGone when nothing is known of its end, and UNAVAILABLE when it runs as far as is known: because its
// pod does, or because the cluster cannot be asked.
func (l *Launcher) ended(ctx context.Context, h handle, shut bool) (runtime.Exit, error) {
	unavailable := func(err error) error {
		e := runtime.AsError(err)
		return &runtime.Error{Code: runtime.CodeUnavailable, Message: e.Message, Hint: e.Hint, Retry: true}
	}
	deadline := time.Now().Add(endTime)
	for {
		pod, err := l.cluster.get(ctx, h.Pod)
		switch {
		case err != nil:
			return runtime.Exit{}, unavailable(err)
		case pod == nil || string(pod.UID) != h.UID:
			l.overNow(h)
			return runtime.Exit{}, errRemoved
		case over(pod), spent(pod) && time.Now().After(deadline):
			l.overNow(h)
			exit, err := lastExit(pod, h)
			if errors.Is(err, agentcli.ErrGone) && pod.DeletionTimestamp != nil { // it has ended, and is about to go
				err = errRemoved
			}
			return exit, err
		}
		limit := callTime
		if silent(pod) { // the API server may reach it all the same
			limit = endTime
		}
		exit, err := l.exitFile(ctx, h, limit)
		if err == nil {
			l.overNow(h)
			return exit, nil
		}
		if shut && errors.Is(err, os.ErrNotExist) { // the pod was asked: its holder is gone, and left no word
			if v, loadErr := l.load(h.ID); loadErr == nil && v.Handle.Nonce == h.Nonce {
				if err := l.cluster.remove(ctx, h.Pod, h.UID); err != nil {
					return runtime.Exit{}, unavailable(err)
				}
			}
			l.overNow(h)
			return runtime.Exit{}, agentcli.ErrGone
		}
		alive := errors.Is(err, os.ErrNotExist) && pod.DeletionTimestamp == nil // its files can be read
		if alive || time.Now().After(deadline) && !spent(pod) || ctx.Err() != nil {
			e := &runtime.Error{Code: runtime.CodeUnavailable, Message: "the holder of agent " + h.ID + " does not answer in its pod", Retry: true}
			if cause, ok := errors.AsType[*runtime.Error](err); ok { // such as that the account lacks a verb
				e.Message, e.Hint = e.Message+": "+cause.Message, cause.Hint
			}
			return runtime.Exit{}, e
		}
		l.watcher.next(ctx, endTime/6)
	}
}

// exitFile reads how the command of a life ended, in a pod that runs, within a time. os.ErrNotExist when its holder left no word.
func (l *Launcher) exitFile(ctx context.Context, h handle, limit time.Duration) (runtime.Exit, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	data, err := l.room(h.Pod).ReadFile(ctx, exitPath)
	if err != nil {
		return runtime.Exit{}, err
	}
	known, err := wire.ParseExitFile(data)
	if err != nil || known.Nonce != h.Nonce {
		return runtime.Exit{}, os.ErrNotExist
	}
	exit := holder.ExitOf(known)
	if exit.Code == 128+9 && exit.Reason == "" {
		if usage, err := l.room(h.Pod).Usage(ctx); err == nil && usage.OutOfMemory {
			exit.Reason = runtime.ReasonOutOfMemory
		}
	}
	return exit, nil
}

// lastExit is how a life ended whose pod did. agentcli.ErrGone.
func lastExit(pod *corev1.Pod, h handle) (runtime.Exit, error) {
	for _, s := range pod.Status.ContainerStatuses {
		t := s.State.Terminated
		if s.Name != containerName || t == nil {
			continue
		}
		if known, err := wire.ParseExitFile([]byte(t.Message)); err == nil && known.Nonce == h.Nonce {
			exit := holder.ExitOf(known)
			switch why := takenAway(pod); {
			case exit.Code == 128+9 && exit.Reason == "" && t.Reason == "OOMKilled":
				exit.Reason = runtime.ReasonOutOfMemory
			case exit.Reason == runtime.ReasonKilled && why != "":
				exit.Reason = runtime.ReasonLost + ": " + why
			}
			return exit, nil
		}
		if t.Reason == "OOMKilled" {
			return runtime.Exit{Code: 128 + 9, Reason: runtime.ReasonOutOfMemory}, nil
		}
	}
	if why := takenAway(pod); why != "" {
		return runtime.Exit{Code: 128 + 9, Reason: runtime.ReasonLost + ": " + why}, nil
	}
	return runtime.Exit{}, agentcli.ErrGone
}

// Remove removes the pod of an agent, and its home where that outlives pods.
func (l *Launcher) Remove(ctx context.Context, id string) error {
	release, err := l.claims.Claim(id)
	if err != nil {
		return err
	}
	defer release()
	v, err := l.load(id)
	switch {
	case errors.Is(err, errDamaged): // it runs as far as is known
		v.Handle.ID = id
		pods, err := l.removePods(ctx, id)
		if err != nil {
			return err
		}
		for i := range pods {
			if list := pods[i].Spec.Containers; len(list) > 0 {
				v.Image = list[0].Image
				v.Handle = handle{Version: handleVersion, ID: id, Owner: l.owner, Pod: pods[i].Name, UID: string(pods[i].UID)}
			}
		}
		if v.Image != "" { // what another try needs, when its pods are gone
			v.Launched, v.Over = true, true
			if err := l.save(v); err != nil {
				return runtime.Errorf(runtime.CodeInternal, "record the agent %s: %v", id, err)
			}
		}
		l.mu.Lock()
		delete(l.running, id)
		l.mu.Unlock()
	case errors.Is(err, os.ErrNotExist), err == nil && v.Handle.Owner != l.owner:
		return nil // no life, or none of this state directory
	case err != nil: // which pod it has is not known
		return life.Unread(id, err)
	default:
		if err := l.cluster.remove(ctx, v.Handle.Pod, v.Handle.UID); err != nil {
			return err
		}
		l.overNow(v.Handle)
	}
	if v.Image == "" && l.config.HomeClaim != "" {
		l.log.Warn("the home of an agent stays, as nothing says by which image it can be cleared", "agent", id, "claim", l.config.HomeClaim)
	} else if err := l.clearHome(ctx, v); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(l.rooms.Dir, id)); err != nil {
		return runtime.Errorf(runtime.CodeInternal, "remove the room of agent %s: %v", id, err)
	}
	if err := os.Remove(l.lifeFile(id)); err != nil {
		return runtime.Errorf(runtime.CodeInternal, "remove what is stored of agent %s: %v", id, err)
	}
	return nil
}
