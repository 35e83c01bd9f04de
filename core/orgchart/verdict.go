package orgchart

import "encoding/json"

// Words of a verdict.
const (
	Approve = "approve"
	Revise  = "revise"
	Reject  = "reject"
)

// Verdict is what a reviewer or approver says of the work.
type Verdict struct {
	Verdict    string  // Approve, Revise or Reject
	Confidence float64 // 0 to 1; 1 when none is given
	Feedback   string  // may be empty
}

// ReadVerdict reads the verdict in an agent's result; false when there is none, or more than one.
func ReadVerdict(result json.RawMessage) (Verdict, bool) { return Verdict{}, false }

// VerdictRequest is the text that asks an agent for a verdict.
func VerdictRequest() string { return "" }
