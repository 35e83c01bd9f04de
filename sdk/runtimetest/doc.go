// Package runtimetest is a runtime.Runtime without terminals and processes of its own: an agent is a loop that runs
// each line it is given with sh, and writes what comes out to a screen in memory.
//
// It is the smallest thing that keeps the whole contract, so it shows runtime authors what the contract means,
// and stands in for a runtime in tests of whatever uses one. It does not own the contract's checks
// (sdk/conformance), and drives no CLI. Tests call it; no product does.
//
// Agents are of type shell. Beside commands of sh they know: exit N; ask TEXT, which waits for an answer and
// prints it; login URL, which reports that a login is needed. One command runs at a time, and lines wait for it.
package runtimetest
