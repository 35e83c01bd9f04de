package docker

import (
	"github.com/docker/docker/api/types/filters"
)

// Labels of what this runtime makes.
const (
	labelRole         = "io.wardroom.role"
	labelOwner        = "io.wardroom.owner"        // of agents and probes: the identity of the state directory
	labelInstallation = "io.wardroom.installation" // of agents, as what follows
	labelAgent        = "io.wardroom.agent"
	labelName         = "io.wardroom.name"
	labelType         = "io.wardroom.type"
	labelNonce        = "io.wardroom.nonce"
	labelVersion      = "io.wardroom.version" // of the plugin
)

// Roles.
const (
	roleAgent   = "agent"
	roleProbe   = "probe"
	roleNetwork = "network"
)

// owned selects what is of this state directory and no other.
func owned(owner string, more ...string) filters.Args {
	args := filters.NewArgs(filters.Arg("label", labelOwner+"="+owner))
	for _, label := range more {
		args.Add("label", label)
	}
	return args
}
