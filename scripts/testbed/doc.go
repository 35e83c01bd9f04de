// Package testbed runs the product for rigs and tests from outside: it builds the binaries once, starts a server and other
// processes that say when they are ready, kills and stops them, moves their clock, connects agents, receives webhooks,
// waits for conditions, and reads what /proc knows of processes.
//
// It owns the life of processes. It does not own what a rig asks of them, which goes through sdk/client, nor the judgement
// of what came of it. All rigs below scripts and the tests of appliance/e2e stand on it.
package testbed
