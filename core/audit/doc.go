// Package audit keeps the audit trail: who did what, when, from where, and what came of it.
//
// It owns what is recorded at which level, the chain that ties each record to the one before it, the signed
// checkpoints, the queue of records that no transaction tells of, retention, and the delivery to sinks. It does not
// own the form of records, which is sdk/audit/trail's, nor where they lie, which is core/store's, nor the sinks, which
// are plugins.
//
// Records of changes are derived in one place: Hook, which the store calls at the end of each transaction. There the
// intent of the request, which core/api puts into its context for every route that changes anything, becomes a record,
// and so do the events that the transaction appended. What changes nothing in the store, such as refusals, is handed to
// Record.
package audit
