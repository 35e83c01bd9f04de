package kubernetes_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingclient "k8s.io/client-go/kubernetes/typed/scheduling/v1"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestNamespaceDeleted deletes the namespace of agents, and makes it again: the agent is lost, the health reports what is the matter, and
// agents start again.
func TestNamespaceDeleted(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx := within(t)
	own := c.apart(ctx, t)
	p := own.plugin(t, nil)
	rt := p.Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	if err := own.core.Namespaces().Delete(ctx, own.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if stopped := status(ctx, t, rt, a.ID, runtime.StatusStopped); stopped.Reason != runtime.ReasonLost+": its pod was removed" {
		t.Errorf("it stopped with %q", stopped.Reason)
	}
	healthy(ctx, t, p, plugin.StatusFailed, "the cluster has no namespace "+own.namespace)
	_, err := rt.Restart(ctx, a.ID, runtime.RestartOptions{})
	wantError(t, err, runtime.CodeSpawnFailed, "the cluster has no namespace "+own.namespace)
	if err := own.makeNamespace(ctx); err != nil {
		t.Fatal(err)
	}
	healthy(ctx, t, p, plugin.StatusOK, "")
	if _, err := rt.Restart(ctx, a.ID, runtime.RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := say(ctx, t, rt, a.ID, "echo back"); got != "back" {
		t.Errorf("it says %q", got)
	}
}

// TestLimitRange has a namespace refuse the amount that an agent asks for: the error names where the limits stand.
func TestLimitRange(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx := within(t)
	own := c.apart(ctx, t)
	l := own.open(t, t.TempDir(), nil)
	_, err := own.core.LimitRanges(own.namespace).Create(ctx, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "bounds"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the limits to count", func() bool {
		spec := shell(id(t))
		_, err = l.Prepare(ctx, &spec)
		_ = l.Remove(ctx, spec.ID)
		return runtime.ErrorCode(err) == runtime.CodeResourceLimit
	})
	wantError(t, err, runtime.CodeResourceLimit, "get limitranges")
}

// TestPreempted has a pod of a higher priority need the place of an agent: the agent is lost, with the reason of the cluster. It runs alone,
// as it takes the node.
func TestPreempted(t *testing.T) {
	c, ctx := need(t), within(t)
	node, err := c.core.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(node.Items) != 1 {
		t.Skipf("the cluster has %d nodes, %v", len(node.Items), err)
	}
	classes, err := schedulingclient.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	name := id(t)
	if _, err := classes.PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1000}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = classes.PriorityClasses().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	most := *node.Items[0].Status.Allocatable.Cpu()
	rt := c.plugin(t, map[string]any{
		"limits":   map[string]any{"memory": "96m", "cpu": most.AsApproximateFloat64()},
		"requests": map[string]any{"memory": "32m", "cpu": most.AsApproximateFloat64() - 0.5},
	}).Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	own := c.apart(ctx, t)
	no, yes, user := false, true, int64(10001)
	_, err = own.core.Pods(own.namespace).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Spec: corev1.PodSpec{
		PriorityClassName: name, Containers: []corev1.Container{{
			Name: "urgent", Image: c.image, ImagePullPolicy: corev1.PullNever, Command: []string{"sleep", "1000"},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, RunAsNonRoot: &yes, RunAsUser: &user, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if stopped := status(ctx, t, rt, a.ID, runtime.StatusStopped); !strings.HasPrefix(stopped.Reason, runtime.ReasonLost+": PreemptionByScheduler") {
		t.Errorf("the reason is %q", stopped.Reason)
	}
}
