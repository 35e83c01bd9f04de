package kubernetes

import (
	"errors"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestDamagedRecord opens the runtime beside a damaged record of an agent whose pod runs: the pod is not taken for gone, and goes
// before another is made in its place, and with the agent.
func TestDamagedRecord(t *testing.T) {
	for name, text := range map[string]string{"Empty": "", "Cut": `{"handle":{"v":1`, "Null": "null", "AnotherAgent": `{"handle":{"v":1,"id":"b"}}`} {
		t.Run(name, func(t *testing.T) {
			api := new(silentNode)
			server := httptest.NewServer(api)
			defer server.Close()
			dir := t.TempDir()
			path := kubeconfigOf(t, dir, server.URL)
			config, err := decode([]byte(`{"kubeconfig": "`+path+`", "image": "wardroom/claude", "startTimeout": "1s"}`), dir)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Open(Options{Config: config, Version: "test"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
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
