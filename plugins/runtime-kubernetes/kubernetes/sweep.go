package kubernetes

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
)

// sweepTime is how often leftovers are looked for, unless they may be younger than that.
const sweepTime = time.Minute

// sweep removes, until ctx ends, pods of this state directory that no agent has, once they are older than grace, those
// that ended and whose end is known, and those of starts that failed. The network policy of those that run is written again, in case it was removed. While the
// cluster is away nothing happens.
func (l *Launcher) sweep(ctx context.Context, grace time.Duration) {
	ticker := time.NewTicker(min(sweepTime, max(grace/2, 100*time.Millisecond)))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.sweepOnce(ctx, grace)
		case <-ctx.Done():
			return
		}
	}
}

func (l *Launcher) sweepOnce(ctx context.Context, grace time.Duration) {
	pods := l.watcher.all()
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !over(pod) }) {
		if err := l.guard(ctx); err != nil && ctx.Err() == nil {
			l.log.Debug("the network policy of agents cannot be written at the moment", "error", err)
		}
	}
	for _, pod := range pods {
		if ctx.Err() != nil || pod.DeletionTimestamp != nil || !l.leftover(pod, grace) {
			continue
		}
		l.log.Info("removing a pod that no agent has", "pod", pod.Name, "phase", pod.Status.Phase)
		if err := l.cluster.remove(ctx, pod.Name, string(pod.UID)); err != nil {
			l.log.Warn("a pod that no agent has cannot be removed", "pod", pod.Name, "error", err)
		}
	}
}

// leftover reports whether a pod of this state directory is of no use any more. One whose life is recorded and not known to
// be over is somebody's, who will ask for it.
func (l *Launcher) leftover(pod *corev1.Pod, grace time.Duration) bool {
	id := pod.Annotations[annotationAgent]
	v, known, err := l.recorded(pod)
	if err != nil { // whose it is cannot be known now
		return false
	}
	if known {
		return v.Unwanted || spent(pod) && (v.Over || !v.Launched)
	}
	return !l.claims.Held(id) && l.watcher.age(pod) >= grace
}

// recorded returns what is stored of the agent that has a pod. An error is that of a record which is there and cannot be read.
func (l *Launcher) recorded(pod *corev1.Pod) (v record, known bool, err error) {
	id := pod.Annotations[annotationAgent]
	if local.CheckID(id) != nil {
		return v, false, nil
	}
	if v, err = l.load(id); errors.Is(err, fs.ErrNotExist) {
		return v, false, nil
	}
	return v, err == nil && v.Handle.UID == string(pod.UID), err
}

// podsOf returns all pods of this state directory that an agent has. The errors are those of cluster.failed.
func (l *Launcher) podsOf(ctx context.Context, id string) ([]corev1.Pod, error) {
	pods, err := l.cluster.list(ctx, labelOwner+"="+l.owner)
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Annotations[annotationAgent] != id }), err
}

// removePods removes all pods of an agent, where its record does not say which those are, and returns them. The errors are those of
// cluster.failed.
func (l *Launcher) removePods(ctx context.Context, id string) ([]corev1.Pod, error) {
	pods, err := l.podsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if err := l.cluster.remove(ctx, pods[i].Name, string(pods[i].UID)); err != nil {
			return nil, err
		}
	}
	return pods, nil
}
