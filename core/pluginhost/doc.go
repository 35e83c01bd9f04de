// Package pluginhost runs the plugins of the appliance: it finds and verifies their binaries, starts them as
// child processes, gives them their settings, watches them, restarts them with backoff, puts those that crash
// again and again into quarantine, and forwards the calls of the core to whichever process is alive.
//
// It owns processes, sockets, manifests, the logs of plugins and the record of which are enabled. It does not
// own the contract (sdk/plugin and the packages of the kinds do) nor what a runtime, a secret provider or an
// audit sink is used for: Runtime, Secret and Audit hand those out as stable values that outlive restarts.
// The appliance makes one Host from the configuration, opens it before what uses plugins and closes it after;
// core/api serves it as core.PluginService.
package pluginhost
