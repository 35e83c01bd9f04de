// Package access finds out who makes a request: API keys, and the authenticator that reads them from requests.
//
// It owns the form of keys, what is stored of them, their lives (creation, rotation, revocation, expiry), the cache that
// makes a check cost no read of the store, and the bound on failed attempts of an address. It does not decide what
// somebody may do: package policy does, from the principal that comes out here. core/api calls both through functions
// that appliance hands it.
//
// # Keys
//
// A key is wr_<id>_<secret>_<checksum>: the ULID of its record, 32 characters of base62 from the system's random source
// (190 bits), and a CRC-32 in base62 that lets a scanner of texts know a key and costs a mistyped one no look at the
// store. Of the secret nothing is kept but an HMAC-SHA256 under the pepper, which lies in a file of its own beside the
// store and is in no dump: whoever gets a copy of the store can neither use nor test a key. With so many random bits a
// slow hash would add nothing.
//
// A revoked key is refused from the commit of its revocation on: the cache forgets it in the same transaction.
package access
