// Package server serves any runtime.Runtime over HTTP and WebSocket: the runtime server of the
// interface. A runtime plugin that is started by hand runs it; the appliance reaches it by URL through
// sdk/runtime/client.
//
// It owns routes, bodies, errors, credentials and the frames of events. It does not own the terminal's protocol
// (sdk/terminal), nor anything about agents.
//
// # Routes
//
// Each is there with and without the prefix /api. Bodies are JSON; unknown fields are refused.
//
//	GET    /health                     {status, runtime}; needs no token. 503 when the runtime does not answer
//	GET    /capabilities               runtime.Capabilities
//	GET    /agents                     {agents, total, limit, offset, hasMore}, oldest first; status, type,
//	                                   installation, label=K=V, limit (none: all), offset
//	POST   /agents                     201 with the record; see spawnRequest for the body
//	GET    /agents/{id}                the record
//	DELETE /agents/{id}                204; force=true, timeout=MS to end by itself
//	POST   /agents/{id}/restart        the record
//	POST   /agents/{id}/send           {message | raw | keys, expectResponse, timeout, id} -> {sent, response}
//	POST   /agents/{id}/answer         {promptId, choice, text} -> {answered: true}
//	GET    /agents/{id}/logs           {agentId, logs}; tail, since, follow=true
//	GET    /agents/{id}/metrics        runtime.Metrics
//	GET    /events                     a stream of runtime.Event; after=SEQ, agentId, live=true
//	POST   /recover                    {handles} -> {results}
//	POST   /prune                      {installation, keep, graceMs, dryRun} -> runtime.PruneReport
//	WS     /ws/agents/{id}/terminal    see sdk/terminal
//	WS     /ws/events                  {event, data, timestamp}; agentId, after=SEQ
//
// Streams are server-sent events, or JSON lines where Accept is application/x-ndjson. A stream sends a comment
// or an empty line every 15 seconds. An error within a stream is its last item: an event "error" or a line
// {"error": ...}.
//
// A record is the public one: without handle and environment, and blocked is status busy with statusReason
// blocked. With full=true agents are runtime.Agent as the runtime gave them.
//
// # Errors
//
// {"error": {"code", "message", "details"}}: code is the runtime's (UNAUTHORIZED where a token is missing or
// wrong), details the whole runtime.Error. The status is that of Code.HTTPStatus.
//
// # Who may call
//
// On a loopback address everybody on the machine may, but no web page of another origin, and only under a name
// of the machine itself, which keeps a page from rebinding its own name to this address. Elsewhere a token is
// needed: Authorization: Bearer, or for WebSockets an entry bearer.TOKEN in Sec-WebSocket-Protocol.
package server
