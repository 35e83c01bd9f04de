// Package events is the in-process bus: it hands committed events to whoever streams them.
//
// It owns subscriptions, their bounded buffers, and the join of stored and live events that Stream makes.
// It does not store events, give them their order or deliver them outside: the store's commit hook feeds
// Publish, and api and engine read streams. Live-only events such as task progress have no sequence number
// and come straight from their maker.
//
// An event is published under its subject and, if it has one, its group. Stream ends with a last event; Follow and Live
// go on for ever.
//
// A publisher never waits. A subscriber that falls behind by more than its buffer is dropped as a whole,
// never single events, and reads what it missed from the store.
package events
