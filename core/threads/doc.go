// Package threads supervises managed threads: long-lived pieces of work of one agent each, from the request to the
// outcome that is kept.
//
// It owns the records of threads, their events, the queues of their inputs, their timers, their end, and ad-hoc
// executions, which live as long as their threads. It does not own the agents (core/runtimes starts and drives them,
// core/agents speaks to those that host threads elsewhere), nor directories (core/workspace), nor what is remembered
// (core/memory), nor what a block in a message means (core/threads/report) or which prompt is answered by a rule
// (core/threads/rules). core/api serves it, core/roles makes the agents of org charts threads by it.
//
// Each thread that is not over has a goroutine that takes it through its life. Whatever it does follows from the
// stored record alone, so that it goes on from there after a crash. All changes of a record, the events that follow
// from them included, are one transaction each.
package threads
