// Package rawjson reads JSON in place: values stay slices of the text they came in, so numbers keep every
// digit and nothing is copied that is not looked at (Decode copies).
//
// It owns checking, walking, comparing and compacting of JSON text, how strings and numbers are written and decoded,
// and the parts of which a strict reader is made: white space, numbers, escapes, kinds, sets of keys. It
// knows nothing of patterns or of requests, and its faults have an offset, not a line or a field.
// core/pattern calls it for inputs and answers, some thousand times a second; core/api reads request
// bodies with its parts, whose own scanner tells faults by line, column and field, and writes answers with
// it. All functions but Check, CheckLoose, Decode and the parts expect text that Check accepts; given other text
// they return nonsense but never panic. Everything but a KeySet is pure and safe for concurrent use.
package rawjson
