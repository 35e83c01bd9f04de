// Package client is a runtime.Runtime over the HTTP API of a runtime server.
//
// It owns requests, connections and what their failures mean: UNAVAILABLE when the server is not there,
// DELIVERY_UNKNOWN when a message may have reached it. It does not own the API (sdk/runtime/server documents it)
// nor the terminal's protocol (sdk/terminal). The appliance uses it for a runtime that is configured by URL.
package client
