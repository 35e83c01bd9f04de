// Package agenttest is a scripted control plane for those who write agents: it speaks the server's side of
// the agent protocol on a loopback port, and does exactly what a test tells it to.
//
// It owns registration, resume by token, and the record of what agents sent. It does not own any scheduling:
// tasks, acknowledgements and cancels are sent by the test, so that every order of events can be played.
// The tests of sdk/agent and of the example agents in all languages call it.
package agenttest
