// Package webhook delivers the public events to endpoints by signed HTTP requests, at least once each.
//
// It owns the endpoints, their secrets, the deliveries and all that happens to them: which events an endpoint gets, the
// order and number of its requests, retries, statistics, and the end of endpoints that fail for days. It does not own
// which addresses may be dialled (core/webhook/target), nor the events (whoever changes state writes them with it), nor
// the records on disk (core/store). core/api serves it, and appliance tells it of commits by Notify.
//
// One goroutine follows the log of public events and stores, in one transaction each, what is to be delivered and how
// far it is with the log. From then on each endpoint has a queue of its own in the store, of which memory holds a
// window. Attempts run on a goroutine each while they last, within a bound per endpoint and one for all. What came of
// them is written by one goroutine, as much at a time as has come together. After a crash the log is followed from
// where the store says, and what was not written is attempted again under the same ids.
package webhook
