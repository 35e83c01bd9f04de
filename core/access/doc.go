// Package access finds out who makes a request: API keys, the sessions of people, and the authenticator that reads both
// from requests.
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
//
// # Sessions
//
// A person who signed in, at an identity provider or by an API key, has a session: wrs_<id>_<secret>_<checksum>, in a cookie
// of a browser or in a file of a command line, never in both. It is stored and checked as a key is. All that are not over
// are in memory as well (maxSessions bounds them): one that ends, by the person, an administrator, its age, its idleness or
// more of the same person than maxConcurrent, ends for every request from its commit on, and for streams within seconds.
//
// What a browser sends along by itself proves nothing of who asked for it. A request by cookie counts only if the browser
// says that the site itself made it (Sec-Fetch-Site, Origin), and changes only with the token of the session (X-CSRF-Token)
// besides.
//
// A command line is signed in by a grant (grant.go): a person approves it in a browser where they are signed in.
package access
