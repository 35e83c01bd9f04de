// Package plugin makes a plugin of an agentcli.Launcher: the definition that plugin.Main takes, with both
// faces of a runtime. Started by the appliance it is a plugin; started by hand with PORT set it is a runtime
// server.
//
// It owns the order in which one configuration takes over from another, health, metrics and the environment of a
// program that is started by hand. It does not own the launcher, nor what the runtime does (sdk/agentcli), nor
// the protocols (sdk/plugin, sdk/runtime/server). Authors of runtimes call Definition from their main.
package plugin
