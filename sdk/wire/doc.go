// Package wire holds the public types of Wardroom: one struct a noun, with the names of its JSON fields.
//
// It owns what the API answers with and the requests that it reads, one file a noun; the tags doc, enum, example and
// check are what the OpenAPI document says of a field, and what a request must keep. It does not own what only one
// layer knows (records of the store, frames of the agent protocol), nor any behaviour beyond JSON. It imports the
// standard library only. core uses its types or embeds them in what it stores, core/api answers with them, and
// sdk/client, sdk/runtime, sdk/agent/protocol and the command line read them.
//
// Times are time.Time here: the store keeps them whole, and answers have them in UTC with milliseconds.
package wire
