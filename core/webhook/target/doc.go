// Package target keeps callbacks from being used as a way into the network: it says which URLs an endpoint may have and
// which addresses may be dialled for it.
//
// A URL is checked when an endpoint is created (CheckURL); that finds mistakes early and gives a reason with a field,
// but a name may resolve to anything later. So the concrete address is judged again when it is dialled, after
// resolution, on every connection (Guard.Control): a name that is bound to another address meanwhile gets nowhere.
// NewTransport joins the guard with the other rules of an outgoing callback: no proxy but a configured one, verified
// TLS, bounded response headers. It neither resolves names nor sends requests by itself, keeps no state but the
// transport's connections, and knows nothing of webhooks. The webhook package calls it.
package target
