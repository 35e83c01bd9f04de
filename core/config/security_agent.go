package config

// AgentAuth is how agents prove who they are when they connect.
type AgentAuth struct {
	// What connected agents show: token is a registration token that `wardroom agent create-token` makes, mtls a
	// certificate of security.mtls.clientCA, both are both of them. Empty: agents show what other clients show, and need
	// the scope agents:manage.
	Method string `json:"method" enum:",token,mtls,both"`
	// Registration tokens.
	Token AgentTokenAuth `json:"token"`
}

// AgentTokenAuth is what counts as a token of an agent.
type AgentTokenAuth struct {
	// Take agents with a registration token only. Without it those with another credential that has the scope agents:manage
	// are taken as well. It is about the method token; both always needs one.
	RegistrationRequired bool `json:"registrationRequired" default:"true"`
}

// Tokens reports whether registration tokens count.
func (a AgentAuth) Tokens() bool { return a.Method == "token" || a.Method == "both" }

// Certificates reports whether agents need a certificate.
func (a AgentAuth) Certificates() bool { return a.Method == "mtls" || a.Method == "both" }

// agentAuth reports what contradicts itself in the section.
func (r *ruling) agentAuth(s *Security) {
	if s.AgentAuth.Certificates() && (!s.MTLS.Enabled || s.MTLS.ClientAuth == "none") {
		r.refuse("security.agentAuth", "method", "%s needs the certificates of clients: enable security.mtls, with clientAuth require or request", s.AgentAuth.Method)
	}
}
