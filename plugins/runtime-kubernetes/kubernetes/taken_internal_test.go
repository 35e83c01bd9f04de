package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// holderBinary builds the holder.
func holderBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "holder")
	build := exec.Command("go", "build", "-o", binary, "github.com/wardroom/wardroom/plugins/holder")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// held starts a holder on this machine, and connects to it as the life that a handle names. Both end with the test.
func held(ctx context.Context, t *testing.T, binary string, l *Launcher, h handle) (*holder.Holding, *process) {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	holding, err := holder.Start(ctx, binary, wire.Launch{
		Socket: socket, Nonce: h.Nonce, ExitFile: filepath.Join(dir, "exit"), Path: "/bin/sh", Args: []string{"-c", "exec sleep 60"}, Dir: dir, Cols: 80, Rows: 24,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = unix.Kill(holding.Command.PID, unix.SIGKILL), unix.Kill(holding.Holder.PID, unix.SIGKILL)
		holding.Reap(true)
	})
	p := &process{launcher: l, handle: h}
	p.Client, err = holder.Connect(ctx, holder.Options{Nonce: h.Nonce, Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return holding, p
}

// TestTakenAway ends the holder of an agent as a cluster does that takes its pod away: the agent is lost, with the cluster's reason,
// where nothing asked for its end.
func TestTakenAway(t *testing.T) {
	t.Parallel()
	binary, now := holderBinary(t), metav1.Now()
	for name, tt := range map[string]struct {
		mark func(*corev1.Pod) // nil: the pod is gone
		kill bool              // the runtime asks for the end
		want string
	}{
		"Evicted": {func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}
		}, false, "lost: Evicted: The node was low on resource: memory."},
		"Drained": {func(p *corev1.Pod) {
			p.DeletionTimestamp = &now
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
			}}
		}, false, "lost: EvictionByEvictionAPI: Eviction API: evicting"},
		"Deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = &now }, false, "lost: its pod was removed"},
		"Gone":    {nil, false, "lost: its pod was removed"},
		"Ended":   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, false, runtime.ReasonKilled},
		"Asked":   {func(p *corev1.Pod) { p.DeletionTimestamp = &now }, true, runtime.ReasonKilled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			api := new(silentNode)
			l := openOver(t, api, ``)
			h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, Pod: "a-pod", UID: "u1"}
			holding, p := held(ctx, t, binary, l, h)
			if tt.mark != nil {
				pod := podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
				pod.TypeMeta, pod.ObjectMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, metav1.ObjectMeta{Name: h.Pod, Namespace: "ns", UID: "u1", ResourceVersion: "1"}
				tt.mark(pod)
				api.pod.Store(pod)
			}
			var err error
			if tt.kill {
				err = p.Kill(ctx)
			} else {
				err = unix.Kill(holding.Holder.PID, unix.SIGTERM)
			}
			if err != nil {
				t.Fatal(err)
			}
			if exit, err := p.Wait(ctx); err != nil || exit.Reason != tt.want {
				t.Errorf("it ended with %+v, %v, want the reason %q", exit, err, tt.want)
			}
		})
	}
}

// TestGoneWithPod loses a holder without a word whose pod was removed, and which the API server has still, as ended: it is lost for that.
func TestGoneWithPod(t *testing.T) {
	now := metav1.Now()
	api := new(silentNode)
	l := openOver(t, api, ``)
	h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, Pod: "a-pod", UID: "u1"}
	pod := podIn(corev1.PodFailed, "", "", terminated("Error", ""))
	pod.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	pod.ObjectMeta = metav1.ObjectMeta{Name: h.Pod, Namespace: "ns", UID: "u1", ResourceVersion: "1", DeletionTimestamp: &now}
	api.pod.Store(pod)
	p := &process{launcher: l, handle: h}
	if exit, err := p.gone(t.Context()); err != nil || exit.Reason != runtime.ReasonLost+": its pod was removed" {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
	p.killed.Store(true)
	p.asked.Store(true)
	if exit, err := p.gone(t.Context()); err != nil || exit.Reason != runtime.ReasonKilled {
		t.Errorf("by this runtime it ended with %+v, %v", exit, err)
	}
}

// TestKillUnrecorded ends an agent that does not answer and whose record is damaged: its pod is removed, as it is this runtime's.
func TestKillUnrecorded(t *testing.T) {
	t.Parallel()
	binary := holderBinary(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	api := &silentNode{asked: cancel} // the API server keeps the pod, and it is waited for until then
	l := openOver(t, api, ``)
	h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, Pod: "a-pod", UID: "u1"}
	pod := podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	pod.TypeMeta, pod.ObjectMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, metav1.ObjectMeta{Name: h.Pod, Namespace: "ns", UID: "u1", ResourceVersion: "1"}
	api.pod.Store(pod)
	_, p := held(ctx, t, binary, l, h)
	if err := os.WriteFile(l.lifeFile("a"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.running["a"] = h.Nonce // as connect has it
	p.cut()
	if err := p.Kill(ctx); err == nil || !api.removed.Load() {
		t.Errorf("it has ended, %v; the removal of its pod was asked for: %t", err, api.removed.Load())
	}
}

// TestDiedOfEviction has a pod evicted before its command was started: the error holds the reason of the cluster beside how the
// container ended.
func TestDiedOfEviction(t *testing.T) {
	_, err := judge(podIn(corev1.PodFailed, "Evicted", "The node was low on resource: memory.", terminated("Error", "")))
	if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeResourceLimit || !strings.Contains(e.Message, "low on resource: memory") {
		t.Errorf("it died of %v", err)
	}
}

// TestTakenAmongMany has the cluster change many pods while it is waited for why one of them was ended, as in a drain: the API server
// is not asked with each change, and what the watch tells of the pod is enough.
func TestTakenAmongMany(t *testing.T) {
	api := &objects{all: map[string][]byte{}, told: make(chan []byte)}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r)
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pods/a-pod") {
			asked.Add(1)
		}
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pod := func(name, version, reason string) []byte {
		p := podIn(corev1.PodRunning, reason, "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
		p.ObjectMeta = metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID("uid of " + name), ResourceVersion: version}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	api.put("/api/v1/namespaces/ns/pods/a-pod", pod("a-pod", "1", ""))
	l := &Launcher{config: decoded(t, `{}`), cluster: clusterAt(t, server.URL), owner: "owner", version: "test"}
	l.watcher = watchPods(l.cluster, "x=y", func(*corev1.Pod) {})
	defer l.watcher.close()
	taken := make(chan string, 1)
	go func() { taken <- l.taken(ctx, handle{ID: "a", Pod: "a-pod", UID: "uid of a-pod"}) }()
	tell := func(data []byte) {
		changed := l.watcher.change()
		select {
		case api.told <- data:
		case <-ctx.Done():
			t.Fatal("there is no watch")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("the watch does not tell")
		}
	}
	for asked.Load() == 0 && ctx.Err() == nil {
		wait(ctx, nil, 10*time.Millisecond)
	}
	began, before := time.Now(), asked.Load()
	for i := range 50 {
		tell(pod(fmt.Sprint("other-", i), fmt.Sprint(2+i), ""))
		wait(ctx, nil, 10*time.Millisecond) // for all that wait to be woken
	}
	if n := asked.Load() - before; time.Since(began) < 5*time.Second && n > 3 {
		t.Errorf("the API server was asked %d times", n)
	}
	tell(pod("a-pod", "100", "Evicted"))
	if why := <-taken; why != "Evicted" {
		t.Errorf("it was taken away because of %q", why)
	}
}
