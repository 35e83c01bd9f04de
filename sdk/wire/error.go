package wire

import "fmt"

// Code is the stable, machine-readable reason of an error. The set is closed: it is the table of the interface
// specification, and each boundary (HTTP, gRPC, exit code) maps it once.
type Code string

// ErrorDetail is an error as agents and runtimes report it; their codes are their own.
type ErrorDetail struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Details Details `json:"details,omitempty"`
}

// Details are what an error says beside its message. Their numbers are json.Number, digit for digit as they were written.
type Details map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (d *Details) UnmarshalJSON(data []byte) (err error) {
	*d, err = exactly(data)
	return err
}

// Problem is one finding of a validator: where it is, and what is wrong there.
type Problem struct {
	Path   string `json:"path"`             // dotted path, for example steps[1].agents.min
	Line   int    `json:"line,omitempty"`   // 1-based line of the source text; 0 when there is none
	Column int    `json:"column,omitempty"` // 1-based, in characters of the line; 0 when it is not known
	Reason string `json:"reason"`           // what is wrong and what would be right
}

// String renders the problem as "line 12: steps[1].agents.min: must be at least 1".
func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("line %d: %s: %s", p.Line, p.Path, p.Reason)
	}
	return fmt.Sprintf("%s: %s", p.Path, p.Reason)
}
