package config

// JWT is what clients prove who they are with where an identity provider signs tokens for them.
type JWT struct {
	// Take requests with a token of the issuer.
	Enabled bool `json:"enabled"`
	// The issuer, to the letter: what its tokens have as iss.
	Issuer string `json:"issuer"`
	// What its tokens for this server have as aud, or among it.
	Audience string `json:"audience"`
	// Address of the issuer's key set. The keys are kept for a day while it is away.
	JWKSURI string `json:"jwksUri" check:"is=url"`
	// Signatures that are accepted: of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA. Empty: RS256,
	// PS256, ES256, EdDSA.
	Algorithms []string `json:"algorithms" check:"is=signature"`
	// Scopes of callers whose token names none of ours (scope, scp). Empty: such a token may do nothing; where roles are to
	// decide alone, list admin.
	DefaultScopes []string `json:"defaultScopes" check:"is=scope"`
	// Claim with the names of the caller's roles; a path with dots where it is nested.
	RolesClaim string `json:"rolesClaim" default:"roles"`
	// Claim with the names of the caller's groups; a path with dots where it is nested.
	GroupsClaim string `json:"groupsClaim" default:"groups"`
}

// signatures are the values of algorithms.
var signatures = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// jwt reports what contradicts itself in the section.
func (r *ruling) jwt(s *JWT) {
	const at = "security.authentication.jwt"
	if !s.Enabled {
		return
	}
	if s.Issuer == "" {
		r.refuse(at, "issuer", "is missing: name the issuer of the tokens")
	}
	if s.Audience == "" {
		r.refuse(at, "audience", "is missing: name what tokens for this server have as aud: tokens for others are refused")
	}
	if s.JWKSURI == "" {
		r.refuse(at, "jwksUri", "is missing: give the address of the issuer's keys")
	} else if !secureOrLoopback(s.JWKSURI) {
		r.refuse(at, "jwksUri", "must be https: whoever changes the answer of a plain address signs tokens")
	}
}
