package kubernetes_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/plugins/runtime-kubernetes/kubernetes"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// barePod is the least that a namespace of restricted pods takes; node names what the scheduler is to look for, if anything.
func (c *cluster) barePod(name string, labels map[string]string, node map[string]string) *corev1.Pod {
	yes, no, user, grace := true, false, int64(10001), int64(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeSelector: node, TerminationGracePeriodSeconds: &grace, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "bare", Image: c.image, ImagePullPolicy: corev1.PullNever, Command: []string{"sleep", "600"},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
}

// startBare makes a pod, with an empty volume if need be, and returns how long it took until the API server said that it runs.
func (c *cluster) startBare(ctx context.Context, b *testing.B, volume bool) time.Duration {
	b.Helper()
	name := id(b)
	bare := c.barePod(name, nil, nil)
	if volume {
		bare.Spec.Volumes = []corev1.Volume{{Name: "temp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		bare.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "temp", MountPath: "/tmp"}}
	}
	from := time.Now()
	if _, err := c.core.Pods(c.namespace).Create(ctx, bare, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	defer c.deletePod(name)
	until(ctx, b, "the pod to run", func() bool {
		pod, err := c.core.Pods(c.namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning
	})
	return time.Since(from)
}

func (c *cluster) deletePod(name string) {
	none := int64(0)
	_ = c.core.Pods(c.namespace).Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: &none})
}

// BenchmarkSpawn compares the start of an agent with that of a bare pod of the same image, and of one with a volume, in turns. The
// times are medians. A kubelet looks every 300 ms whether the volumes of a pod are there, so that any of them delays its start.
func BenchmarkSpawn(b *testing.B) {
	c, ctx := need(b), within(b)
	rt := c.plugin(b, nil).Conn().Runtime()
	spawn(ctx, b, rt, shell(id(b))) // the network policy is made
	var bare, mounted, spawned []float64
	for b.Loop() {
		bare = append(bare, float64(c.startBare(ctx, b, false).Microseconds())/1000)
		mounted = append(mounted, float64(c.startBare(ctx, b, true).Microseconds())/1000)
		spec := shell(id(b))
		from := time.Now()
		if _, err := rt.Spawn(ctx, spec); err != nil {
			b.Fatal(err)
		}
		spawned = append(spawned, float64(time.Since(from).Microseconds())/1000)
		if err := rt.Stop(ctx, spec.ID, runtime.StopOptions{Force: true}); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(bare)
	slices.Sort(mounted)
	slices.Sort(spawned)
	m, v, n := bare[len(bare)/2], mounted[len(mounted)/2], spawned[len(spawned)/2]
	b.ReportMetric(m, "ms-bare")
	b.ReportMetric(v, "ms-volume")
	b.ReportMetric(n, "ms-spawn")
	b.ReportMetric(n-m, "ms-beyond")
	b.ReportMetric(n-v, "ms-beyond-volume")
	b.ReportMetric(0, "ns/op") // of both and their removal: it says nothing
}

// BenchmarkKnown has 1,000 pods of an installation in the cluster, none of which starts, and measures the plugin that follows
// them, while nothing happens.
func BenchmarkKnown(b *testing.B) {
	const count, idle = 1000, 30 * time.Second
	c, ctx := need(b), within(b)
	p := c.plugin(b, nil)
	spec := shell(id(b))
	spawn(ctx, b, p.Conn().Runtime(), spec)
	labels := map[string]string{kubernetes.LabelOwner: c.pods(ctx, b, spec.ID)[0].Labels[kubernetes.LabelOwner]}
	before := privateMemory(b, p.PID())
	names := make(chan string)
	var makers sync.WaitGroup
	for range 8 {
		makers.Go(func() {
			for name := range names {
				if _, err := c.core.Pods(c.namespace).Create(ctx, c.barePod(name, labels, map[string]string{"no": "node"}), metav1.CreateOptions{}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	prefix := id(b)
	for i := range count {
		names <- fmt.Sprintf("%s-%d", prefix, i)
	}
	close(names)
	makers.Wait()
	b.Cleanup(func() {
		none := int64(0)
		_ = c.core.Pods(c.namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{LabelSelector: kubernetes.LabelOwner + "=" + labels[kubernetes.LabelOwner]})
	})
	if _, err := p.Restart(ctx); err != nil { // a new one lists them all
		b.Fatal(err)
	}
	for b.Loop() {
		<-time.After(idle / 3) // what the start left is collected
		from := processorTime(b, p.PID())
		<-time.After(idle)
		b.ReportMetric(100*(processorTime(b, p.PID())-from).Seconds()/idle.Seconds(), "%-of-a-core")
		b.ReportMetric(privateMemory(b, p.PID())-before, "MiB-growth")
		b.ReportMetric(privateMemory(b, p.PID()), "MiB-plugin")
	}
	b.ReportMetric(0, "ns/op") // of the wait
}

// processorTime returns the CPU time that a process has used.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	info, err := proc.Stat(pid)
	if err != nil {
		b.Fatal(err)
	}
	return info.CPU
}

// privateMemory returns the private memory of a process, in MiB.
func privateMemory(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.Atoi(strings.Fields(text)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kib) / 1024
		}
	}
	b.Fatal("no RssAnon")
	return 0
}
