// Package sdk is the root of what third parties build on: it never imports the control plane.
//
//	agent           a client library for connected agents
//	agent/protocol  the frames that agents and the control plane exchange
//	client          a client of the REST API
//
// It holds no code of its own.
package sdk
