// Package netlimit bounds the connections of a server: how many there are, in total and of one address, and how long one
// may stand still. A write that the peer takes nothing of for the stall limit fails, and so ends its connection; one
// that the peer takes slowly goes on for as long as it goes on.
//
// It knows bytes and connections only: what a request is, is the matter of the server in front of it. A server wraps its
// listener with New, and calls Drain when it begins to stop, so that peers which take nothing do not hold up its end.
package netlimit
