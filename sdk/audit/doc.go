// Package audit is the contract of an audit sink: what keeps audit records somewhere, and says honestly up to
// where they are durable.
//
// It owns the Go interface, its values, errors and their gRPC form (Serve and NewClient). It does not own the
// records' content or hash chain, nor the cursor of what a sink still lacks: the appliance does. Audit plugins
// implement Sink, the appliance calls it over a plugin connection.
package audit
