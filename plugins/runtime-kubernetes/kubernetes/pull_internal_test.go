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

	corev1 "k8s.io/api/core/v1"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestBackOffWithoutCause has a kubelet say why an image cannot be pulled only with the try that failed, and not while it waits for
// the next one: the start fails with that cause.
func TestBackOffWithoutCause(t *testing.T) {
	t.Parallel()
	const text = `Back-off pulling image "r/i:1"`
	for name, tt := range map[string]struct {
		failed *corev1.ContainerStateWaiting // of the try; nil: it was not seen
		code   runtime.Code
		words  string
	}{
		"Away": {&corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: `failed to do request: Head "https://r/v2/i": dial tcp: lookup r: no such host`},
			runtime.CodeNetworkError, "no such host"},
		"Unreached": {&corev1.ContainerStateWaiting{Reason: registryAway, Message: "it does not help"}, runtime.CodeNetworkError, "it does not help"},
		"Missing":   {&corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "r/i:1: not found"}, runtime.CodeImageNotFound, "r/i:1: not found"},
		"Unseen":    {nil, runtime.CodeImageNotFound, text},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &objects{all: map[string][]byte{}}
			var asked atomic.Int32 // for the pod
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				api.ServeHTTP(w, r)
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/pods/") {
					asked.Add(1)
				}
			}))
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			l := launcherAt(t, server.URL, `{}`)
			defer l.watcher.close()
			at, data, made := l.begun(ctx, t, api)
			var pod corev1.Pod
			if err := json.Unmarshal(data, &pod); err != nil {
				t.Fatal(err)
			}
			say := func(w *corev1.ContainerStateWaiting) {
				pod.Status = podIn(corev1.PodPending, "", "", corev1.ContainerState{Waiting: w}).Status
				data, err := json.Marshal(&pod)
				if err != nil {
					t.Fatal(err)
				}
				api.put(at, data)
			}
			if tt.failed != nil {
				say(tt.failed)
				for seen := asked.Load() + 2; asked.Load() < seen && ctx.Err() == nil; { // the first may have been answered before
					wait(ctx, nil, 10*time.Millisecond)
				}
			}
			say(&corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: text})
			if e := runtime.AsError(<-made); e == nil || e.Code != tt.code || !strings.Contains(e.Message, tt.words) {
				t.Errorf("it ended with %v, want %s with %q", e, tt.code, tt.words)
			}
		})
	}
}
