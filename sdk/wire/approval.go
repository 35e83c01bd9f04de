package wire

// Presets of what an agent may do without asking, from the strictest. The comment of each CLI's adapter
// (sdk/agentcli/...) says what they mean for it.
const (
	ApprovalReadonly   = "readonly"
	ApprovalStandard   = "standard" // of a spec that names none
	ApprovalPermissive = "permissive"
	ApprovalAutonomous = "autonomous"
)

// ApprovalPresets returns the presets, from the strictest.
func ApprovalPresets() []string {
	return []string{ApprovalReadonly, ApprovalStandard, ApprovalPermissive, ApprovalAutonomous}
}
