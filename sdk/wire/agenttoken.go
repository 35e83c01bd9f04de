package wire

import "time"

// AgentTokenStatus is the state of a registration token.
type AgentTokenStatus string

// States of a registration token. Agents that registered with one stay until it is revoked.
const (
	AgentTokenActive    AgentTokenStatus = "active"
	AgentTokenExpired   AgentTokenStatus = "expired"   // registers nothing any more
	AgentTokenExhausted AgentTokenStatus = "exhausted" // likewise: it was used as often as it may be
	AgentTokenRevoked   AgentTokenStatus = "revoked"   // its agents are disconnected
)

// AgentToken is what agents register with, without its secret.
type AgentToken struct {
	ID           string           `json:"id"`
	Capabilities []string         `json:"capabilities" doc:"What its agents may offer; one that ends in * stands for all that begin so."`
	Names        []string         `json:"names,omitempty" doc:"What its agents may be called, likewise. Absent: anything."`
	Uses         int              `json:"uses,omitempty" doc:"How many agents may register with it. Absent: any number."`
	Used         int              `json:"used" doc:"How many did."`
	Status       AgentTokenStatus `json:"status,omitempty" enum:"active,expired,exhausted,revoked"`
	CreatedBy    string           `json:"createdBy"`
	CreatedAt    time.Time        `json:"createdAt"`
	ExpiresAt    *time.Time       `json:"expiresAt,omitempty" doc:"Nothing registers with it from then on. Absent: never."`
	LastUsedAt   *time.Time       `json:"lastUsedAt,omitempty" doc:"When an agent registered with it."`
	RevokedAt    *time.Time       `json:"revokedAt,omitempty"`
	RevokedBy    string           `json:"revokedBy,omitempty"`
}

// NewAgentToken is a registration token with its secret, as it is shown once.
type NewAgentToken struct {
	AgentToken
	Token string `json:"token,omitempty" doc:"The credential for Authorization: Bearer. It is shown once; absent in the answer to a repeat."`
}

// AgentTokenSpec asks for a registration token.
type AgentTokenSpec struct {
	Capabilities []string `json:"capabilities" check:"required,min=1,max=64" doc:"What its agents may offer; one that ends in * stands for all that begin so. To host threads is threads." example:"[\"triage\"]"`
	Names        []string `json:"names,omitempty" check:"max=64" doc:"What its agents may be called, likewise. Default: anything."`
	Uses         int      `json:"uses,omitempty" check:"min=0,max=1000000" doc:"How many agents may register with it. Default: any number."`
	ExpiresIn    int64    `json:"expiresIn,omitempty" check:"min=0,max=315360000000" doc:"Milliseconds that agents may register with it. Default: 90 days."`
	Never        bool     `json:"never,omitempty" doc:"Agents may register with it until it is revoked."`
}
