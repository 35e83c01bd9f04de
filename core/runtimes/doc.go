// Package runtimes keeps the managed agents: it chooses the runtime that spawns one, stores its record and its
// events, and finds it again after a crash of the appliance, of the runtime, or of both.
//
// It owns the records and their positions in the runtimes' event streams. It does not own how a runtime is
// reached (core/pluginhost launches plugins, sdk/runtime/client speaks to a URL; the appliance hands both over as
// Sources), nor how an agent is driven (the runtime's matter), nor HTTP. core/api serves it, core/threads will
// build on it.
package runtimes
