package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestHealthOfNamespace has an account that has all rights in a namespace which is missing, or is being deleted: the health reports it. What
// else keeps a config map from being made, and that there is one already, is no matter of the namespace.
func TestHealthOfNamespace(t *testing.T) {
	maps := apischema.GroupResource{Resource: "configmaps"}
	terminating := apierrors.NewForbidden(maps, "m", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Field: "metadata.namespace"}}
	for name, tt := range map[string]struct {
		answer *apierrors.StatusError
		want   string // in the reason; empty: all is well
	}{
		"Missing":  {apierrors.NewNotFound(apischema.GroupResource{Resource: "namespaces"}, "ns"), "the cluster has no namespace ns"},
		"Deleted":  {terminating, "the namespace ns is being deleted"},
		"There":    {apierrors.NewAlreadyExists(maps, "m"), ""},
		"Quota":    {apierrors.NewForbidden(maps, "m", errors.New("exceeded quota: little")), ""},
		"Webhooks": {apierrors.NewBadRequest("admission webhook w does not support dry run"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openOver(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
					_, _ = w.Write([]byte(`{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "status": {"allowed": true}}`))
				case r.Method == http.MethodPost && r.URL.Query().Get("dryRun") == metav1.DryRunAll:
					status := tt.answer.Status()
					status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
					w.WriteHeader(int(status.Code))
					_ = json.NewEncoder(w).Encode(status)
				default:
					new(silentNode).ServeHTTP(w, r)
				}
			}), ``)
			health := l.Health(t.Context())
			if failed := health.Status == plugin.StatusFailed; failed != (tt.want != "") || !strings.Contains(health.Reason, tt.want) {
				t.Errorf("health %+v, want one with %q", health, tt.want)
			}
		})
	}
}

// TestCredentialCommandFails has the command of a kubeconfig give no credential: the error is not that the API server is away.
func TestCredentialCommandFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	text := `{"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "ns", "user": "u"}}], "current-context": "c", "users": [{"name": "u", "user": {"exec": {
			"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "sh", "args": ["-c", "exit 3"]}}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := openCluster(&Config{Kubeconfig: path}, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = k.get(ctx, "p")
	if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeUnavailable || !e.Retry || !strings.Contains(e.Message, "the command of the kubeconfig") || !strings.Contains(e.Message, "exit code 3") {
		t.Errorf("it is %+v", err)
	}
}
