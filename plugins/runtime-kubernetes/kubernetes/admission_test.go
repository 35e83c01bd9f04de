package kubernetes_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/wardroom/wardroom/plugins/runtime-kubernetes/kubernetes"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// admission has a webhook of this machine judge the pods of an agent, until the test ends. answer gets each; a nil one is a webhook
// that does not listen.
func (c *cluster) admission(ctx context.Context, t *testing.T, agent string, answer func(pod *corev1.Pod) *admissionv1.AdmissionResponse) {
	t.Helper()
	var asked atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		var review admissionv1.AdmissionReview
		var pod corev1.Pod
		if json.NewDecoder(r.Body).Decode(&review) != nil || json.Unmarshal(review.Request.Object.Raw, &pod) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		review.Response = answer(&pod)
		review.Response.UID = review.Request.UID
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	if answer == nil {
		server.Close()
	}
	client, err := admissionclient.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	fail, none, url := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, server.URL
	_, err = client.MutatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: agent},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "pods.wardroom.test", AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &fail, SideEffects: &none,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": c.namespace}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{kubernetes.LabelAgent: agent}},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.MutatingWebhookConfigurations().Delete(context.Background(), agent, metav1.DeleteOptions{})
	})
	probe := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Labels: map[string]string{kubernetes.LabelAgent: agent}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: c.image}}},
	}
	until(ctx, t, "the webhook to be asked", func() bool {
		_, err := c.core.Pods(c.namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return asked.Load() || err != nil && strings.Contains(err.Error(), "failed calling webhook")
	})
}

// TestBesideSidecar has a webhook put a container of its own before that of each pod, one which does not end by itself, as those of a
// service mesh do not: what has ended is removed all the same, and its home with it.
func TestBesideSidecar(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx, spec := within(t), shell(id(t))
	c.admission(ctx, t, spec.ID, func(pod *corev1.Pod) *admissionv1.AdmissionResponse {
		one := pod.Spec.Containers[0]
		patch, _ := json.Marshal([]any{map[string]any{"op": "add", "path": "/spec/containers/0", "value": corev1.Container{
			Name: "proxy", Image: one.Image, ImagePullPolicy: one.ImagePullPolicy, SecurityContext: one.SecurityContext,
			Command: []string{"sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait"},
		}}})
		kind := admissionv1.PatchTypeJSONPatch
		return &admissionv1.AdmissionResponse{Allowed: true, Patch: patch, PatchType: &kind}
	})
	rt := c.plugin(t, map[string]any{"homeClaim": c.claim(t), "startTimeout": "60s"}).Conn().Runtime()
	a := spawn(ctx, t, rt, spec)
	if pods := c.pods(ctx, t, spec.ID); len(pods) != 1 || len(pods[0].Spec.Containers) != 2 {
		t.Fatalf("its pods are %+v", pods)
	}
	if got := say(ctx, t, rt, a.ID, "echo beside"); got != "beside" {
		t.Errorf("it says %q", got)
	}
	if err := rt.Stop(ctx, spec.ID, runtime.StopOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Prune(ctx, runtime.PruneOptions{}); err != nil {
		t.Errorf("its home: %v", err)
	}
	until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
}

// TestAdmission has a webhook refuse the pods of an agent, and then not answer: the error says which of both, and what it says.
func TestAdmission(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx := within(t)
	rt := c.plugin(t, nil).Conn().Runtime()
	refused, away := shell(id(t)), shell(id(t)+"x")
	c.admission(ctx, t, refused.ID, func(*corev1.Pod) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "not on a Monday", Code: http.StatusForbidden}}
	})
	_, err := rt.Spawn(ctx, refused)
	wantError(t, err, runtime.CodeSpawnFailed, "not on a Monday")
	c.admission(ctx, t, away.ID, nil)
	_, err = rt.Spawn(ctx, away)
	wantError(t, err, runtime.CodeUnavailable, "an admission webhook of the cluster fails")
	if strings.Contains(err.Error(), "does not answer") {
		t.Errorf("the API server is blamed: %v", err)
	}
}
