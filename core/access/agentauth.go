package access

import (
	"cmp"
	"net/http"
	"net/netip"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// AgentMethod is how agents prove who they are.
type AgentMethod string

// The methods, those of security.agentAuth.method.
const (
	AgentByToken AgentMethod = "token"
	AgentByMTLS  AgentMethod = "mtls"
	AgentByBoth  AgentMethod = "both" // a certificate and a token
)

// AgentOptions are what an AgentAuth is made of. Tokens, Clock and Method are needed.
type AgentOptions struct {
	Tokens *AgentTokens
	Clock  core.Clock
	Logger hclog.Logger // nil: discards
	Method AgentMethod
	// Required takes registration tokens alone; without it agents may show what other clients show, where the method is
	// AgentByToken.
	Required bool
	// Certificate returns whom the certificate of a connection names; needed unless the method is AgentByToken.
	Certificate func(r *http.Request) (core.Principal, bool)
	// Others authenticates agents without a token where they may be; nil: everyone is core.Anonymous.
	Others func(r *http.Request) (core.Principal, error)
	// Origin returns the address that failed attempts of a request count for; nil: that of its connection.
	Origin func(r *http.Request) netip.Addr
	// Attempt is called for each credential that was looked at; may be nil.
	Attempt func(method core.PrincipalKind, allowed bool)
}

// AgentAuth finds out which agent makes a connection. It is safe for concurrent use.
type AgentAuth struct {
	opts     AgentOptions
	log      hclog.Logger
	failures failures
}

// NewAgentAuth makes an AgentAuth.
func NewAgentAuth(o AgentOptions) *AgentAuth {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Origin == nil {
		o.Origin = connectionOf
	}
	if o.Attempt == nil {
		o.Attempt = func(core.PrincipalKind, bool) {}
	}
	if o.Others == nil {
		o.Others = func(*http.Request) (core.Principal, error) { return core.Anonymous, nil }
	}
	return &AgentAuth{opts: o, log: o.Logger, failures: failures{clock: o.Clock}}
}

// Authenticate returns who connects as an agent. Its errors are those of Service.Authenticate. A token that is over is let
// in here, since an agent that registered with it may come back: AgentTokens.AdmitAgent refuses it otherwise.
func (a *AgentAuth) Authenticate(r *http.Request) (core.Principal, error) {
	var holder core.Principal
	if a.opts.Method != AgentByToken {
		p, ok := a.opts.Certificate(r)
		if !ok {
			a.opts.Attempt(core.PrincipalAgent, false)
			return core.Principal{}, unauthorized("missing", "agents need a certificate that the server's CA signed")
		}
		if a.opts.Method == AgentByMTLS {
			a.opts.Attempt(core.PrincipalAgent, true)
			p.Kind, p.Scopes = core.PrincipalAgent, nil
			return p, nil
		}
		holder = p
	}
	if !IsAgentToken(r) {
		if !a.opts.Required && a.opts.Method == AgentByToken {
			return a.opts.Others(r)
		}
		if _, given := bearer(r.Header); !given {
			return core.Principal{}, unauthorized("missing", "agents need a registration token: Authorization: Bearer <token>")
		}
	}
	token, _ := bearer(r.Header)
	from := addressOf(a.opts.Origin(r))
	rec, reason, err := a.opts.Tokens.find(r.Context(), token)
	if err != nil {
		return core.Principal{}, err
	}
	a.opts.Attempt(core.PrincipalAgent, reason == "")
	if reason != "" {
		// A good token is taken whatever others behind the same address try; the rest has to wait.
		if wait := a.failures.exceeded(from); wait > 0 {
			return core.Principal{}, tooMany(wait)
		}
		a.failures.add(from)
		a.log.Debug("agent refused", "reason", reason, "from", r.RemoteAddr)
		return core.Principal{}, unauthorized("invalid", "the credential is not valid")
	}
	p := principalOf(rec)
	if a.opts.Method == AgentByBoth {
		p.Name, p.Expires, p.Certificates = holder.Name, holder.Expires, holder.Certificates
	}
	return p, nil
}
