// Package agentcli drives coding CLIs, and any other command, in terminals: it is a runtime.Runtime made from a
// Launcher, which only starts a command with a terminal somewhere and finds it again.
//
// It owns sessions (one per agent: screen, scrollback, byte ring, viewers, the queue of messages, events, log,
// recovery) and the adapters that know the CLIs. It does not own where the command runs (Launcher), terminal
// emulation (sdk/vt), nor how the runtime is reached (sdk/plugin, sdk/runtime/server). Runtime
// plugins call NewRuntime.
package agentcli
