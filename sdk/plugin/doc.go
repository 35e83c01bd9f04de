// Package plugin makes a program a plugin, and speaks to one: what is common to runtimes, secret providers and
// audit sinks.
//
// It owns the handshake, the life of a plugin's process (log, prints, signals, death of the host), its base
// service (information, schema, configuration, health, metrics, shutdown) and the host's services for it. It
// does not own the contract of a kind (sdk/runtime, sdk/secret, sdk/audit), nor launching, supervising and
// restarting plugins, which is the host's. A plugin's main calls Main; core/pluginhost and sdk/plugintest use
// Plugins and Conn.
package plugin
