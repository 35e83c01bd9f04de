// Package trail is the form of the audit trail: the canonical text of a record, the hash chain, signed checkpoints,
// what verifies them, and the formats of exports.
//
// It owns no state and reads and writes no files: it works on lines. The appliance seals records with it, the
// command line verifies exports with it, and so can anybody who has the files of a sink and the public key.
package trail
