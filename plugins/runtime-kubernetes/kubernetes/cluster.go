package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes/scheme"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingclient "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"

	"github.com/wardroom/wardroom/sdk/execcredential"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/life"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// callTime bounds calls of the API that follow nothing.
const callTime = 30 * time.Second

// container is the one of each pod.
const containerName = "agent"

// namespaceFile names the namespace of a program that runs in a pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// cluster is the API of a cluster, in one namespace. Safe for concurrent use.
type cluster struct {
	config    *rest.Config
	given     *execcredential.Credential // by a command; nil without one
	namespace string
	core      coreclient.CoreV1Interface
	network   networkingclient.NetworkingV1Interface
	access    authorizationclient.AuthorizationV1Interface
	close     func()
}

// quiet takes the words of the client's own log away, which tells of every connection that ends: what matters is in the errors
// and the health of this package.
var quiet = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// openCluster makes the clients; it calls nothing. Without a kubeconfig the program has to run in a pod.
func openCluster(c *Config, version string) (*cluster, error) {
	quiet()
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
	invalid := func(field string, err error) error {
		return &runtime.Error{Code: runtime.CodeInvalidArgument, Field: field, Message: err.Error()}
	}
	config, err := rest.InClusterConfig()
	if c.Kubeconfig != "" {
		config, err = loaded.ClientConfig()
	}
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, &runtime.Error{
			Code: runtime.CodeInvalidArgument, Field: "kubeconfig", Message: "is not given, and the service does not run in a pod of a cluster",
			Hint: "name a kubeconfig that the service's user can read",
		}
	}
	if err != nil {
		return nil, invalid("kubeconfig", err)
	}
	k := &cluster{config: config, namespace: c.Namespace}
	if k.namespace == "" && c.Kubeconfig != "" {
		if k.namespace, _, err = loaded.Namespace(); err != nil {
			return nil, invalid("kubeconfig", err)
		}
	} else if k.namespace == "" {
		data, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, invalid("namespace", err)
		}
		k.namespace = strings.TrimSpace(string(data))
	}
	config.UserAgent = "wardroom-runtime-kubernetes/" + version
	config.QPS, config.Burst = 50, 100
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noWaits{noPages{next}} })
	given, transport, err := takeCredential(config)
	if err != nil {
		return nil, invalid("kubeconfig", err)
	}
	client := &http.Client{Transport: transport, Timeout: config.Timeout}
	if given == nil {
		if client, err = rest.HTTPClientFor(config); err != nil {
			return nil, invalid("kubeconfig", err)
		}
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the credential would go along
	k.given, k.close = given, func() {
		if given != nil {
			given.Close()
		}
		client.CloseIdleConnections()
	}
	core, coreErr := coreclient.NewForConfigAndClient(config, client)
	network, networkErr := networkingclient.NewForConfigAndClient(config, client)
	access, accessErr := authorizationclient.NewForConfigAndClient(config, client)
	if err := errors.Join(coreErr, networkErr, accessErr); err != nil {
		return nil, invalid("kubeconfig", err)
	}
	k.core, k.network, k.access = core, network, access
	return k, nil
}

func (k *cluster) pods() coreclient.PodInterface { return k.core.Pods(k.namespace) }

// execConfig is the configuration of the connection of an exec, with the certificate that a command gives.
func (k *cluster) execConfig(ctx context.Context) (*rest.Config, error) {
	if k.given == nil {
		return k.config, nil
	}
	g, err := k.given.Get(ctx)
	if err != nil || len(g.Cert) == 0 {
		return k.config, err
	}
	config := rest.CopyConfig(k.config)
	config.CertData, config.KeyData = g.Cert, g.Key
	return config, nil
}

// stream runs the holder's binary in a pod.
func (k *cluster) stream(pod, binary string) holder.Stream {
	return func(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
		request := k.core.RESTClient().Post().Resource("pods").Namespace(k.namespace).Name(pod).SubResource("exec").VersionedParams(&corev1.PodExecOptions{
			Container: containerName, Command: append([]string{binary}, args...), Stdin: in != nil, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
		config, err := k.execConfig(ctx)
		if err != nil {
			return k.failed("run the holder in pod "+pod, err)
		}
		sockets, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, request.URL().String())
		if err != nil {
			return k.failed("run the holder in pod "+pod, err)
		}
		transport, upgrader, err := spdy.RoundTripperFor(config)
		if err != nil {
			return k.failed("run the holder in pod "+pod, err)
		}
		older, err := remotecommand.NewSPDYExecutorRejectRedirects(transport, upgrader, http.MethodPost, request.URL())
		if err != nil {
			return k.failed("run the holder in pod "+pod, err)
		}
		executor, err := remotecommand.NewFallbackExecutor(sockets, older, func(err error) bool {
			return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
		})
		if err != nil {
			return k.failed("run the holder in pod "+pod, err)
		}
		words := new(life.Words)
		options := remotecommand.StreamOptions{Stdout: out, Stderr: words}
		if in != nil { // a nil reader in an interface would be one
			options.Stdin = in
		}
		err = executor.StreamWithContext(ctx, options)
		var code utilexec.CodeExitError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &code):
			return &exitError{
				error: runtime.Errorf(runtime.CodeSpawnFailed, "the holder in pod %s ended with %d: %s", pod, code.Code, words), code: code.Code,
			}
		}
		return k.failed("run the holder in pod "+pod, err)
	}
}

// exitError is the end of a command in a pod, other than with 0.
type exitError struct {
	error
	code int
}

// ExitCode is what holder.Stream wants of it.
func (e *exitError) ExitCode() int { return e.code }

func (e *exitError) Unwrap() error { return e.error }

// said returns the cluster's text of an error, in one line.
func said(err error) string { return life.OneLine(err.Error()) }

// refusal is how an API server says what an account may not do.
var refusal = regexp.MustCompile(`User "([^"]*)" cannot (\S+) resource "([^"]*)"`)

// Words of admission.
var (
	// bounds are how an API server refuses what a LimitRange does not allow.
	bounds = regexp.MustCompile(`(maximum|minimum) \S+ usage per (Container|Pod) is |max limit to request ratio per (Container|Pod) is `)
	// quotas are how it refuses what a quota does not allow. One that is new has not been counted, and lets nothing in until then.
	quotas = regexp.MustCompile(`exceeded quota: |insufficient quota to |status unknown for quota: `)
)

// failed makes a *runtime.Error of the cluster's: UNAVAILABLE when it was not reached or did not answer, RESOURCE_LIMIT for a
// quota and for the limits of the namespace, SPAWN_FAILED for what it refused. A verb that the account lacks is named.
func (k *cluster) failed(what string, err error) error {
	var known *runtime.Error
	var credential *execcredential.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return runtime.Errorf(runtime.CodeCanceled, "%s: the call was cancelled", what)
	case apierrors.IsUnauthorized(err):
		return &runtime.Error{
			Code: runtime.CodeUnavailable, Message: what + ": the cluster does not know the runtime's account", Retry: true,
			Hint: "its token or certificate may have ended; renew the kubeconfig",
		}
	case apierrors.IsTooManyRequests(err):
		return &runtime.Error{
			Code: runtime.CodeUnavailable, Message: what + ": the API server of the cluster is asked too much: " + said(err), Retry: true,
			Hint: "look at what asks it",
		}
	case byProxy(err):
		return &runtime.Error{
			Code: runtime.CodeUnavailable, Message: what + ": something on the way answers instead of the API server of the cluster: " + said(err), Retry: true,
			Hint: "look at the load balancer or proxy before it, and whether it runs",
		}
	case errors.As(err, &credential):
		return &runtime.Error{Code: runtime.CodeUnavailable, Message: what + ": " + said(credential), Retry: true, Hint: credential.Hint}
	case apierrors.IsForbidden(err) && quotas.MatchString(err.Error()):
		return &runtime.Error{
			Code: runtime.CodeResourceLimit, Message: what + ": " + said(err), Retry: true,
			Hint: "stop an agent, ask for less, or raise the quota of the namespace " + k.namespace,
		}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "failed quota: "): // for a container that an admission webhook has put there
		return &runtime.Error{
			Code: runtime.CodeSpawnFailed, Message: what + ": " + said(err),
			Hint: "give the namespace " + k.namespace + " a LimitRange with a default of it, or take it out of the quota",
		}
	case apierrors.IsForbidden(err) && bounds.MatchString(err.Error()):
		return &runtime.Error{
			Code: runtime.CodeResourceLimit, Message: what + ": " + said(err),
			Hint: "ask for what kubectl -n " + k.namespace + " get limitranges allows, with limits of the request, or limits and requests in the runtime's configuration",
		}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &runtime.Error{
			Code: runtime.CodeSpawnFailed, Message: what + ": the namespace " + k.namespace + " is being deleted",
			Hint: "make it again once it is gone, with the role of the runtime, or name another one in the runtime's configuration",
		}
	case absent(err) && kindOf(err) == "namespaces":
		return &runtime.Error{
			Code: runtime.CodeSpawnFailed, Message: what + ": the cluster has no namespace " + k.namespace,
			Hint: "make it, with the role of the runtime, or name another one in the runtime's configuration",
		}
	case apierrors.IsForbidden(err):
		hint := "look at the admission rules of the namespace " + k.namespace
		if m := refusal.FindStringSubmatch(err.Error()); m != nil {
			return &runtime.Error{
				Code: runtime.CodeSpawnFailed, Message: fmt.Sprintf("%s: the runtime's account lacks the verb %s on %s in the namespace %s", what, m[2], m[3], k.namespace),
				Hint: fmt.Sprintf("give %s a role with it, as the chart's has", m[1]),
			}
		}
		return &runtime.Error{Code: runtime.CodeSpawnFailed, Message: what + ": " + said(err), Hint: hint}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return &runtime.Error{Code: runtime.CodeSpawnFailed, Message: what + ": " + said(err)}
	case strings.Contains(err.Error(), "failed calling webhook"): // as the API server says it of one that it cannot do without
		return &runtime.Error{
			Code: runtime.CodeUnavailable, Message: what + ": an admission webhook of the cluster fails: " + said(err), Retry: true,
			Hint: "look whether what serves it runs; kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations lists them",
		}
	case strings.Contains(err.Error(), "error dialing backend"): // as the API server says it of a kubelet
		return &runtime.Error{
			Code: runtime.CodeUnavailable, Message: what + ": its node does not answer the API server: " + said(err), Retry: true,
			Hint: "look at it with kubectl get nodes; agents there run on as far as is known, until the cluster says otherwise",
		}
	}
	message := what + ": the API server of the cluster does not answer"
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown || kindOf(err) != "" {
		message = what + ": the API server of the cluster fails"
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		message += ": " + said(err)
	}
	return &runtime.Error{Code: runtime.CodeUnavailable, Message: message, Retry: true, Hint: "look whether it runs and is reached from here"}
}

// byProxy reports whether an error is the answer of something before the API server, such as a load balancer whose servers are away:
// the API server says in a form of its own that it refuses something. That it fails it may say in plain text, too.
func byProxy(err error) bool {
	var answer apierrors.APIStatus
	return apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) && errors.As(err, &answer) &&
		answer.Status().Code < http.StatusInternalServerError
}

// kindOf returns of which kind, such as pods, the API server means what it refuses or does not have; empty where it does not say.
func kindOf(err error) string {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return ""
	}
	return answer.Status().Details.Kind
}

// absent reports whether the API server says by an error that something is not there.
func absent(err error) bool { return apierrors.IsNotFound(err) && !byProxy(err) }

// get returns a pod as the API server has it now; nil if there is none. The errors are those of failed.
func (k *cluster) get(ctx context.Context, name string) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	pod, err := k.pods().Get(ctx, name, metav1.GetOptions{})
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, k.failed("look at the pod "+name, err)
	}
	return pod, nil
}

// list returns the pods that a selector names as the API server has them now. The errors are those of failed.
func (k *cluster) list(ctx context.Context, selector string) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	list, err := k.pods().List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, k.failed("look for pods", err)
	}
	return list.Items, nil
}

// remove asks for the removal of a pod; one that is not there is no error.
func (k *cluster) remove(ctx context.Context, name, uid string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	options := metav1.DeleteOptions{}
	if uid != "" {
		options = *metav1.NewPreconditionDeleteOptions(uid)
	}
	err := k.pods().Delete(ctx, name, options)
	if err == nil || absent(err) || apierrors.IsConflict(err) && !byProxy(err) {
		return nil // one of another uid is another pod
	}
	return k.failed("remove the pod "+name, err)
}
