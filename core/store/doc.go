// Package store keeps Wardroom's durable state and implements core.Store and core.Tx. What it needs of a database is the
// port of package kv, behind which lies Badger, or memory in tests.
//
// It owns the key layout, the transactions and their group commit, the indexes and counters behind lists,
// the event log, retention, schema migrations, and dump and restore. It does not know what a status change
// means, when an event is due or who may see a record: engine, pattern, agents and api decide that. The
// appliance opens one Store and hands it to all of them; no other package touches Badger.
//
// # Writing
//
// Every write goes through one writer goroutine. It takes all closures that wait, runs them one after the
// other against one Badger transaction, each on a buffer of its own so that a failing closure leaves
// nothing behind, and commits them together with a single sync. While that sync runs the next closures
// gather. Because there is one writer, counters, sequence numbers and the set of active executions live in
// its memory and cost one key per batch.
//
// # Records that cannot be read
//
// Whoever reads more than one record passes over those that cannot be decoded (broken.go), and what only counts or
// leads to others is made anew from them. tables.go says what lies under each prefix, derive.go what follows from it;
// Check and Repair go over a stopped store by them.
//
// # Keys
//
// What lies under which key, schema version 7, stands above the list of tables in tables.go.
package store
