package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestDamagedRecord opens the runtime beside a damaged record of an agent whose pod runs: the pod is not taken for gone, and goes
// before another is made in its place, and with the agent.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"Empty": "", "Cut": `{"handle":{"v":1`, "Null": "null", "AnotherAgent": `{"handle":{"v":1,"id":"b"}}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := new(silentNode)
			l := openOver(t, api, `, "image": "wardroom/claude", "startTimeout": "1s"`)
			if err := os.WriteFile(l.lifeFile("a"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			api.pod.Store(&corev1.Pod{
				TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
				ObjectMeta: metav1.ObjectMeta{
					Name: "a-pod", Namespace: "ns", UID: "u1", ResourceVersion: "1",
					Labels: map[string]string{labelOwner: l.owner}, Annotations: map[string]string{annotationAgent: "a"},
				},
				Status: corev1.PodStatus{Phase: corev1.PodRunning},
			})
			if _, err := l.Latest(t.Context(), "a", time.Time{}); err == nil || errors.Is(err, agentcli.ErrGone) {
				t.Errorf("its latest life: %v", err)
			}
			_, _ = l.Prepare(t.Context(), &runtime.Spec{ID: "a", Type: "claude"}) // the API makes no pods
			if !api.removed.Swap(false) {
				t.Error("another pod was made while the former one runs")
			}
			if err := os.WriteFile(l.lifeFile("a"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := l.Remove(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if !api.removed.Load() {
				t.Error("the agent was removed, and its pod forgotten")
			}
			if _, err := os.Stat(l.lifeFile("a")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("its record: %v", err)
			}
		})
	}
}

// TestClearBehindPod removes an agent whose home outlives pods, while its pod takes time to end: the home is cleared when nothing
// writes there any more.
func TestClearBehindPod(t *testing.T) {
	t.Parallel()
	for name, damaged := range map[string]bool{"Damaged": true, "Known": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const at = "/api/v1/namespaces/ns/pods/a-pod"
			api := &objects{all: map[string][]byte{}}
			l := openOver(t, api, `, "image": "wardroom/claude", "homeClaim": "homes"`)
			pod := podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
			pod.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
			pod.ObjectMeta = metav1.ObjectMeta{
				Name: "a-pod", Namespace: "ns", UID: "u1", ResourceVersion: "1",
				Labels: map[string]string{labelOwner: l.owner}, Annotations: map[string]string{annotationAgent: "a"},
			}
			pod.Spec.Containers = []corev1.Container{{Name: containerName, Image: "wardroom/claude"}}
			data, err := json.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			api.put(at, data)
			if damaged {
				err = os.WriteFile(l.lifeFile("a"), nil, 0o600)
			} else {
				h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, Pod: "a-pod", UID: "u1"}
				err = l.save(record{Handle: h, Image: "wardroom/claude", Launched: true, Over: true})
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := l.Remove(ctx, "a"); err == nil {
				t.Error("it is removed while its pod ends")
			}
			clearing := func() (string, []byte) { return api.of("/pods/wardroom-a-") }
			if name, _ := clearing(); name != "" {
				t.Fatalf("its home is cleared by %s while its pod ends", name)
			}

			api.put(at, nil)
			ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			removed := make(chan error, 1)
			go func() { removed <- l.Remove(ctx, "a") }()
			var clears string
			for clears == "" && ctx.Err() == nil {
				wait(ctx, nil, 10*time.Millisecond)
				clears, data = clearing()
			}
			if err := json.Unmarshal(data, pod); err != nil {
				t.Fatal(err)
			}
			pod.Status.Phase = corev1.PodSucceeded
			if data, err = json.Marshal(pod); err != nil {
				t.Fatal(err)
			}
			api.put(clears, data)
			if err := <-removed; err != nil {
				t.Error(err)
			}
		})
	}
}
