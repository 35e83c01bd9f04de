package cluster

import (
	"net"
	"net/http"

	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/connrotation"

	"github.com/wardroom/wardroom/sdk/execcredential"
)

// httpClient returns the client of a configuration, and the credential that a command gives it, or nil: client-go would run the command
// without an end, and have all calls wait for it.
func httpClient(config *rest.Config) (*http.Client, *execcredential.Credential, error) {
	command := config.ExecProvider
	config.ExecProvider = nil
	settings, err := config.TransportConfig()
	if err != nil {
		return nil, nil, err
	}
	if command == nil || settings.HasTokenAuth() || settings.HasBasicAuth() || settings.HasCertAuth() { // these count for more
		client, err := rest.HTTPClientFor(config)
		return client, nil, err
	}
	cluster, err := shown(config, command)
	if err != nil {
		return nil, nil, err
	}
	connections := connrotation.NewConnectionTracker() // those with the last certificate
	given, err := execcredential.New(execcredential.Options{
		Command: command.Command, Args: command.Args, Env: variables(command.Env), APIVersion: command.APIVersion, InstallHint: command.InstallHint,
		NeedsTerminal: command.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode, Cluster: cluster, Renewed: connections.CloseAll,
	})
	if err != nil {
		return nil, nil, err
	}
	config.Wrap(given.Transport)
	settings, err = config.TransportConfig()
	if err != nil {
		return nil, nil, err
	}
	settings.TLS.GetCertHolder = &transport.GetCertHolder{GetCert: given.Certificate}
	settings.DialHolder = &transport.DialHolder{Dial: connrotation.NewDialerWithTracker((&net.Dialer{Timeout: dialTime}).DialContext, connections).DialContext}
	if settings.Proxy == nil {
		settings.Proxy = http.ProxyFromEnvironment // which it is without it, but then client-go keeps the transport, and the credential, for ever
	}
	made, err := transport.New(settings)
	if err != nil {
		given.Close()
		return nil, nil, err
	}
	return &http.Client{Transport: made}, given, nil
}

func variables(list []clientcmdapi.ExecEnvVar) []string {
	var out []string
	for _, one := range list {
		out = append(out, one.Name+"="+one.Value)
	}
	return out
}

// shown returns what a command receives of the cluster; nil where it asks for nothing.
func shown(config *rest.Config, command *clientcmdapi.ExecConfig) (any, error) {
	if !command.ProvideClusterInfo {
		return nil, nil
	}
	whole := rest.CopyConfig(config)
	whole.ExecProvider = command
	cluster, err := rest.ConfigToExecCluster(whole)
	if err != nil {
		return nil, err
	}
	out := new(clientauthentication.Cluster)
	return out, clientauthentication.Convert_clientauthentication_Cluster_To_v1_Cluster(cluster, out, nil)
}
