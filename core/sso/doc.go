// Package sso signs people in at an identity provider, by OpenID Connect: the authorization code flow with PKCE.
//
// It owns the provider's metadata, the attempts of browsers, the exchange of codes and the claims of who comes back. It has
// no sessions, sets no cookies and decides nothing: appliance hands core/api a Service, and core/access keeps the sessions
// that follow. ID tokens are verified by core/jwt, which appliance hands in as Options.Verifier.
//
// # An attempt
//
// Begin makes a state, a nonce and a verifier, each of 256 random bits. All of them, with where to go afterwards and the end
// of the attempt, are sealed (AES-256-GCM) into what the browser keeps in a cookie: the server keeps nothing, so that
// attempts survive a restart and however many of them fill no memory. Finish takes an answer only from the browser that
// has the cookie of that state, once, within core.SignInLife, and only of the issuer that it was sent to (RFC 9207). A state
// that was answered is remembered until it ends, so that neither it nor its code is good a second time.
//
// # The provider
//
// Its metadata is fetched when the first person signs in, and anew after an hour, once for all who wait. While it is away what is known is good for
// a day; failures are repeated after a pause that grows. Whatever it answers is bounded in size and time, and redirects are
// not followed.
package sso
