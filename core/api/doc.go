// Package api is the HTTP face of the control plane: the one route table, the bodies that go in and out,
// the mapping of errors, event streams, idempotency keys and the OpenAPI document.
//
// It owns nothing but the wire: no business rule, no state beyond requests under way. A request gets its
// principal, is authorized, decoded and validated here, and then calls one method of a service interface
// of package core. The appliance makes a Server with New, mounts Handler on its listener and calls Drain
// and Close at the end.
//
// # How a request flows
//
// Server.ServeHTTP answers what concerns no route (preflights) and hands the rest to the router. Each
// route of the table runs through Server.serve, the only middleware: request id, headers, origin,
// principal, authorization, query, idempotency, handler, answer, metrics. A handler returns an answer or
// an error and never writes; streams and sockets write by themselves.
package api
