// Command secrets-aws is the secret provider that reads AWS Secrets Manager.
//
// It owns the process only; the provider is in the package below. The appliance starts it, and `wardroom plugin verify`
// checks it.
package main

import (
	"github.com/wardroom/wardroom/plugins/secrets-aws/aws"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// version may be set by the build.
var version = "0.1.0"

func main() { plugin.Main(aws.Definition(version)) }
