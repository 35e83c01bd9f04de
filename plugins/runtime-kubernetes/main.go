// Command runtime-kubernetes is the runtime plugin that starts agents in pods of a Kubernetes cluster. Started by hand with
// PORT set it is a runtime server.
package main

import (
	"github.com/wardroom/wardroom/plugins/runtime-kubernetes/kubernetes"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// version may be set by the build.
var version = "0.1.0"

func main() { plugin.Main(kubernetes.Definition(version)) }
