package docker

// Decode is decode, for tests from outside.
var Decode = decode

// Labels and names that tests look for.
const (
	LabelAgent = labelAgent
	LabelOwner = labelOwner
	LabelRole  = labelRole
)

// Sweep looks for leftovers once.
var Sweep = (*Launcher).sweepOnce
