// Package plugintest runs a plugin's binary as the appliance does, for tests: over go-plugin with mutual TLS, a
// checksum, an environment of its own and the pipe that ends it with its parent.
//
// It owns the process: building it, starting it, killing it with SIGKILL and starting it anew over the same
// state, and what it logs. Beside it are checks that tests of several audit sinks make within their own process. It
// does not own what every plugin is checked for (sdk/conformance), nor supervision, which is core/pluginhost's. Tests
// of plugins call it.
package plugintest
