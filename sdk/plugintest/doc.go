// Package plugintest runs a plugin's binary as the appliance does, for tests: over go-plugin with mutual TLS, a
// checksum, an environment of its own and the pipe that ends it with its parent.
//
// It owns the process: building it, starting it, killing it with SIGKILL and starting it anew over the same
// state, and what it logs. It does not own what is checked (sdk/conformance), nor supervision, which is
// core/pluginhost's. Tests of plugins call it.
package plugintest
