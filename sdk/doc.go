// Package sdk is the root of what third parties build on: it never imports the control plane.
//
//	agent           a client library for connected agents
//	agent/edge      hosts managed threads with an agent runtime beside it
//	agent/protocol  the frames that agents and the control plane exchange
//	client          a client of the REST API
//	webhook         verifies the webhooks that a program receives
//
// For plugins, from the outside in:
//
//	plugin          the process of a plugin: serve it, and speak to it
//	proto/v1        what is on the wire
//	runtime         the contract of agent runtimes, and its gRPC form
//	runtime/plugin  makes a plugin of an agentcli.Launcher
//	runtime/server  a runtime over HTTP; runtime/client is a runtime that speaks to one
//	runtimetest     a runtime in memory, for tests of whatever uses one
//	agentcli        a runtime made from a Launcher: sessions, screen, queue of messages, events, recovery
//	agentcli/local  rooms on this machine: directories, environment, files, the end of what runs in them
//	agentcli/...    claude, codex and gemini
//	vt              the terminal emulator
//	holder          a process that holds one agent's terminal, and its client
//	terminal        a terminal over a WebSocket
//	secret, audit   the contracts of the other kinds of plugins
//	execcredential  the credential for a cluster from the command of a kubeconfig
//	conformance     what each contract means, check by check; plugintest runs real plugins
//
// It holds no code of its own.
package sdk
