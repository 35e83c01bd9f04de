// Package rawjson reads JSON in place: values stay slices of the text they came in, so numbers keep every
// digit and nothing is copied that is not looked at.
//
// It owns checking, walking, comparing and compacting of JSON text, and knows nothing of patterns. Only
// core/pattern calls it: inputs and answers go through it some thousand times a second. All functions
// but Check expect text that Check accepted; given other text they return nonsense but never panic.
// Everything here is pure and safe for concurrent use.
package rawjson
