// Command runtime-local is the runtime plugin that starts agents on this machine. Started by hand with PORT set it
// is a runtime server.
package main

import (
	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// version may be set by the build.
var version = "0.1.0"

func main() { plugin.Main(local.Definition(version)) }
