// Command secrets-kubernetes is the secret provider that reads the secrets of a Kubernetes cluster.
//
// It owns the process only; the provider is in the package below. The appliance starts it, and `wardroom plugin verify`
// checks it.
package main

import (
	"github.com/wardroom/wardroom/plugins/secrets-kubernetes/cluster"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// version may be set by the build.
var version = "0.1.0"

func main() { plugin.Main(cluster.Definition(version)) }
