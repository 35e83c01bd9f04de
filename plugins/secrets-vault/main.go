// Command secrets-vault is the secret provider that reads Vault, and what speaks its interface.
//
// It owns the process only; the provider is in the package below. The appliance starts it, and `wardroom plugin verify`
// checks it.
package main

import (
	"github.com/wardroom/wardroom/plugins/secrets-vault/vault"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// version may be set by the build.
var version = "0.1.0"

func main() { plugin.Main(vault.Definition(version)) }
