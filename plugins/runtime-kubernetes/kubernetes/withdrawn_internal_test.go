package kubernetes

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestStartOfWithdrawn has a pod removed before its container runs, and its node not let go of it, as one does whose registry does not
// answer: the start fails at once, and not with the time that it has.
func TestStartOfWithdrawn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		conditions []corev1.PodCondition
		code       runtime.Code
		words      string
	}{
		"Evicted": {[]corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}}, runtime.CodeResourceLimit, "EvictionByEvictionAPI"},
		"Deleted": {nil, runtime.CodeSpawnFailed, "was removed before it ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &objects{all: map[string][]byte{}, told: make(chan []byte)}
			server := httptest.NewServer(api)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			l := launcherAt(t, server.URL, `{"startTimeout": "10s"}`)
			defer l.watcher.close()
			at, data, made := l.begun(ctx, t, api)
			var pod corev1.Pod
			if err := json.Unmarshal(data, &pod); err != nil {
				t.Fatal(err)
			}
			now := metav1.Now()
			pod.ResourceVersion, pod.DeletionTimestamp = "2", &now
			pod.Status = podIn(corev1.PodPending, "", "", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}).Status
			pod.Status.Conditions = tt.conditions
			data, err := json.Marshal(&pod)
			if err != nil {
				t.Fatal(err)
			}
			api.put(at, data)
			api.told <- data
			if err := <-made; runtime.ErrorCode(err) != tt.code || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
