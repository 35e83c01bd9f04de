package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestAnswerOfProxy has a load balancer answer in the place of an API server that is away: an agent is not taken for gone, nor for
// removed, and nothing that is known of it is lost.
func TestAnswerOfProxy(t *testing.T) {
	for _, code := range []int{http.StatusOK, http.StatusNotFound, http.StatusConflict, http.StatusForbidden} {
		l := openOver(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(code)
			_, _ = w.Write([]byte("<html>default backend</html>"))
		}), ``)
		h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, Pod: "a-pod", UID: "u1", StartedAt: time.Now()}
		if err := l.save(record{Handle: h, Launched: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Find(t.Context(), h.encode()); errors.Is(err, agentcli.ErrGone) || runtime.ErrorCode(err) != runtime.CodeUnavailable {
			t.Errorf("%d: it is found to be %v", code, err)
		}
		if err := l.Remove(t.Context(), "a"); runtime.ErrorCode(err) != runtime.CodeUnavailable {
			t.Errorf("%d: it is removed: %v", code, err)
		}
		if v, err := l.load("a"); err != nil || v.Over {
			t.Errorf("%d: stored is %+v, %v", code, v, err)
		}
	}
}

// What the API server may say in plain text is its own: it has a hint that fits.
func TestPlainAnswers(t *testing.T) {
	for code, want := range map[int]string{
		http.StatusUnauthorized:        "renew the kubeconfig",
		http.StatusTooManyRequests:     "look at what asks it",
		http.StatusInternalServerError: "look whether it runs",
	} {
		l := openOver(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "try again later", code) }), ``)
		_, err := l.cluster.get(t.Context(), "p")
		var e *runtime.Error
		if !errors.As(err, &e) || e.Code != runtime.CodeUnavailable || !strings.Contains(e.Hint, want) {
			t.Errorf("%d: %+v", code, err)
		}
	}
}

// answers is a server that refuses the making of a pod, and takes its removal.
type answers struct {
	conflicts int32 // of a quota, at first
	code      int   // what follows; 0: it hangs up
	reason    metav1.StatusReason

	made, removed atomic.Int32
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	status := apierrors.NewNotFound(corev1.Resource("pods"), "p").Status()
	switch n := a.made.Load(); {
	case r.Method == http.MethodDelete:
		a.removed.Add(1)
	case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/pods"):
	case n < a.conflicts:
		status = apierrors.NewConflict(corev1.Resource("resourcequotas"), "q", errors.New("the object has been modified")).Status()
		a.made.Add(1)
	case a.code == 0:
		a.made.Add(1)
		panic(http.ErrAbortHandler)
	default:
		status.Code, status.Reason = int32(a.code), a.reason
		a.made.Add(1)
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// TestPost makes pods that the API server may have made without a word, and some that it has not: only the former are removed.
func TestPost(t *testing.T) {
	for name, tt := range map[string]struct {
		server  *answers
		code    runtime.Code
		made    int32
		removed int32
	}{
		"HungUp":   {&answers{}, runtime.CodeUnavailable, 1, 1},
		"Internal": {&answers{code: 500, reason: metav1.StatusReasonInternalError}, runtime.CodeUnavailable, 1, 1},
		"Twice":    {&answers{code: 409, reason: metav1.StatusReasonAlreadyExists}, runtime.CodeSpawnFailed, 1, 1},
		"Refused":  {&answers{code: 403, reason: metav1.StatusReasonForbidden}, runtime.CodeSpawnFailed, 1, 0},
		"Quota":    {&answers{conflicts: 2, code: 403, reason: metav1.StatusReasonForbidden}, runtime.CodeSpawnFailed, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.server)
			defer server.Close()
			l := launcherAt(t, server.URL, `{}`)
			defer l.watcher.close()
			_, err := l.post(t.Context(), "make the pod", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}})
			if runtime.ErrorCode(err) != tt.code || tt.server.made.Load() != tt.made || tt.server.removed.Load() != tt.removed {
				t.Errorf("%v; tried %d times, want %d; removed %d times, want %d", err, tt.server.made.Load(), tt.made, tt.server.removed.Load(), tt.removed)
			}
		})
	}
}

// TestServerLostInStart loses the API server while a pod is being started, and for good: that is why the start fails.
func TestServerLostInStart(t *testing.T) {
	t.Parallel()
	api := &objects{all: map[string][]byte{}}
	var away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	}))
	defer server.Close()
	l := launcherAt(t, server.URL, `{"startTimeout": "8s"}`)
	defer l.watcher.close()
	_, _, made := l.begun(t.Context(), t, api)
	away.Store(true)
	if err := <-made; runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("it ends with %v", err)
	}
}

// One look at a pod that fails does not hide why the pod does not run: another runtime may have room.
func TestOneLookFails(t *testing.T) {
	t.Parallel()
	api := &objects{all: map[string][]byte{}, told: make(chan []byte)}
	var looks atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/pods/") && looks.Add(1) == 1 {
			http.Error(w, "no server is available", http.StatusServiceUnavailable)
			return
		}
		api.ServeHTTP(w, r)
	}))
	defer server.Close()
	l := launcherAt(t, server.URL, `{"startTimeout": "9s"}`)
	defer l.watcher.close()
	_, data, made := l.begun(t.Context(), t, api)
	var pod corev1.Pod
	if err := json.Unmarshal(data, &pod); err != nil {
		t.Fatal(err)
	}
	pod.ResourceVersion = "2"
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available",
	}}}
	data, err := json.Marshal(&pod)
	if err != nil {
		t.Fatal(err)
	}
	api.mu.Lock()
	for name := range api.all {
		if strings.Contains(name, "/pods/") {
			api.all[name] = data
		}
	}
	api.mu.Unlock()
	api.told <- data
	if err := <-made; runtime.ErrorCode(err) != runtime.CodeResourceLimit || looks.Load() < 2 {
		t.Errorf("it ends with %v after %d looks", err, looks.Load())
	}
}

// TestAskedToWait has the API server ask for another try later than the call may take: the call ends at once, with what the server wrote.
func TestAskedToWait(t *testing.T) {
	for code, want := range map[int]string{http.StatusTooManyRequests: "look at what asks it", http.StatusServiceUnavailable: "fails: the server is currently unable"} {
		var asked atomic.Int32
		l := openOver(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/p") {
				asked.Add(1)
			}
			w.Header().Set("Retry-After", "300")
			http.Error(w, "etcd has no leader", code)
		}), ``)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := l.cluster.get(ctx, "p")
		if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeUnavailable || !strings.Contains(e.Message+e.Hint, want) || ctx.Err() != nil || asked.Load() != 1 {
			t.Errorf("%d: %+v, asked %d times; %v", code, err, asked.Load(), ctx.Err())
		}
		cancel()
	}
}

// TestAskedToWaitALittle has the API server ask for another try that the call has the time for: it gets it.
func TestAskedToWaitALittle(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	l := openOver(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/p") && asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		new(silentNode).ServeHTTP(w, r)
	}), ``)
	if pod, err := l.cluster.get(t.Context(), "p"); pod != nil || err != nil || asked.Load() != 2 {
		t.Errorf("%v, %v after %d tries", pod, err, asked.Load())
	}
}
