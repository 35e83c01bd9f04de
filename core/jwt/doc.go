// Package jwt verifies JSON Web Tokens that callers send as bearer credentials, and owns the cached key set of their
// issuer. It tells who a token speaks for; it does not decide what they may do, has no sessions, and signs nothing.
// appliance makes one Verifier from security.authentication.jwt and hands it to the authentication of requests.
//
// What is refused follows RFC 8725 (best current practices): compact JWS only, an algorithm of the list (never none,
// never a symmetric one), keys from the configured key set alone (jku, jwk, x5u and x5c of the token are ignored),
// the exact issuer, the audience, a time of expiry. A Verifier answers every refusal alike; the reason is for the log.
package jwt
