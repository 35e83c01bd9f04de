// Package testbed runs the product for rigs: it builds the binaries, starts processes that say when they are ready,
// kills and stops them, moves their clock, and finds free ports.
//
// It owns the life of processes. It does not own what a rig asks of them, nor the judgement of what came of it. The
// rigs below scripts use it: faultrig, turnrig and soak.
package testbed
