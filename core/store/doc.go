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
// # Key layout, schema version 5
//
// esc(s) is the string with 0x00 written as 0x00 0xFF, ended by 0x00 0x01: no name is a prefix of another,
// and the order of names is the order of keys. be32 and be64 are big-endian numbers. JSON means the JSON
// form of the core type; the binary values are described in record.go and deliveryrecord.go. Status and event of a
// delivery are one byte each, as there.
//
//	x/<execution id>                          execution, JSON; ids sort by time, so this is the unfiltered list
//	ix/xa/<execution id>                      active executions only: status, pattern, hashes it refers to, row
//	ix/xs/esc(status)<execution id>           terminal executions: row, which is what lists show of one
//	ix/xps/esc(pattern)esc(status)<exec. id>  terminal executions; the active ones of a pattern are found in memory
//	ix/xb/esc(batch)<execution id>            items of a batch
//	ix/xc/esc(creator)<execution id>          executions by who made them
//	ix/xe/esc(code)<execution id>             executions by the code of their error
//	ix/xm/esc(key)esc(value)<execution id>    executions by metadata, as core.IndexedMetadata has it
//	tp/m/be16(place), tp/h/be16(place)        what happened to executions in a minute or an hour, see span.go
//	c/<pattern>                               executions per status, in the order of core.ExecutionStatuses
//	p/esc(name)<version>                      pattern version, JSON
//	d/<hash>                                  be64 Unix milliseconds of the put, then the definition's source
//	dr/<hash>                                 be64 number of executions and pattern versions with that hash
//	b/<batch id>                              batch, JSON without results
//	bi/esc(batch id)be32(index)               input of an item, as given
//	br/esc(batch id)be32(index)               how an item stands, JSON; of earlier versions with what came of it
//	bv/esc(batch id)be32(index)               what came of an item that is over, JSON
//	ix/ba/<batch id>                          running batches
//	a/<agent id>                              agent record, JSON
//	ma/<managed agent id>                     managed agent record, JSON
//	rt/<runtime>                              be64 sequence up to which the runtime's events are stored
//	q/<question id>                           question, JSON; ids sort by time
//	th/<thread id>                            thread record without its context files, JSON; ids sort by time
//	tf/<thread id>                            context files of a thread, JSON
//	ts/<thread id>                            what lists need of a thread: status, execution, role, agent type, creator
//	ti/esc(thread id)                         be64 number up to which inputs of a thread were forgotten
//	ti/esc(thread id)be64(number)             input of a thread, JSON
//	w/<workspace id>                          workspace, JSON
//	dc/<decision id>                          decision, JSON
//	df/esc(execution id)<fingerprint>         id of the decision with that fingerprint
//	e/<experience id>                         experience, JSON
//	ef/<fingerprint>                          id of the experience with that fingerprint
//	wh/<webhook id>                           webhook record, JSON
//	wn/<webhook id>                           be32 number of the webhook; one that is made anew has another
//	v/<delivery id>                           delivery; ids sort by time
//	k/<key id>                                API key, JSON with MACs of its secrets
//	kn/<name>                                 id of the API key that was put last under that name
//	at/<token id>                             registration token of agents, JSON with the MAC of its secret
//	s/<session id>                            session of a person, JSON with the MAC of its secret
//	au/be64(sequence)                         audit record: be64 Unix milliseconds, then the record, JSON
//	ac/<sink>                                 be64 sequence up to which an audit sink has every record
//	sc/<schedule id>                          schedule, JSON
//	tg/<trigger id>                           trigger, JSON with its secrets encrypted
//	er/<erasure id>                           erasure, JSON; with its subject until it is over
//	em/esc(erasure id)<id>                    kind of something that the erasure removes, until it is over
//	ix/vl/be32(number)<status><event><id>     every delivery: be64 sequence of its event while that is needed, or empty
//	ix/vd/be32(number)be64(next)<id>          pending deliveries by next attempt, Unix ns, so that times sort
//	vc/be32(number)                           deliveries of a webhook per status and event
//	ix/<kind><letters>/esc(value)...<id>      list of a kind by the properties that the letters name; see below
//	n/<kind><letters>/esc(value)...           be64 number of rows of that list
//	i/<sha256 of esc(scope)esc(key)>          idempotency record, JSON
//	ix/i/be64(claimed at, Unix ms)<sha256>    the same by age, for retention
//	j/esc(subject)be64(seq)                   event, the journal of its subject
//	j/esc(group)be64(seq)                     subject of an event that has a group, under the same sequence
//	o/be64(seq)                               subject of a public event: the log of all subjects
//	cur/<name>                                be64 sequence up to which a log consumer is done
//	bad/<key>                                 note of a record that cannot be read, JSON
//	meta/schema                               be32 schema version
//	meta/schema-copy                          the same, should that record become unreadable
//	meta/seq                                  be64 last sequence number given
//	meta/webhooks                             be64 last number that a webhook got
//	meta/audit                                end of the audit trail: 1, be64 sequence, oldest kept, bytes, then the hash
//	meta/installation                         id of the installation whose state this is
//	meta/redo                                 a transaction too large for one Badger commit, being applied
//	meta/redo-broken                          such a transaction that could not be read
//
// Kinds of lists and their letters, in this order: q questions (x execution, s status), t threads (x, s terminal status,
// r role, t agent type), ta active threads (x), w workspaces (x, s status), d decisions (x, t thread, c category), e
// experiences (x, g repository, r role, o outcome), k API keys (o owner), at registration tokens (b creator), s sessions (u
// user), b batches (s, p pattern, c creator) and z erasures (s). A record is in the list of every combination of properties that it has a
// value for. Threads, questions, decisions and API keys are beside these in one more list, b, of who made them, which is
// walked together with the others and has no count.
package store
