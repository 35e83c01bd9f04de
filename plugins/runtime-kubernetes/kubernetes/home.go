package kubernetes

import (
	"context"
	"crypto/rand"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// homes is the folder of a claim that has a folder for each agent.
const homes = "agents"

// RoomsEnd implements agentcli.RoomEnder: without a claim for homes they end with their pod.
func (l *Launcher) RoomsEnd() bool { return l.config.HomeClaim == "" }

// Room implements agentcli.Archive: the pod that an agent has, as long as that is kept, and then its folder of the claim for homes.
// UNAVAILABLE, and the errors of cluster.failed.
func (l *Launcher) Room(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	v, err := l.load(spec.ID)
	if err != nil || v.Handle.Owner != l.owner {
		return agentcli.Room{}, agentcli.ErrGone
	}
	room := l.describe(spec, agentcli.Git{})
	pod, err := l.cluster.get(ctx, v.Handle.Pod)
	if err != nil {
		return agentcli.Room{}, err
	}
	if pod != nil && string(pod.UID) == v.Handle.UID {
		if ready, _ := judge(pod); ready {
			return room, nil
		}
	}
	if l.config.HomeClaim == "" {
		return agentcli.Room{}, agentcli.ErrGone
	}
	room.ReadFrom = nil // a pod for each part would be too many
	room.ReadFile = func(file string) ([]byte, error) {
		if err := insideOf(room, file); err != nil {
			return nil, err
		}
		return l.readHome(ctx, v, file)
	}
	return room, nil
}

// readHome reads a file in the folder that an agent has in the claim for homes, by a pod of its own. ALREADY_EXISTS while the agent
// is being started or removed, and the errors of create and of holder.Room.
func (l *Launcher) readHome(ctx context.Context, v record, file string) ([]byte, error) {
	release, err := l.claims.Claim(v.Handle.ID) // the sweeper removes no pod of it meanwhile
	if err != nil {
		return nil, err
	}
	defer release()
	plan, err := l.readerPod(v)
	if err != nil {
		return nil, err
	}
	pod, err := l.create(ctx, v.Handle.ID, plan)
	if err != nil {
		return nil, err
	}
	defer l.discard(ctx, pod)
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return l.room(pod.Name).ReadFile(ctx, file)
}

// readerPod plans a pod that has what an agent kept in the claim for homes, to read.
func (l *Launcher) readerPod(v record) (*corev1.Pod, error) {
	plan, err := l.podOf(wish{spec: &runtime.Spec{ID: v.Handle.ID, Type: "none"}, image: v.Image, readOnly: true})
	if err != nil {
		return nil, err
	}
	one := &plan.Spec.Containers[0]
	one.Env, one.EnvFrom = nil, nil
	for i := range one.VolumeMounts {
		one.VolumeMounts[i].ReadOnly = one.VolumeMounts[i].ReadOnly || one.VolumeMounts[i].MountPath == l.config.HomeDir
	}
	return plan, nil
}

// claimDir is where a pod that clears a home has the claim.
const claimDir = "/claim"

// clearHome removes the folder that an agent has in the claim for homes, by a pod of its own: nothing else can reach it. Its pods, which
// may still write there, have to have ended. UNAVAILABLE, and the errors of cluster.failed.
func (l *Launcher) clearHome(ctx context.Context, v record) error {
	if l.config.HomeClaim == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, duration(l.config.StartTimeout, defaultStart))
	defer cancel()
	id := v.Handle.ID
	for {
		pods, err := l.podsOf(ctx, id)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !spent(&pod) }) {
			break
		}
		if ctx.Err() != nil {
			return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the home of agent " + id + " is not cleared: a pod that may write there has not ended", Retry: true}
		}
		l.watcher.next(ctx, time.Second)
	}
	pod, err := l.podOf(wish{spec: &runtime.Spec{ID: id, Type: "none"}, image: v.Image})
	if err != nil {
		return err
	}
	pod.Name = podName(id, rand.Text())
	pod.Spec.Volumes = []corev1.Volume{{Name: "home", VolumeSource: claimed(l.config.HomeClaim)}}
	one := &pod.Spec.Containers[0]
	one.Command = []string{l.config.Holder, "clear", path.Join(claimDir, homes, id)}
	one.Env, one.EnvFrom = nil, nil
	one.VolumeMounts = []corev1.VolumeMount{{Name: "home", MountPath: claimDir}}
	if err := l.furnish(ctx); err != nil {
		return err
	}
	pod.OwnerReferences = l.ownerReference()
	made, err := l.post(ctx, "clear the home of agent "+id, pod)
	if err != nil {
		return err
	}
	defer l.discard(ctx, made)
	for ctx.Err() == nil {
		l.watcher.next(ctx, time.Second)
		now, err := l.cluster.get(ctx, made.Name)
		switch {
		case err != nil:
			return err
		case now == nil, now.Status.Phase == corev1.PodFailed:
			return runtime.Errorf(runtime.CodeInternal, "the home of agent %s is not cleared: its pod failed", id)
		case now.Status.Phase == corev1.PodSucceeded:
			return nil
		case !spent(now): // nor has it been seen to fail
		case containerEnd(now).ExitCode == 0:
			return nil
		default:
			return runtime.Errorf(runtime.CodeInternal, "the home of agent %s is not cleared: its pod failed", id)
		}
	}
	return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the home of agent " + id + " is not cleared in time", Retry: true}
}
