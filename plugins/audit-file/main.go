// Command audit-file is the audit sink that writes JSON lines into files, which it rotates and compresses.
//
// It owns the process only; the sink is in the package below. The appliance starts it, and `wardroom plugin verify` checks it.
package main

import (
	"github.com/wardroom/wardroom/plugins/audit-file/file"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// version may be set by the build.
var version = "0.1.0"

func main() { plugin.Main(file.Definition(version)) }
