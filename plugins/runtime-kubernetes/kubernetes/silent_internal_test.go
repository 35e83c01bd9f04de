package kubernetes

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestWatchSilent begins a watch that stays open and tells nothing, as one through a proxy that lost its server: it ends all the same.
func TestWatchSilent(t *testing.T) {
	server := httptest.NewServer(&objects{})
	defer server.Close()
	seconds := int64(1)
	stream, err := watchLimited(t.Context(), clusterAt(t, server.URL), metav1.ListOptions{TimeoutSeconds: &seconds}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	for late := time.After(30 * time.Second); ; {
		select {
		case event, open := <-stream.ResultChan():
			if !open {
				return
			}
			if event.Type != watch.Error {
				t.Fatalf("it tells %+v", event)
			}
		case <-late:
			t.Fatal("it has no end")
		}
	}
}

// launcherAt returns a launcher for the cluster at an address, with its watch, which the caller closes.
func launcherAt(t *testing.T, url, config string) *Launcher {
	t.Helper()
	l := &Launcher{config: decoded(t, config), cluster: clusterAt(t, url), owner: "owner", version: "test", log: hclog.NewNullLogger()}
	l.watcher = watchPods(l.cluster, "x=y", func(*corev1.Pod) {})
	return l
}

// begun begins to create the pod of an agent, and returns where the API server has it, its text, and what receives the outcome.
func (l *Launcher) begun(ctx context.Context, t *testing.T, api *objects) (at string, pod []byte, made <-chan error) {
	t.Helper()
	plan, err := l.podOf(wish{spec: &runtime.Spec{ID: "agent", Type: "claude"}, image: "wardroom/claude"})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		_, err := l.create(ctx, "agent", plan)
		over <- err
	}()
	for pod == nil && ctx.Err() == nil {
		wait(ctx, nil, 10*time.Millisecond)
		at, pod = api.of("/pods/")
	}
	return at, pod, over
}

// TestStartUnwatched has a watch tell that a pod was made, and nothing more: the pod is seen to run.
func TestStartUnwatched(t *testing.T) {
	t.Parallel()
	api := &objects{all: map[string][]byte{}, told: make(chan []byte)}
	server := httptest.NewServer(api)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := launcherAt(t, server.URL, `{"startTimeout": "20s"}`)
	defer l.watcher.close()
	at, data, made := l.begun(ctx, t, api)
	select {
	case api.told <- data:
	case <-ctx.Done():
		t.Fatal("there is no watch")
	}
	for len(l.watcher.all()) == 0 && ctx.Err() == nil {
		wait(ctx, nil, 10*time.Millisecond)
	}
	var pod corev1.Pod
	if err := json.Unmarshal(data, &pod); err != nil {
		t.Fatal(err)
	}
	pod.ResourceVersion = "2"
	pod.Status = podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}).Status
	data, err := json.Marshal(&pod)
	if err != nil {
		t.Fatal(err)
	}
	api.mu.Lock()
	api.all[at] = data
	api.mu.Unlock()
	if err := <-made; err != nil {
		t.Errorf("it is not seen to run: %v", err)
	}
}

// TestStartWaits has a pod wait for a place, of which a watch has nothing more to tell: the API server is asked for it less and less
// often, since hundreds may wait, and what the rest of the agents need goes over the same client.
func TestStartWaits(t *testing.T) {
	t.Parallel()
	api := &objects{all: map[string][]byte{}, told: make(chan []byte)}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/pods/") {
			asked.Add(1)
		}
		api.ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := launcherAt(t, server.URL, `{"startTimeout": "14s"}`)
	defer l.watcher.close()
	_, data, made := l.begun(ctx, t, api)
	select {
	case api.told <- data:
	case <-ctx.Done():
		t.Fatal("there is no watch")
	}
	if err := <-made; runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("it ends with %v", err)
	}
	if n := asked.Load(); n > 2 {
		t.Errorf("the API server was asked %d times for a pod that waits", n)
	}
}
