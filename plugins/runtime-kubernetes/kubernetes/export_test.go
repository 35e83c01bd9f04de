package kubernetes

// Decode is decode, for tests from outside.
var Decode = decode

// Labels that tests look for.
const (
	LabelAgent = labelAgent
	LabelOwner = labelOwner
)

// Sweep looks for leftovers once.
var Sweep = (*Launcher).sweepOnce
