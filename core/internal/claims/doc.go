// Package claims reads the claims of JSON Web Tokens and of answers about users: strictly, and with bounds.
//
// It owns the form of what a provider says of somebody, and verifies nothing. core/jwt reads tokens by it, core/sso what
// a provider says of who signs in.
package claims
