package docker

import "context"

// Decode is decode, for tests from outside.
var Decode = decode

// Labels and names that tests look for.
const (
	LabelAgent = labelAgent
	LabelOwner = labelOwner
	LabelRole  = labelRole
)

// Fetch pulls an image as a start does; a start waits longer than a test wants to.
func Fetch(ctx context.Context, l *Launcher, ref string) error { return l.images.fetch(ctx, ref) }

// Sweep looks for leftovers once.
var Sweep = (*Launcher).sweepOnce
