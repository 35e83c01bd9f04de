// Package remote is what audit sinks over HTTP stand on: a client with limits, and how answers and failures of the
// network become errors of a sink.
//
// It owns no protocol: each sink knows its own. It keeps no records: a batch that fails is sent again by the appliance.
package remote
