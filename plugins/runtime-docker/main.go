// Command runtime-docker is the runtime plugin that starts agents in containers of a Docker engine of this machine.
// Started by hand with PORT set it is a container runtime server.
package main

import (
	"github.com/wardroom/wardroom/plugins/runtime-docker/docker"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// version may be set by the build.
var version = "0.1.0"

func main() { plugin.Main(docker.Definition(version)) }
