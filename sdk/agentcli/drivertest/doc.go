// Package drivertest runs a real coding CLI in a terminal for the tests of its adapter: against the repository's
// fake model, with a real hook relay, and with every signal of the driver on record.
//
// It owns a Launcher over os/exec and a pty, the relay (the test binary itself, started again), the fake model's
// process, and Agent, a session without a queue or recovery. It does not own the real session, which is
// agentcli.NewRuntime's; only tests call it.
package drivertest
