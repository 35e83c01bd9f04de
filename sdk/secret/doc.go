// Package secret is the contract of a secret provider: what reads secrets from where an organisation keeps
// them, and the Value that carries one without ever printing it.
//
// It owns the Go interface, its values, errors and their gRPC form (Serve and NewClient). It does not own
// references in configurations, nor caching: the appliance does both. Secret plugins implement Provider, the
// appliance calls it over a plugin connection.
package secret
