// Package runtime is the contract of an agent runtime: what starts command-line agents somewhere (in a local
// terminal, a container, a cluster), types into them, tells what they do, and finds them again after a crash.
//
// It owns the Go interface, its values, errors and their gRPC form (Serve and NewClient). It does not own how
// an agent is driven (sdk/agentcli does that for any Launcher), nor the process of a plugin (sdk/plugin), nor
// HTTP (sdk/runtime/server serves a Runtime, sdk/runtime/client is one over HTTP). Plugin authors implement
// Runtime; the appliance calls it over a plugin connection or a URL and cannot tell the difference.
package runtime
