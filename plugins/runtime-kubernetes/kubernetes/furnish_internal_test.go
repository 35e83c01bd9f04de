package kubernetes

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// objects is an API server of objects that are made and written by name. What is removed stays until a test takes it away.
type objects struct {
	mu  sync.Mutex // guards what follows
	all map[string][]byte

	told chan []byte // pods that watches tell of
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	at := r.URL.Path
	var body []byte
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		sent, _ := io.ReadAll(r.Body)
		object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(sent, nil, nil) // it is no JSON
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		object.GetObjectKind().SetGroupVersionKind(*kind)
		if made, err := meta.Accessor(object); err == nil && r.Method == http.MethodPost {
			at = path.Join(at, made.GetName())
			made.SetUID(types.UID("uid of " + made.GetName()))
			made.SetNamespace("ns")
			made.SetResourceVersion("1")
		}
		body, _ = json.Marshal(object)
	}
	if r.URL.Query().Get("watch") != "" {
		o.watch(w, r)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, there := o.all[at]
	refuse := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
		})
	}
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(at, "/pods"):
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		for name, data := range o.all {
			var pod corev1.Pod
			if strings.HasPrefix(name, at+"/") && json.Unmarshal(data, &pod) == nil {
				list.Items = append(list.Items, pod)
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	case r.Method == http.MethodPost && there:
		refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case r.Method != http.MethodPost && !there:
		refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodPost, r.Method == http.MethodPut:
		o.all[at] = body
		fallthrough
	default:
		_, _ = w.Write(o.all[at])
	}
}

// watch tells what told holds, and has no end.
func (o *objects) watch(w http.ResponseWriter, r *http.Request) {
	w.(http.Flusher).Flush()
	for {
		select {
		case pod := <-o.told:
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": json.RawMessage(pod)})
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// has reports whether there is an object at a path.
func (o *objects) has(at string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.all[at]
	return ok
}

// put writes an object at a path, or takes it away.
func (o *objects) put(at string, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if data == nil {
		delete(o.all, at)
		return
	}
	o.all[at] = data
}

// of returns an object of a kind, as its path has it, and the path; "" for none.
func (o *objects) of(kind string) (string, []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for at, data := range o.all {
		if strings.Contains(at, kind) {
			return at, data
		}
	}
	return "", nil
}

// TestFurnishAgain removes, and then changes, the network policy of agents beside the runtime: it is as it has to be before another
// pod is made.
func TestFurnishAgain(t *testing.T) {
	api := &objects{all: map[string][]byte{}}
	server := httptest.NewServer(api)
	defer server.Close()
	l := &Launcher{config: decoded(t, `{"egress": ["dns"]}`), cluster: clusterAt(t, server.URL), owner: "owner", version: "test"}
	for _, change := range []func(at string, p *networkingv1.NetworkPolicy){
		nil,
		func(at string, _ *networkingv1.NetworkPolicy) { delete(api.all, at) },
		func(at string, p *networkingv1.NetworkPolicy) {
			p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
			api.all[at], _ = json.Marshal(p)
		},
	} {
		if change != nil {
			at, data := api.of("networkpolicies")
			var p networkingv1.NetworkPolicy
			if err := json.Unmarshal(data, &p); err != nil {
				t.Fatal(err)
			}
			api.mu.Lock()
			change(at, &p)
			api.mu.Unlock()
		}
		if err := l.furnish(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, data := api.of("networkpolicies")
		var p networkingv1.NetworkPolicy
		if err := json.Unmarshal(data, &p); err != nil {
			t.Fatalf("there is no network policy: %v", err)
		}
		if len(p.Spec.Egress) != 2 || len(p.Spec.Egress[1].Ports) != 2 || len(p.Spec.Ingress) != 1 {
			t.Errorf("agents are bounded by %+v", p.Spec)
		}
	}
}

// TestGuardPolicy removes the network policy while an agent runs: it is made again before another one starts.
func TestGuardPolicy(t *testing.T) {
	api := &objects{all: map[string][]byte{}}
	server := httptest.NewServer(api)
	defer server.Close()
	l := &Launcher{config: decoded(t, `{}`), cluster: clusterAt(t, server.URL), owner: "owner", version: "test", log: hclog.NewNullLogger(), dir: t.TempDir()}
	if err := l.furnish(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, _ := api.of("networkpolicies")
	api.put(at, nil)
	l.watcher = &watcher{store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	l.sweepOnce(t.Context(), time.Hour)
	if at, _ := api.of("networkpolicies"); at != "" {
		t.Error("a policy is written though no agent runs")
	}
	pod := podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	pod.Name, pod.CreationTimestamp = "a-pod", metav1.Now()
	if err := l.watcher.store.Add(pod); err != nil {
		t.Fatal(err)
	}
	l.sweepOnce(t.Context(), time.Hour)
	if at, _ := api.of("networkpolicies"); at == "" {
		t.Error("agents run without a network policy")
	}
	at, _ = api.of("configmaps")
	api.put(at, nil)
	at, _ = api.of("networkpolicies")
	api.put(at, nil)
	l.sweepOnce(t.Context(), time.Hour)
	if at, _ := api.of("wardroom-owner"); at != "" {
		t.Errorf("%s is made for an installation that was removed", at)
	}
}
