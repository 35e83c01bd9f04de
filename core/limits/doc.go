// Package limits decides who may send another request now: rates of all requests, of one client, of one pattern, and
// the networks that requests may come from. It counts in memory only, and forgets when the process ends. It does not
// know routes or credentials: core/api asks it once it knows who calls and what, before any other work is done.
package limits
