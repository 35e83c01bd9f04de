package core

// Ruling is an answer to an Access.
type Ruling struct {
	Allowed  bool
	Reason   string // for people: why not, or by what
	Scope    string // that is missing, or ""
	Revision string // of the policy that decided
}
