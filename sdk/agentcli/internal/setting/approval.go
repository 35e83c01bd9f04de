package setting

import (
	"github.com/wardroom/wardroom/sdk/runtime"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Approval is how much an agent may do without asking.
type Approval string

// Presets. What each means for a CLI is in the package comment of its adapter.
const (
	Readonly   Approval = wire.ApprovalReadonly
	Standard   Approval = wire.ApprovalStandard
	Permissive Approval = wire.ApprovalPermissive
	Autonomous Approval = wire.ApprovalAutonomous
)

// ApprovalOf reads the preset of a spec; empty is Standard. INVALID_SPEC.
func ApprovalOf(spec *runtime.Spec) (Approval, error) {
	switch a := Approval(spec.Approval); a {
	case "":
		return Standard, nil
	case Readonly, Standard, Permissive, Autonomous:
		return a, nil
	}
	return "", runtime.Invalid("approval", "%q is not one of readonly, standard, permissive, autonomous", spec.Approval)
}
