package codex

import (
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// NewImpatient is New with less patience for a network that is not there.
func NewImpatient(patience time.Duration) agentcli.Adapter { return adapter{patience: patience} }

// ReadUsage is readUsage.
var ReadUsage = readUsage
