package cluster

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/wardroom/wardroom/sdk/execcredential"
	"github.com/wardroom/wardroom/sdk/secret"
)

// accountDir is where a pod has the token of its service account, the authorities of the cluster and its namespace.
var accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// inside is the address of the API for pods, unless the environment names another one.
const inside = "kubernetes.default.svc"

// One group is enough here; the set of all of client-go would make the plugin three times as large.
var (
	scheme         = runtime.NewScheme()
	codecs         = serializer.NewCodecFactory(scheme)
	parameterCodec = runtime.NewParameterCodec(scheme)
	_              = corev1.AddToScheme(scheme) // fails for types that clash only
)

// connection leads to a cluster.
type connection struct {
	rest      *rest.RESTClient
	http      *http.Client
	given     *execcredential.Credential // by a command; nil without one
	namespace string                     // of references without one
}

// connect reads how the cluster is reached. It opens no connection.
func (c *Config) connect() (*connection, *secret.Error) {
	config, namespace, err := c.locate()
	if err != nil {
		return nil, err
	}
	if c.Namespace != "" {
		namespace = c.Namespace
	}
	namespace = cmp.Or(namespace, metav1.NamespaceDefault)
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.APIPath = "/api"
	config.NegotiatedSerializer = codecs.WithoutConversion()
	config.UserAgent = "wardroom-secrets-kubernetes"
	config.QPS, config.Burst = 50, 100
	config.Wrap(func(t http.RoundTripper) http.RoundTripper { return bounded{t} })
	client, given, failed := httpClient(config)
	if section, ok := errors.AsType[*execcredential.Error](failed); ok {
		return nil, &secret.Error{Code: secret.CodeNotConfigured, Message: section.Error(), Hint: section.Hint}
	}
	if failed != nil {
		return nil, c.unusable()
	}
	conn := &connection{http: client, given: given, namespace: namespace}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token would go along
	if conn.rest, failed = rest.RESTClientForConfigAndClient(config, client); failed != nil {
		conn.close()
		return nil, c.unusable()
	}
	return conn, nil
}

// dialTime bounds a connection to the cluster.
const dialTime = 30 * time.Second

// close lets go of what the connection holds. A command that gets the credential ends.
func (c *connection) close() {
	if c.given != nil {
		c.given.Close()
	}
	c.http.CloseIdleConnections()
}

// unusable is the error of settings that lead nowhere; what client-go says of them may quote credentials.
func (c *Config) unusable() *secret.Error {
	if c.Kubeconfig == "" {
		return &secret.Error{
			Code: secret.CodeNotConfigured, Message: "there is no service account in " + accountDir, Retry: true,
			Hint: "run in a pod with a service account whose token is mounted, or set kubeconfig",
		}
	}
	return &secret.Error{
		Code: secret.CodeNotConfigured, Message: "the file kubeconfig, or the context in it, cannot be used", Retry: true,
		Hint: "look at it with `kubectl --kubeconfig " + c.Kubeconfig + " config view`; files that it names must be readable for the service",
	}
}

// locate returns the settings of client-go, and the namespace that belongs to them.
func (c *Config) locate() (*rest.Config, string, *secret.Error) {
	if c.Kubeconfig != "" {
		loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig}, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
		config, err := loader.ClientConfig()
		if err != nil {
			return nil, "", c.unusable()
		}
		namespace, _, err := loader.Namespace()
		if err != nil {
			return nil, "", c.unusable()
		}
		return config, namespace, nil
	}
	if _, err := os.Stat(filepath.Join(accountDir, "token")); err != nil {
		return nil, "", c.unusable()
	}
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		host, port = inside, "443"
	}
	namespace, _ := os.ReadFile(filepath.Join(accountDir, "namespace")) // the default one, without it
	return &rest.Config{
		Host: "https://" + net.JoinHostPort(host, port), BearerTokenFile: filepath.Join(accountDir, "token"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(accountDir, "ca.crt")},
	}, strings.TrimSpace(string(namespace)), nil
}
