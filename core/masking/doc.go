// Package masking replaces values of JSON by the names of the fields they stand in.
//
// It owns what a path means and what replaces a value; the syntax of paths is core/internal/maskpath's. It does not know
// where masking is applied: core/audit, core/webhook, core/api and the log of the process hold a core.Masker, which
// appliance makes. Paths are compiled once; masking a value is one walk over its text.
//
// A path names a field wherever it ends: input.ssn is the field ssn of an input, in an execution as in the event that
// tells of it. What is named is masked with all that is in it; lists and objects stay what they are, and null stays null.
//
// Answers have a frame that programs go by, such as ids, states and times. It is never masked, nor are definitions of patterns. A path that ends in a
// wildcard masks only what people and agents wrote: inputs, results, metadata, messages. One that ends in a name masks
// texts of that name elsewhere as well, such as actor.ip.
package masking
