package kubernetes

import (
	"context"
	"crypto/rand"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// homes is the folder of a claim that has a folder for each agent.
const homes = "agents"

// claimDir is where a pod that clears a home has the claim.
const claimDir = "/claim"

// clearHome removes the folder that an agent has in the claim for homes, by a pod of its own: nothing else can reach it. UNAVAILABLE,
// and the errors of cluster.failed.
func (l *Launcher) clearHome(ctx context.Context, v record) error {
	if l.config.HomeClaim == "" {
		return nil
	}
	id := v.Handle.ID
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
	ctx, cancel := context.WithTimeout(ctx, duration(l.config.StartTimeout, defaultStart))
	defer cancel()
	made, err := l.cluster.pods().Create(ctx, pod, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil {
		return l.cluster.failed("clear the home of agent "+id, err)
	}
	defer l.discard(ctx, made)
	for ctx.Err() == nil {
		l.watcher.next(ctx, time.Second)
		now, err := l.cluster.get(ctx, made.Name)
		switch {
		case err != nil:
			return err
		case now != nil && now.Status.Phase == corev1.PodSucceeded:
			return nil
		case now == nil || now.Status.Phase == corev1.PodFailed:
			return runtime.Errorf(runtime.CodeInternal, "the home of agent %s is not cleared: its pod failed", id)
		}
	}
	return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the home of agent " + id + " is not cleared in time", Retry: true}
}
