// Package schedule starts executions and threads by the clock.
//
// It owns schedules: what their expressions mean in their time zones, which ticks are due, what becomes of a tick (overlap,
// catch-up, retries, blocked rights), their history, and the environment that they keep encrypted for threads. It does not
// know what an execution or a thread is: a core.Launcher starts, watches and cancels them, and reports whether whoever the
// schedule belongs to may have them. core/api calls it for people, appliance opens it after the engine.
//
// # Once per tick
//
// The record of a schedule, with its Cursor and the ticks that were Fired, is written in the transaction that stores the
// execution or the thread. A crash before it leaves the tick due, one after it leaves it done.
//
// # The clock
//
// Ticks are times on the wall, so they are compared with the wall clock. Cursor says up to where all were decided on; it
// follows the clock when that is set back. Fired holds what was started, skipped or given up on: a tick in it is never
// due again. So a clock that goes back doubles none, and what was passed over as missed while it was ahead comes at its
// own time. A clock that goes forward is like a time without the server: the catch-up policy says what is made up for.
package schedule
