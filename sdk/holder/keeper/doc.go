// Package keeper is the process that holds one agent's terminal, so that the agent outlives everything that
// drives it. It owns the pseudo-terminal, the command in it, all that the command starts (it is their
// subreaper), the ring of the last output, the checkpoint note, the waiting hook calls and the exit file. It does
// not know what runs in the terminal, and decides nothing: its client does (sdk/holder), of which there is one at
// a time.
//
// Main is the whole program of plugins/holder. A machine may run a thousand of it, so it imports nothing
// that costs memory: no logging, no JSON, no net/http.
package keeper
