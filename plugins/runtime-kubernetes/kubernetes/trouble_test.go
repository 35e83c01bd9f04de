package kubernetes_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestPullBackOff names an image whose registry is not there: the spawn says so, long before a pod is given up, and leaves none.
func TestPullBackOff(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	spec := shell(id(t))
	began := time.Now()
	_, err := c.plugin(t, map[string]any{"image": "127.0.0.1:1/lab/none:1", "pull": "always"}).Conn().Runtime().Spawn(ctx, spec)
	wantError(t, err, runtime.CodeNetworkError, "ImagePullBackOff")
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("it was said after %s", took)
	}
	until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
}

// TestEvicted has the cluster evict the pod of an agent, as a drain of its node does: the agent is lost, says so, and starts
// again in another pod.
func TestEvicted(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	rt := c.plugin(t, nil).Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	if err := c.core.Pods(c.namespace).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: a.PodName, Namespace: c.namespace}}); err != nil {
		t.Fatal(err)
	}
	if stopped := status(ctx, t, rt, a.ID, runtime.StatusStopped); stopped.Reason == "" {
		t.Errorf("it stopped without a reason: %+v", stopped)
	}
	again, err := rt.Restart(ctx, a.ID, runtime.RestartOptions{})
	if err != nil || again.PodName == a.PodName {
		t.Fatalf("restart: %+v, %v", again, err)
	}
	if got := say(ctx, t, rt, a.ID, "echo back"); got != "back" {
		t.Errorf("it says %q", got)
	}
}

// TestNodeFrozen stops the kubelet of the only node without a word, as when a node is cut off: once the cluster has noticed, which
// takes it some time, the agent is unreachable and not lost, and it is as it was when the node is back. It runs alone.
func TestNodeFrozen(t *testing.T) {
	c, ctx := need(t), within(t)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(c.kubeconfig), "pid", "kubelet"))
	if err != nil {
		t.Skipf("the cluster is not one of scripts/cluster: %v", err)
	}
	kubelet, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	rt := c.plugin(t, nil).Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	say(ctx, t, rt, a.ID, "kept=yes")
	if err := syscall.Kill(kubelet, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	thaw := sync.OnceFunc(func() { _ = syscall.Kill(kubelet, syscall.SIGCONT) })
	defer thaw()
	away := status(ctx, t, rt, a.ID, runtime.StatusUnreachable)
	if away.PodName != a.PodName || away.ExitCode != nil {
		t.Errorf("on a node that is silent it is %+v", away)
	}
	thaw()
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	if got := say(ctx, t, rt, a.ID, "echo $kept"); got != "yes" {
		t.Errorf("the agent says %q", got)
	}
}

// TestSlowServer has each answer of the API server take long: all works, and nothing is given up for it.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	g, path := c.gated(t)
	g.slow(200 * time.Millisecond)
	p := c.plugin(t, map[string]any{"kubeconfig": path})
	rt := p.Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	if got := say(ctx, t, rt, a.ID, "echo slowly"); got != "slowly" {
		t.Errorf("it says %q", got)
	}
	if a, err := rt.Inspect(ctx, a.ID); err != nil || a.Status == runtime.StatusUnreachable {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestCertificateRotated puts other certificates into the files that a kubeconfig names: they count without a restart.
func TestCertificateRotated(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	other, err := clientcmd.LoadFromFile(filepath.Join(filepath.Dir(c.kubeconfig), "scheduler.conf"))
	if err != nil {
		t.Skipf("the cluster is not one of scripts/cluster: %v", err)
	}
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if !alone(ctx, t) {
		return
	}
	defer func(d time.Duration) { transport.CertCallbackRefreshDuration = d }(transport.CertCallbackRefreshDuration)
	transport.CertCallbackRefreshDuration = 50 * time.Millisecond
	dir := t.TempDir()
	certificate, key, path := filepath.Join(dir, "crt"), filepath.Join(dir, "key"), filepath.Join(dir, "kubeconfig")
	give := func(from *clientcmdapi.Config) {
		t.Helper()
		for _, who := range from.AuthInfos {
			for file, data := range map[string][]byte{certificate: who.ClientCertificateData, key: who.ClientKeyData} {
				if err := os.WriteFile(file+".new", data, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(file+".new", file); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	own := config.DeepCopy()
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificate: certificate, ClientKey: key}
	}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	give(other) // one that may not make what agents need
	l := c.open(t, t.TempDir(), map[string]any{"kubeconfig": path})
	spec := shell(id(t))
	_, err = l.Prepare(ctx, &spec)
	wantError(t, err, runtime.CodeSpawnFailed, "lacks the verb")
	give(own)
	until(ctx, t, "the new certificate to count", func() bool { _, err = l.Prepare(ctx, &spec); return err == nil })
	if err := l.Remove(ctx, spec.ID); err != nil {
		t.Error(err)
	}
}

// TestEvictedBeforeStart has the cluster evict a pod that waits for a place, or for its image from a registry that does not answer: the
// start fails at once, and says why.
func TestEvictedBeforeStart(t *testing.T) {
	t.Parallel()
	c := need(t)
	registry, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Close() })
	for name, tt := range map[string]struct {
		settings map[string]any
		waits    func(pod *corev1.Pod) bool
	}{
		"Unplaced": {map[string]any{"nodeSelector": map[string]string{"no-such": "label"}}, func(*corev1.Pod) bool { return true }},
		"Pulling": {map[string]any{"image": registry.Addr().String() + "/lab/none:1", "pull": "always"},
			func(pod *corev1.Pod) bool { return len(pod.Status.ContainerStatuses) == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, spec := within(t), shell(id(t))
			rt := c.plugin(t, tt.settings).Conn().Runtime()
			failed := make(chan error, 1)
			go func() {
				_, err := rt.Spawn(ctx, spec)
				failed <- err
			}()
			var pod corev1.Pod
			until(ctx, t, "a pod that waits", func() bool {
				pods := c.pods(ctx, t, spec.ID)
				if len(pods) == 1 {
					pod = pods[0]
				}
				return len(pods) == 1 && tt.waits(&pod)
			})
			if err := c.core.Pods(c.namespace).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: c.namespace}}); err != nil {
				t.Fatal(err)
			}
			wantError(t, <-failed, runtime.CodeResourceLimit, "EvictionByEvictionAPI")
		})
	}
}

// TestPodForced removes the pod of an agent without its node, as is done for nodes that are gone: the agent is lost, and says why.
func TestPodForced(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx := within(t)
	rt := c.plugin(t, nil).Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	if err := c.core.Pods(c.namespace).Delete(ctx, a.PodName, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	if stopped := status(ctx, t, rt, a.ID, runtime.StatusStopped); stopped.Reason != runtime.ReasonLost+": its pod was removed" {
		t.Errorf("the reason is %q", stopped.Reason)
	}
}
