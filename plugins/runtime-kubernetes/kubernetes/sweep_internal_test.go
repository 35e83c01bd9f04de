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
	l := &Launcher{dir: t.TempDir()}
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
