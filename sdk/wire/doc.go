// Package wire holds the public types of Wardroom: one struct a noun, with the names of its JSON fields.
//
// It owns what a turn of a managed agent came to; further nouns move here as the layers that repeat them are
// merged. It does not own what only one layer knows (records of the store, frames of the agent protocol), nor any
// behaviour beyond JSON. It imports the standard library only. core, sdk/runtime, sdk/agent/protocol, sdk/client
// and the command line use it.
package wire
