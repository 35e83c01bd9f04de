// Package appliance is the product: it joins the control plane's packages into one process.
//
// It owns the order in which parts start and stop, the reload of the configuration, the process log, the
// health checks, what metrics count, and the talk with the service manager. It does no work of its own.
// appliance/cmd/wardroom runs it; tests run it in-process with temporary directories and real sockets.
package appliance
