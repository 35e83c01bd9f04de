package kubernetes

import (
	"context"
	"os"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

var _ runtimeplugin.Checker = (*Launcher)(nil)

// needed are the verbs that the runtime's account needs in its namespace, by resource: those of the chart's role.
var needed = []struct {
	group, resource, subresource string
	verbs                        []string
}{
	{"", "pods", "", []string{"create", "delete", "get", "list", "watch"}},
	{"", "pods", "exec", []string{"create", "get"}},
	{"", "configmaps", "", []string{"create", "get"}},
	{"networking.k8s.io", "networkpolicies", "", []string{"create", "update"}},
}

// Health looks at what agents need to start.
func (l *Launcher) Health(ctx context.Context) plugin.Health {
	health := plugin.Health{Status: plugin.StatusOK}
	if probe, err := os.CreateTemp(l.dir, ".probe"); err != nil {
		health.Note("state", plugin.StatusFailed, "nothing can be written to "+l.dir+": no agent can start")
	} else {
		_ = probe.Close()
		_ = os.Remove(probe.Name())
		health.Note("state", plugin.StatusOK, "")
	}
	missing, err := l.missing(ctx)
	if err != nil {
		e := runtime.AsError(err)
		health.Note("cluster", plugin.StatusFailed, strings.TrimSuffix(e.Message+"; "+e.Hint, "; "))
		return health
	}
	health.Note("cluster", plugin.StatusOK, "namespace "+l.cluster.namespace)
	if len(missing) > 0 {
		health.Note("access", plugin.StatusFailed, "the runtime's account lacks in the namespace "+l.cluster.namespace+": "+strings.Join(missing, ", ")+
			"; give it the role of the chart, which goes with the namespace where that is removed")
	} else {
		health.Note("access", plugin.StatusOK, "")
	}
	if err := l.placed(ctx); err != nil {
		e := runtime.AsError(err)
		health.Note("namespace", plugin.StatusFailed, strings.TrimSuffix(e.Message+"; "+e.Hint, "; "))
	} else {
		health.Note("namespace", plugin.StatusOK, "")
	}
	if err := l.watcher.failure(); err != nil && len(missing) == 0 {
		health.Note("watch", plugin.StatusDegraded, "the pods of agents cannot be followed at the moment: "+said(err))
	} else if err == nil {
		health.Note("watch", plugin.StatusOK, "")
	}
	return health
}

// missing asks what the account may do, and returns what it may not.
func (l *Launcher) missing(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var missing []string
	for _, n := range needed {
		for _, verb := range n.verbs {
			answer, err := l.cluster.access.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: l.cluster.namespace, Verb: verb, Group: n.group, Resource: n.resource, Subresource: n.subresource,
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				return nil, l.cluster.failed("ask the cluster what the runtime may do", err)
			}
			if !answer.Status.Allowed {
				missing = append(missing, strings.TrimSuffix(verb+" "+n.resource+"/"+n.subresource, "/"))
			}
		}
	}
	return missing, nil
}

// placed returns an error where the namespace of pods is not there, or is being deleted; an account may have rights in one that is not.
func (l *Launcher) placed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: l.ownerName()}}
	_, err := l.cluster.core.ConfigMaps(l.cluster.namespace).Create(ctx, owner, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
	if absent(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return l.cluster.failed("look at the namespace of agents", err)
	}
	return nil // that it may be made, is there, or is refused for something else, means that there is a place for it
}
