package kubernetes

import (
	"errors"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLeftoverUnreadable has the disk of the state directory give errors: a pod whose record cannot be read may be an agent's, and
// stays.
func TestLeftoverUnreadable(t *testing.T) {
	l := &Launcher{dir: t.TempDir(), watcher: new(watcher)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", UID: "1", Annotations: map[string]string{annotationAgent: "agent-1"}, CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour)),
	}}
	if !l.leftover(pod, time.Minute) {
		t.Error("a pod without a record stays")
	}
	record := l.lifeFile("agent-1")
	if err := os.Mkdir(record, 0o700); err != nil { // a read of it is EISDIR
		t.Fatal(err)
	}
	if l.leftover(pod, time.Minute) {
		t.Error("a pod is removed whose record cannot be read")
	}
	if err := errors.Join(os.Remove(record), os.WriteFile(record, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if l.leftover(pod, time.Minute) {
		t.Error("a pod is removed whose record is damaged")
	}
}

// TestLeftoverSidecar has the container of a pod end beside one that an admission webhook has put there, which runs on: the pod is of no
// use once the end of its agent is known, as others are.
func TestLeftoverSidecar(t *testing.T) {
	l := &Launcher{dir: t.TempDir()}
	pod := podIn(corev1.PodRunning, "", "", terminated("Completed", ""))
	pod.ObjectMeta = metav1.ObjectMeta{Name: "p", UID: "u1", Annotations: map[string]string{annotationAgent: "agent-1"}, CreationTimestamp: metav1.Now()}
	pod.Status.ContainerStatuses = append([]corev1.ContainerStatus{{
		Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}, pod.Status.ContainerStatuses...)
	for _, known := range []bool{false, true} {
		if err := l.save(record{Handle: handle{Version: handleVersion, ID: "agent-1", UID: "u1"}, Launched: true, Over: known}); err != nil {
			t.Fatal(err)
		}
		if l.leftover(pod, time.Hour) != known {
			t.Errorf("with the end known: %t, it is of use: %t", known, known)
		}
	}
}

// TestLeftoverOfFastClock has the clock of the API server be hours ahead: a pod that no agent has is removed after the grace all the same,
// and not before.
func TestLeftoverOfFastClock(t *testing.T) {
	w := &watcher{changed: make(chan struct{}), ended: func(*corev1.Pod) {}}
	l := &Launcher{dir: t.TempDir(), watcher: w}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", UID: "1", Annotations: map[string]string{annotationAgent: "agent-1"}, CreationTimestamp: metav1.NewTime(time.Now().Add(5 * time.Hour)),
	}}
	w.see(nil, pod, false)
	if l.leftover(pod, time.Hour) {
		t.Error("it is removed before the grace is over")
	}
	if !l.leftover(pod, 0) {
		t.Error("it stays after the grace")
	}
	w.see(nil, pod, true)
	if len(w.seen) > 0 {
		t.Errorf("of pods that are gone there is left %v", w.seen)
	}
}
