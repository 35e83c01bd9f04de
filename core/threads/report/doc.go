// Package report reads what agents say of their own work.
//
// It owns the form of the structured block at the end of a message, the text that explains it to agents, and the
// summary that is taken from messages without one. It does not decide what follows from a report: core/threads,
// which calls it, does. It is pure and keeps nothing.
package report
