package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// silentNode is an API server with at most one pod, on a node that does not answer it.
type silentNode struct {
	pod     atomic.Pointer[corev1.Pod]
	removed atomic.Bool // somebody asked for the removal of the pod
	asked   func()      // is called when that is so; nil: nothing is
}

func (s *silentNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	refuse := func(code int, reason metav1.StatusReason, message string) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		})
	}
	pod := s.pod.Load()
	switch {
	case r.Method == http.MethodDelete:
		s.removed.Store(true)
		if s.asked != nil {
			s.asked()
		}
		refuse(http.StatusConflict, metav1.StatusReasonConflict, "not now")
	case strings.HasSuffix(r.URL.Path, "/exec"):
		refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "error dialing backend: dial tcp 10.0.0.7:10250: i/o timeout")
	case r.URL.Query().Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/pods"):
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		if pod != nil {
			list.Items = append(list.Items, *pod)
		}
		_ = json.NewEncoder(w).Encode(list)
	case pod == nil:
		refuse(http.StatusNotFound, metav1.StatusReasonNotFound, "there is no such pod")
	default:
		_ = json.NewEncoder(w).Encode(pod)
	}
}

// TestNodeSilent looks for an agent on a node that was cut off without a word: it may run, whatever the cluster guesses of its
// pod, until that ended or is gone; and its removal is not asked for.
func TestNodeSilent(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, tt := range map[string]struct {
		phase corev1.PodPhase
		mark  func(*corev1.Pod)
		code  runtime.Code // of what comes of it; none: the agent is gone, or has ended
		gone  bool
	}{
		"NotYetNoticed": {corev1.PodRunning, func(*corev1.Pod) {}, runtime.CodeUnavailable, false},
		"NotReady": {corev1.PodRunning, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NodeNotReady"}}
		}, runtime.CodeUnavailable, false},
		"Unknown":       {corev1.PodUnknown, func(p *corev1.Pod) { p.Status.Reason = "NodeLost" }, runtime.CodeUnavailable, false},
		"TaintedAway":   {corev1.PodRunning, func(p *corev1.Pod) { p.DeletionTimestamp = &now }, runtime.CodeUnavailable, false},
		"FoundToBeLost": {corev1.PodFailed, func(p *corev1.Pod) { p.Status.Reason = "Terminated" }, "", false},
		"BesideOthers":  {corev1.PodRunning, func(p *corev1.Pod) { p.Status = podIn(corev1.PodRunning, "", "", terminated("Error", "")).Status }, "", true},
		"Collected":     {"", func(*corev1.Pod) {}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			api := new(silentNode)
			l := openOver(t, api, ``)
			h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, Pod: "a-pod", UID: "u1", StartedAt: time.Now()}
			if err := l.save(record{Handle: h, Launched: true}); err != nil {
				t.Fatal(err)
			}
			if tt.phase != "" {
				pod := &corev1.Pod{
					TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: h.Pod, Namespace: "ns", UID: "u1", ResourceVersion: "1"},
					Status: corev1.PodStatus{Phase: tt.phase},
				}
				tt.mark(pod)
				api.pod.Store(pod)
			}
			p, err := l.Find(ctx, h.encode())
			if p != nil {
				defer func() { _ = p.Close() }()
			}
			switch {
			case tt.gone && !errors.Is(err, agentcli.ErrGone), !tt.gone && tt.code == "" && err != nil:
				t.Errorf("it is found to be %v", err)
			case tt.code != "" && (errors.Is(err, agentcli.ErrGone) || runtime.ErrorCode(err) != tt.code):
				t.Errorf("it is found to be %v, want %s", err, tt.code)
			}
			if api.removed.Load() {
				t.Error("the removal of its pod was asked for")
			}
		})
	}
}

// TestWatchSilentNode has the cluster note that the node of a pod does not answer: the pod is reported once, and again after it was
// ready in between.
func TestWatchSilentNode(t *testing.T) {
	var told []string
	w := &watcher{changed: make(chan struct{}), ended: func(pod *corev1.Pod) { told = append(told, pod.ResourceVersion) }}
	pod := func(version string, ready corev1.ConditionStatus, state corev1.ContainerState) *corev1.Pod {
		p := podIn(corev1.PodRunning, "", "", state)
		p.Name, p.ResourceVersion = "p", version
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		return p
	}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	last := pod("1", corev1.ConditionFalse, waiting("ContainerCreating"))
	w.see(nil, last, false)
	for _, next := range []*corev1.Pod{
		pod("2", corev1.ConditionTrue, runs), pod("3", corev1.ConditionFalse, runs), pod("4", corev1.ConditionFalse, runs),
		pod("5", corev1.ConditionTrue, runs), pod("6", corev1.ConditionUnknown, runs),
	} {
		w.see(last, next, false)
		last = next
	}
	w.see(nil, pod("7", corev1.ConditionFalse, runs), false) // by a list, after a watch was lost
	if got := strings.Join(told, " "); got != "3 6 7" {
		t.Errorf("told of %q, want 3 6 7", got)
	}
}

// TestFindSaysWhy looks for an agent whose pod runs and lets nothing be run in it: the error has the cluster's reason, and what to do.
func TestFindSaysWhy(t *testing.T) {
	t.Parallel()
	api := new(silentNode)
	l := openOver(t, api, ``)
	h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, Pod: "a-pod", UID: "u1", StartedAt: time.Now()}
	if err := l.save(record{Handle: h, Launched: true}); err != nil {
		t.Fatal(err)
	}
	pod := podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	pod.TypeMeta, pod.ObjectMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, metav1.ObjectMeta{Name: h.Pod, Namespace: "ns", UID: "u1", ResourceVersion: "1"}
	api.pod.Store(pod)
	_, err := l.Find(t.Context(), h.encode())
	if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeUnavailable || !strings.Contains(e.Message, "error dialing backend") || !strings.Contains(e.Hint, "kubectl get nodes") {
		t.Errorf("it is found to be %+v", e)
	}
}

// TestWatchNotReady has a container that an admission webhook put beside that of an agent not be ready, as those of a service mesh are
// while they restart: the agent is not cut off for it, and is where the node falls silent then.
func TestWatchNotReady(t *testing.T) {
	told := 0
	w := &watcher{changed: make(chan struct{}), ended: func(*corev1.Pod) { told++ }}
	pod := func(ready corev1.ConditionStatus, reason string) *corev1.Pod {
		p := podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, Reason: reason}}
		return p
	}
	last := pod(corev1.ConditionFalse, "ContainersNotReady")
	w.see(nil, last, false)
	for _, next := range []*corev1.Pod{pod(corev1.ConditionTrue, ""), pod(corev1.ConditionFalse, "ContainersNotReady"), pod(corev1.ConditionFalse, "ReadinessGatesNotReady")} {
		w.see(last, next, false)
		last = next
	}
	if told != 0 {
		t.Errorf("the node is taken for silent, %d times", told)
	}
	w.see(pod(corev1.ConditionTrue, ""), pod(corev1.ConditionFalse, ""), false)
	if told != 1 {
		t.Error("a node that falls silent is not noticed")
	}
}

// TestPodOnSilentNode starts an agent again that has ended in a pod whose node has fallen silent since: it gets another pod if nothing of
// it is in that one. One whose end is not known, and one whose home is the pod, keep theirs: its node may be back.
func TestPodOnSilentNode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		launched, over, claim, kept bool
	}{
		"EndedWithClaim": {launched: true, over: true, claim: true},
		"NeverLaunched":  {},
		"EndedWithHome":  {launched: true, over: true, kept: true},
		"MayRun":         {launched: true, claim: true, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const at = "/api/v1/namespaces/ns/pods/a-pod"
			api := &objects{all: map[string][]byte{}}
			settings := `, "image": "wardroom/claude", "startTimeout": "1s"`
			if tt.claim {
				settings += `, "homeClaim": "homes"`
			}
			l := openOver(t, api, settings)
			plan, err := l.podOf(wish{spec: &runtime.Spec{ID: "a", Type: "claude"}, image: "wardroom/claude"})
			if err != nil {
				t.Fatal(err)
			}
			digest, err := planOf(plan)
			if err != nil {
				t.Fatal(err)
			}
			pod := podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
			pod.TypeMeta, pod.ObjectMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, metav1.ObjectMeta{Name: "a-pod", Namespace: "ns", UID: "u1", ResourceVersion: "1"}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			data, err := json.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			api.put(at, data)
			h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, Pod: "a-pod", UID: "u1"}
			v, err := l.have(t.Context(), "a", record{Handle: h, Plan: digest, Image: "wardroom/claude", Launched: tt.launched, Over: tt.over}, plan)
			if kept := err == nil && v.Handle.Pod == "a-pod" && api.has(at); kept != tt.kept { // the API server lets no other pod run
				t.Errorf("it has the pod %q, %v", v.Handle.Pod, err)
			}
		})
	}
}

// openOver opens a launcher, until the test ends, over an API server of its own. settings are further ones, as JSON that begins with
// a comma.
func openOver(t *testing.T, api http.Handler, settings string) *Launcher {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	config, err := decode([]byte(`{"kubeconfig": "`+kubeconfigOf(t, dir, server.URL)+`"`+settings+`}`), dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(Options{Config: config, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// kubeconfigOf writes a kubeconfig for a server into a directory, and returns its path.
func kubeconfigOf(t *testing.T, dir, server string) string {
	t.Helper()
	path := filepath.Join(dir, "kubeconfig")
	text := `{"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": "` + server + `"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "ns"}}], "current-context": "c"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEndOnFrozenNode loses the connection to an agent whose node takes calls and does not answer them, as the cluster has noticed: it is
// out of reach at once, and not when a call of the node has had all its time.
func TestEndOnFrozenNode(t *testing.T) {
	t.Parallel()
	api := new(silentNode)
	l := openOver(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/exec") {
			<-r.Context().Done()
			return
		}
		api.ServeHTTP(w, r)
	}), ``)
	h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, Pod: "a-pod", UID: "u1", StartedAt: time.Now()}
	pod := podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	pod.TypeMeta, pod.ObjectMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, metav1.ObjectMeta{Name: h.Pod, Namespace: "ns", UID: "u1", ResourceVersion: "1"}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NodeNotReady"}}
	api.pod.Store(pod)
	ctx, cancel := context.WithTimeout(t.Context(), callTime/2)
	defer cancel()
	if _, err := l.ended(ctx, h, false); runtime.ErrorCode(err) != runtime.CodeUnavailable || ctx.Err() != nil {
		t.Errorf("it is %v, within %v", err, ctx.Err())
	}
}
