package docker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	networktypes "github.com/docker/docker/api/types/network"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Paths in a container that are the runtime's.
const (
	inside       = "/wardroom"
	insideHolder = inside + "/holder"
	insideRun    = inside + "/run"
	insideSocket = insideRun + "/" + socketFile
	insideExit   = insideRun + "/" + exitFile
)

// Files in the room of an agent that it does not see, but for those of run.
const (
	lifeFile   = "life.json"
	passwdFile = "passwd"
	groupFile  = "group"
	runDir     = "run"
	socketFile = "s"    // in run
	exitFile   = "exit" // in run
)

// temporary are directories of a container that are kept in memory, so that its root can be read-only.
var temporary = []string{"/tmp", "/var/tmp"}

// plan is a container to be made.
type plan struct {
	config   container.Config
	host     container.HostConfig
	networks networktypes.NetworkingConfig
	name     string
}

// planOf describes the container of a life: it may do nothing that an agent does not need.
func (l *Launcher) planOf(cmd agentcli.Command, h handle, in image, network string, id identity, volumes []mount.Mount, f facts) (*plan, error) {
	limits := l.limits(cmd.Spec)
	mounts, err := l.mounts(cmd, volumes)
	if err != nil {
		return nil, err
	}
	pids, noInit := int64(limits.PIDs), false
	p := &plan{
		name: containerName(h.ID),
		config: container.Config{
			Image: in.id, Entrypoint: []string{insideHolder}, Cmd: []string{"run"}, User: id.user, WorkingDir: "/",
			Hostname: hostname(cmd.Spec.Name, h.ID),
			// The heap of a holder is small; what it starts has an environment of its own.
			Env:       []string{"GOTRACEBACK=single", "GOGC=10", "GOMAXPROCS=1"},
			OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
			StopSignal:  "SIGTERM",
			Labels: map[string]string{
				labelRole: roleAgent, labelOwner: l.owner, labelInstallation: cmd.Spec.Installation, labelAgent: h.ID,
				labelName: cmd.Spec.Name, labelType: cmd.Spec.Type, labelNonce: h.Nonce.String(), labelVersion: l.version,
			},
		},
		host: container.HostConfig{
			NetworkMode: container.NetworkMode(network), IpcMode: container.IPCModePrivate,
			CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, ReadonlyRootfs: true, Init: &noInit,
			Mounts: mounts, Tmpfs: l.tmpfs(mounts), RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
			// Only what a holder says when it crashes comes here.
			LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m", "max-file": "1"}},
			Resources: container.Resources{
				Memory: limits.MemoryBytes, MemorySwap: limits.MemoryBytes, NanoCPUs: int64(limits.CPU * 1e9), PidsLimit: &pids,
			},
			OomScoreAdj: 500, // agents go before anything else of the machine's services
		},
	}
	if f.remapped {
		// In a user namespace the service could not speak to the holder, nor the agent use its room. It is no root outside.
		p.host.UsernsMode = "host"
	}
	p.networks.EndpointsConfig = map[string]*networktypes.EndpointSettings{network: {Aliases: aliases(cmd.Spec.Name)}}
	return p, nil
}

// limits are those of a spec, and the runtime's own for what it does not say.
func (l *Launcher) limits(spec *runtime.Spec) runtime.Limits {
	limits, own := spec.Limits, l.config.Limits
	limits.MemoryBytes = cmp.Or(limits.MemoryBytes, own.memoryBytes)
	limits.CPU = cmp.Or(limits.CPU, own.CPU)
	limits.PIDs = cmp.Or(limits.PIDs, own.PIDs)
	return limits
}

// checkLimits refuses limits that no container of the engine can have. INVALID_SPEC, RESOURCE_LIMIT.
func (l *Launcher) checkLimits(spec *runtime.Spec, f facts) error {
	limits := l.limits(spec)
	switch {
	case limits.MemoryBytes < leastMemory:
		return runtime.Invalid("limits.memoryBytes", "is less than the %d MiB that an agent needs to start", leastMemory>>20)
	case limits.CPU < 0.01:
		return runtime.Invalid("limits.cpu", "is less than 0.01 cores")
	case limits.PIDs < 16:
		return runtime.Invalid("limits.pids", "is less than the 16 that an agent needs to start")
	case f.cpus > 0 && limits.CPU > float64(f.cpus):
		return &runtime.Error{
			Code: runtime.CodeResourceLimit, Field: "limits.cpu",
			Message: fmt.Sprintf("%s cores are asked for, and the machine of the container engine has %d", strconv.FormatFloat(limits.CPU, 'f', -1, 64), f.cpus),
			Hint:    "ask for less, or set limits.cpu in the runtime's configuration",
		}
	}
	return nil
}

// mounts are the directories of this machine that an agent sees, each at its own path but for those of the runtime and its
// volumes.
func (l *Launcher) mounts(cmd agentcli.Command, volumes []mount.Mount) ([]mount.Mount, error) {
	base, room := l.room(cmd.Spec.ID), cmd.Room
	all := []mount.Mount{
		bind(l.config.Holder, insideHolder, true),
		bind(filepath.Join(base, runDir), insideRun, false),
		bind(filepath.Join(base, passwdFile), "/etc/passwd", true),
		bind(filepath.Join(base, groupFile), "/etc/group", true),
		bind(room.Home, room.Home, false),
		bind(room.Temp, room.Temp, false),
		bind(room.Workdir, room.Workdir, cmd.ReadOnly),
	}
	if g := room.Git; g.Linked() {
		// The repository of a workspace that the service made is part of its state, and is mounted all the same.
		if l.rooms.Provided(room.Workdir) || l.holdsOwn(g.Common) == "" {
			// Hooks and configuration, which git of others runs and obeys, stay read-only.
			all = append(all, bind(g.Common, g.Common, true), bind(g.Dir, g.Dir, cmd.ReadOnly))
			for _, name := range []string{"objects", "refs", "logs"} {
				all = append(all, bind(filepath.Join(g.Common, name), filepath.Join(g.Common, name), cmd.ReadOnly))
			}
		}
	}
	for _, v := range volumes {
		if slices.ContainsFunc(all, func(m mount.Mount) bool { return within(m.Target, v.Target) }) {
			return nil, runtime.Invalid("volumes", "%s holds what the agent works in", v.Target)
		}
		all = append(all, v)
	}
	return all, nil
}

// tmpfs are the temporary directories that nothing else is mounted on.
func (l *Launcher) tmpfs(mounts []mount.Mount) map[string]string {
	all := map[string]string{}
	for _, dir := range temporary {
		if !slices.ContainsFunc(mounts, func(m mount.Mount) bool { return m.Target == dir }) {
			all[dir] = fmt.Sprintf("rw,nosuid,nodev,exec,mode=1777,size=%d", l.config.TempBytes)
		}
	}
	return all
}

// word matches what may not be in the name of a host.
var word = regexp.MustCompile(`[^a-z0-9-]+`)

// hostWord makes a word for the name of a host out of a text. It returns "" if nothing of the text can be used.
func hostWord(text string) string {
	return strings.Trim(word.ReplaceAllString(strings.ToLower(text[:min(len(text), 63)]), "-"), "-")
}

func hostname(name, id string) string {
	if w := hostWord(name); w != "" {
		return w
	}
	return hostWord(id)
}

// aliases are the names, beside that of its container, under which an agent is reached in its network.
func aliases(name string) []string {
	all := map[string]bool{}
	if w := hostWord(name); w != "" {
		all[w] = true
	}
	if networkName.MatchString(name) {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// create makes the container of a plan and returns its id. What an earlier life of the agent left under its name is removed;
// what others have there is not. ALREADY_EXISTS, and the errors of engine.refused.
func (l *Launcher) create(ctx context.Context, p *plan) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for tried := false; ; tried = true {
		made, err := l.engine.ContainerCreate(ctx, &p.config, &p.host, &p.networks, nil, p.name)
		if err == nil {
			for _, warning := range made.Warnings {
				l.log.Warn("the engine warns of a container", "container", p.name, "warning", warning)
			}
			return made.ID, nil
		}
		if !cerrdefs.IsConflict(err) || !strings.Contains(err.Error(), p.name) {
			return "", l.engine.refused("make the container", err)
		}
		there, inspectErr := l.engine.ContainerInspect(ctx, p.name)
		switch {
		case cerrdefs.IsNotFound(inspectErr): // gone meanwhile
		case inspectErr != nil:
			return "", l.engine.failed("look at the container "+p.name, inspectErr)
		case there.Config == nil || there.Config.Labels[labelOwner] != l.owner || there.Config.Labels[labelAgent] != p.config.Labels[labelAgent]:
			return "", &runtime.Error{
				Code: runtime.CodeAlreadyExists, Message: "the engine has a container " + p.name + " that is not of this runtime",
				Hint: "look at it with docker inspect, and rename or remove it",
			}
		default:
			if err := l.engine.remove(ctx, there.ID); err != nil {
				return "", err
			}
		}
		if tried {
			return "", runtime.Errorf(runtime.CodeAlreadyExists, "the engine has a container %s already", p.name)
		}
	}
}

// remove ends and removes a container; one that is not there is no error. SOCKET_ERROR, INTERNAL.
func (e *engine) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := e.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	switch {
	case err == nil, cerrdefs.IsNotFound(err):
		return nil
	case cerrdefs.IsConflict(err) && strings.Contains(err.Error(), "already in progress"):
		return e.gone(ctx, id)
	}
	if failed := e.failed("remove a container", err); runtime.ErrorCode(failed) != runtime.CodeSpawnFailed {
		return failed
	}
	return runtime.Errorf(runtime.CodeInternal, "a container cannot be removed: %s", said(err))
}

// gone waits until a container that is being removed is not there any more.
func (e *engine) gone(ctx context.Context, id string) error {
	done, failed := e.ContainerWait(ctx, id, container.WaitConditionRemoved)
	select {
	case <-done:
		return nil
	case err := <-failed:
		if cerrdefs.IsNotFound(err) {
			return nil
		}
		return e.failed("wait for a container to be removed", err)
	}
}
