package kubernetes

import (
	"net"
	"net/http"

	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/connrotation"

	"github.com/wardroom/wardroom/sdk/execcredential"
)

// takeCredential takes the command out of a configuration, where one gets its credential, and returns the transport that has it. Nil
// without one. A run is shorter than callTime, so that a call reports one that hangs.
func takeCredential(config *rest.Config) (*execcredential.Credential, http.RoundTripper, error) {
	command := config.ExecProvider
	config.ExecProvider = nil
	over, err := config.TransportConfig()
	if err != nil || command == nil || over.HasTokenAuth() || over.HasBasicAuth() || over.HasCertAuth() { // these count for more
		return nil, nil, err
	}
	connections := connrotation.NewConnectionTracker() // those with the last certificate
	o := execcredential.Options{
		Command: command.Command, Args: command.Args, APIVersion: command.APIVersion, InstallHint: command.InstallHint,
		NeedsTerminal: command.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode, Renewed: connections.CloseAll,
	}
	for _, one := range command.Env {
		o.Env = append(o.Env, one.Name+"="+one.Value)
	}
	if command.ProvideClusterInfo {
		whole := rest.CopyConfig(config)
		whole.ExecProvider = command
		cluster, err := rest.ConfigToExecCluster(whole)
		if err != nil {
			return nil, nil, err
		}
		shown := new(clientauthenticationv1.Cluster)
		if err := clientauthenticationv1.Convert_clientauthentication_Cluster_To_v1_Cluster(cluster, shown, nil); err != nil {
			return nil, nil, err
		}
		o.Cluster = shown
	}
	c, err := execcredential.New(o)
	if err != nil {
		return nil, nil, err
	}
	config.Wrap(c.Transport)
	if over, err = config.TransportConfig(); err != nil {
		return nil, nil, err
	}
	over.TLS.GetCertHolder = &transport.GetCertHolder{GetCert: c.Certificate}
	dialer := &net.Dialer{Timeout: callTime, KeepAlive: callTime}
	over.DialHolder = &transport.DialHolder{Dial: connrotation.NewDialerWithTracker(dialer.DialContext, connections).DialContext}
	if over.Proxy == nil {
		over.Proxy = http.ProxyFromEnvironment // which it is without it, but then client-go keeps the transport, and the credential, for ever
	}
	next, err := transport.New(over)
	return c, next, err
}
