// Package trigger starts executions and threads when signed requests come in.
//
// It owns triggers: their secrets, which are kept encrypted, the check of signatures, what makes a request one that was
// taken before, how a body becomes an input, and their history. It does not read HTTP: core/api hands it the body and the
// headers. It does not know what an execution or a thread is: a core.Launcher starts them, and reports whether whoever the
// trigger belongs to may have them.
//
// # What a stranger learns
//
// Nothing. A request for an id that does not exist, one without a signature and one with a wrong one get the same answer,
// after the same work: as many secrets are tried over the same body, made-up ones where there are none. A request that
// waited for others of its trigger is checked again: by then its secret may be over.
//
// # Once per request
//
// What a request is known by (its signature, and the sender's own id of it) is claimed in the transaction that stores what
// it starts. A crash before that leaves a request that was not answered, which senders repeat; one after it leaves one
// whose repeat gets the same answer. Claims are kept for core.IdempotencyTTL.
package trigger
