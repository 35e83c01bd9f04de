package wire

import "time"

// Session tells who calls, and what they may do.
type Session struct {
	Authenticated bool       `json:"authenticated" doc:"false while no security is configured: everyone is anonymous."`
	Kind          string     `json:"kind" enum:"anonymous,apiKey,user" doc:"How the caller proved who it is."`
	ID            string     `json:"id" doc:"What records say in createdBy."`
	Name          string     `json:"name"`
	KeyID         string     `json:"keyId,omitempty" doc:"Of the API key."`
	Groups        []string   `json:"groups"`
	Roles         []string   `json:"roles"`
	Scopes        []string   `json:"scopes"`
	Actions       []string   `json:"actions" doc:"What the caller may do to some resource at least."`
	ExpiresAt     *time.Time `json:"expiresAt,omitempty" doc:"When the credential ends."`
}

// Can says whether the caller may do something.
type Can struct {
	Action        string `json:"action"`
	Resource      string `json:"resource,omitempty"`
	Allowed       bool   `json:"allowed"`
	Reason        string `json:"reason,omitempty" doc:"Why not, or by what."`
	RequiredScope string `json:"requiredScope,omitempty" doc:"That the credential lacks."`
	Revision      string `json:"revision,omitempty" doc:"Of the policy that decided."`
}
