package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestFailed(t *testing.T) {
	k := &cluster{namespace: "ns"}
	pods := apischema.GroupResource{Resource: "pods"}
	rbac := errors.New(`User "system:serviceaccount:ns:wardroom" cannot create resource "pods/exec" in API group "" in the namespace "ns"`)
	terminating := apierrors.NewForbidden(pods, "p", errors.New("unable to create new content in namespace ns because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Field: "metadata.namespace"}}
	forbidden := func(text string) error { return apierrors.NewForbidden(pods, "p", errors.New(text)) }
	for _, tt := range []struct {
		err   error
		code  runtime.Code
		words string
	}{
		{apierrors.NewForbidden(pods, "p", rbac), runtime.CodeSpawnFailed, "lacks the verb create on pods/exec in the namespace ns"},
		{apierrors.NewForbidden(pods, "p", errors.New("exceeded quota: little, requested: pods=1")), runtime.CodeResourceLimit, "quota"},
		{apierrors.NewForbidden(pods, "p", errors.New(`violates PodSecurity "restricted"`)), runtime.CodeSpawnFailed, "admission"},
		{apierrors.NewUnauthorized("no"), runtime.CodeUnavailable, "kubeconfig"},
		{apierrors.NewBadRequest("no"), runtime.CodeSpawnFailed, "no"},
		{apierrors.NewInternalError(errors.New("etcd")), runtime.CodeUnavailable, "etcd"},
		{apierrors.NewInternalError(errors.New("error dialing backend: dial tcp 10.0.0.7:10250: i/o timeout")), runtime.CodeUnavailable, "kubectl get nodes"},
		{apierrors.NewTooManyRequests("slow down", 1), runtime.CodeUnavailable, "slow down"},
		{apierrors.NewInternalError(errors.New(`failed calling webhook "w": context deadline exceeded`)), runtime.CodeUnavailable, "an admission webhook of the cluster fails"},
		{terminating, runtime.CodeSpawnFailed, "the namespace ns is being deleted"},
		{apierrors.NewNotFound(apischema.GroupResource{Resource: "namespaces"}, "ns"), runtime.CodeSpawnFailed, "the cluster has no namespace ns"},
		{forbidden("status unknown for quota: little, resources: pods"), runtime.CodeResourceLimit, "quota"},
		{forbidden("insufficient quota to match these scopes: [{PriorityClass In [high]}]"), runtime.CodeResourceLimit, "quota"},
		{forbidden("failed quota: little: must specify limits.memory for: proxy"), runtime.CodeSpawnFailed, "LimitRange with a default"},
		{forbidden("[maximum memory usage per Container is 64Mi, but limit is 96Mi]"), runtime.CodeResourceLimit, "kubectl -n ns get limitranges"},
		{forbidden("minimum cpu usage per Pod is 1, but request is 10m"), runtime.CodeResourceLimit, "kubectl -n ns get limitranges"},
		{forbidden("cpu max limit to request ratio per Container is 2, but provided ratio is 50.000000"), runtime.CodeResourceLimit, "kubectl -n ns get limitranges"},
		{context.DeadlineExceeded, runtime.CodeUnavailable, "does not answer"},
		{context.Canceled, runtime.CodeCanceled, "cancelled"},
		{fmt.Errorf("get: %w", runtime.NotFound("x")), runtime.CodeNotFound, "x"},
		{errors.New("dial tcp: connection refused"), runtime.CodeUnavailable, "refused"},
	} {
		err := k.failed("make a pod", tt.err)
		if e := runtime.AsError(err); runtime.ErrorCode(err) != tt.code || !strings.Contains(e.Message+" "+e.Hint, tt.words) {
			t.Errorf("%v is %v (%s), want %s with %q", tt.err, err, e.Hint, tt.code, tt.words)
		}
	}
}

// podIn makes a pod whose container is in a state.
func podIn(phase corev1.PodPhase, reason, message string, state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: phase, Reason: reason, Message: message, ContainerStatuses: []corev1.ContainerStatus{
		{Name: containerName, Image: "i:1", State: state},
	}}}
}

func waiting(reason string) corev1.ContainerState { return waitingFor(reason, "why") }

func waitingFor(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func terminated(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, Message: message, ExitCode: 137}}
}

func TestJudge(t *testing.T) {
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		ready bool
		code  runtime.Code
	}{
		"Running":  {podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), true, ""},
		"Creating": {podIn(corev1.PodPending, "", "", waiting("ContainerCreating")), false, ""},
		"Pulling":  {podIn(corev1.PodPending, "", "", waiting("ErrImagePull")), false, ""},
		"BackOff":  {podIn(corev1.PodPending, "", "", waiting("ImagePullBackOff")), false, runtime.CodeImageNotFound},
		"Away": {podIn(corev1.PodPending, "", "", waitingFor("ImagePullBackOff", `Back-off pulling image "r/i:1": ErrImagePull: failed to pull and unpack image "r/i:1": `+
			`failed to resolve reference "r/i:1": failed to do request: Head "https://r/v2/i/manifests/1": dial tcp 10.0.0.7:443: connect: connection refused`)), false, runtime.CodeNetworkError},
		"Unreached": {podIn(corev1.PodPending, "", "", waitingFor("ImagePullBackOff", `Back-off pulling image "r/i:1": RegistryUnavailable: the registry does not help`)), false, runtime.CodeNetworkError},
		"Missing": {podIn(corev1.PodPending, "", "", waitingFor("ImagePullBackOff", `Back-off pulling image "r/i:1": ErrImagePull: rpc error: code = NotFound desc = `+
			`failed to resolve reference "r/i:1": r/i:1: not found`)), false, runtime.CodeImageNotFound},
		"DiskFull": {podIn(corev1.PodPending, "", "", waitingFor("ImagePullBackOff", `Back-off pulling image "r/i:1": ErrImagePull: failed to pull and unpack image "r/i:1": `+
			`failed to extract layer: write /var/lib/x: no space left on device: unknown`)), false, runtime.CodeResourceLimit},
		"Never":   {podIn(corev1.PodPending, "", "", waiting("ErrImageNeverPull")), false, runtime.CodeImageNotFound},
		"Secret":  {podIn(corev1.PodPending, "", "", waiting("CreateContainerConfigError")), false, runtime.CodeSpawnFailed},
		"Memory":  {podIn(corev1.PodFailed, "", "", terminated("OOMKilled", "")), false, runtime.CodeResourceLimit},
		"Cache":   {podIn(corev1.PodPending, "", "", waitingFor("CreateContainerConfigError", "failed to sync secret cache: timed out waiting for the condition")), false, ""},
		"Slow":    {podIn(corev1.PodPending, "", "", waitingFor("CreateContainerError", "context deadline exceeded")), false, ""},
		"Holder":  {podIn(corev1.PodFailed, "", "", terminated("StartError", "no such file")), false, runtime.CodeSpawnFailed},
		"Evicted": {&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}}, false, runtime.CodeResourceLimit},
	} {
		ready, err := judge(tt.pod)
		if ready != tt.ready || runtime.ErrorCode(err) != tt.code {
			t.Errorf("%s: %t, %v", name, ready, err)
		}
	}
}

// TestLatePull has the time of a start end while its image is being pulled from a registry that is away: it may be tried again.
func TestLatePull(t *testing.T) {
	for _, w := range []corev1.ContainerState{
		waitingFor("ErrImagePull", "failed to do request: dial tcp: lookup r: no such host"), waitingFor("RegistryUnavailable", "it does not help"),
	} {
		if e := runtime.AsError(late(podIn(corev1.PodPending, "", "", w))); e.Code != runtime.CodeNetworkError || !e.Retry {
			t.Errorf("%+v: %v", w.Waiting, e)
		}
	}
}

func TestLastExit(t *testing.T) {
	h := handle{ID: "a", Nonce: holder.NewNonce()}
	word := string(wire.FormatExitFile(wire.Exited{Nonce: h.Nonce, Code: 7, At: time.Unix(1, 0)}))
	killed := string(wire.FormatExitFile(wire.Exited{Nonce: h.Nonce, Code: 143, Killed: true, At: time.Unix(1, 0)}))
	other := string(wire.FormatExitFile(wire.Exited{Nonce: holder.NewNonce(), Code: 7}))
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want runtime.Exit
		gone bool
	}{
		"Word":        {podIn(corev1.PodSucceeded, "", "", terminated("Completed", word)), runtime.Exit{Code: 7}, false},
		"Other":       {podIn(corev1.PodSucceeded, "", "", terminated("Completed", other)), runtime.Exit{}, true},
		"Memory":      {podIn(corev1.PodFailed, "", "", terminated("OOMKilled", "")), runtime.Exit{Code: 137, Reason: runtime.ReasonOutOfMemory}, false},
		"Evicted":     {podIn(corev1.PodFailed, "Evicted", "low on memory", terminated("Error", "")), runtime.Exit{Code: 137, Reason: "lost: Evicted: low on memory"}, false},
		"EvictedWord": {podIn(corev1.PodFailed, "Evicted", "low on memory", terminated("Error", killed)), runtime.Exit{Code: 143, Reason: "lost: Evicted: low on memory"}, false},
		"EndedBefore": {podIn(corev1.PodFailed, "Evicted", "low on memory", terminated("Error", word)), runtime.Exit{Code: 7}, false},
		"Nothing":     {podIn(corev1.PodFailed, "", "", terminated("Error", "")), runtime.Exit{}, true},
	} {
		got, err := lastExit(tt.pod, h)
		if got != tt.want || errors.Is(err, agentcli.ErrGone) != tt.gone {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// api is a server of pods whose history can be cut.
type api struct {
	mu      sync.Mutex // guards what follows
	pods    map[string]*corev1.Pod
	version int
	lists   int
	watches chan chan any // what is sent to each watch, in order
}

func (a *api) set(name string, phase corev1.PodPhase) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	if phase == "" {
		delete(a.pods, name)
		return
	}
	a.pods[name] = &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", ResourceVersion: fmt.Sprint(a.version)}, Status: corev1.PodStatus{Phase: phase},
	}
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if _, name, one := strings.Cut(r.URL.Path, "/pods/"); one {
		a.mu.Lock()
		pod := a.pods[name].DeepCopy()
		a.mu.Unlock()
		if pod == nil {
			w.WriteHeader(http.StatusNotFound)
			status := apierrors.NewNotFound(corev1.Resource("pods"), name).Status()
			status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"} // by which clients know it for the API server's
			_ = json.NewEncoder(w).Encode(status)
			return
		}
		_ = json.NewEncoder(w).Encode(pod)
		return
	}
	if r.URL.Query().Get("watch") == "" {
		a.mu.Lock()
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(a.version)}}
		for _, pod := range a.pods {
			list.Items = append(list.Items, *pod)
		}
		a.lists++
		a.mu.Unlock()
		_ = json.NewEncoder(w).Encode(list)
		return
	}
	w.(http.Flusher).Flush()
	events := make(chan any)
	select {
	case a.watches <- events:
	case <-r.Context().Done():
		return
	}
	for {
		select {
		case e, open := <-events:
			if !open {
				return
			}
			_ = json.NewEncoder(w).Encode(e)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// open returns the API as a cluster.
func (a *api) open(t testing.TB) *cluster {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return clusterAt(t, server.URL)
}

// clusterAt returns the cluster whose API is at a URL.
func clusterAt(t testing.TB, url string) *cluster {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": "` + url + `"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "ns"}}], "current-context": "c"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := openCluster(&Config{Kubeconfig: path}, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.close)
	return k
}

// TestWatchExpires has the server end a watch with 410 Gone: what happened meanwhile is seen by the list that follows, the
// removal of a pod as well.
func TestWatchExpires(t *testing.T) {
	t.Parallel()
	a := &api{pods: map[string]*corev1.Pod{}, version: 1, watches: make(chan chan any, 8)}
	k := a.open(t)
	a.set("stays", corev1.PodRunning)
	a.set("goes", corev1.PodRunning)
	ended := make(chan string, 8)
	w := watchPods(k, "x=y", func(pod *corev1.Pod) { ended <- pod.Name })
	defer w.close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	next := func() chan any {
		select {
		case one := <-a.watches:
			return one
		case <-ctx.Done():
			t.Fatal("no watch")
			return nil
		}
	}
	first := next()
	// While nobody is told, one goes and one ends; then the history is gone.
	a.set("goes", "")
	a.set("stays", corev1.PodSucceeded)
	a.set("new", corev1.PodRunning)
	select {
	case first <- map[string]any{"type": "ERROR", "object": metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
	}}:
	case <-ctx.Done():
		t.Fatal("the watch takes nothing")
	}
	seen := map[string]bool{}
	for len(seen) < 2 {
		select {
		case name := <-ended:
			seen[name] = true
		case <-ctx.Done():
			t.Fatalf("only %v ended", seen)
		}
	}
	for len(w.all()) != 2 {
		w.next(ctx, 10*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatalf("%d pods are known", len(w.all()))
		}
	}
	if !seen["goes"] || !seen["stays"] {
		t.Errorf("%v ended", seen)
	}
}

// TestManyPods follows 1,000 pods, as a large installation has them: what is kept of them is small.
func TestManyPods(t *testing.T) {
	const count, most = 1000, 60 << 20
	a := &api{pods: map[string]*corev1.Pod{}, version: 1, watches: make(chan chan any, 8)}
	l := &Launcher{config: decoded(t, `{}`), owner: "owner", version: "test"}
	plan, err := l.podOf(wish{spec: &runtime.Spec{ID: "agent", Type: "claude"}, image: "wardroom/claude"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		pod := plan.DeepCopy()
		pod.Name, pod.Namespace, pod.Status.Phase = fmt.Sprintf("pod-%d", i), "ns", corev1.PodRunning
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:x":"` + strings.Repeat("x", 4<<10) + `"}`)}}}
		a.pods[pod.Name] = pod
	}
	k := a.open(t)
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	w := watchPods(k, "x=y", func(*corev1.Pod) {})
	defer w.close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for len(w.all()) != count {
		w.next(ctx, 10*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatalf("%d pods are known", len(w.all()))
		}
	}
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d pods take %d KiB", count, used>>10)
	if used > most {
		t.Errorf("%d pods take %d bytes, want at most %d", count, used, most)
	}
}
