package wire

import "time"

// APIKeyStatus is the state of an API key.
type APIKeyStatus string

// States of an API key. Only an active one opens anything.
const (
	APIKeyActive  APIKeyStatus = "active"
	APIKeyExpired APIKeyStatus = "expired"
	APIKeyRevoked APIKeyStatus = "revoked"
)

// APIKey is a credential of a program or a person, without its secret.
type APIKey struct {
	ID          string       `json:"id"`
	Name        string       `json:"name" doc:"Unique among the keys that are not over."`
	Owner       string       `json:"owner" doc:"Who acts by it; the name of the key unless another was given."`
	Scopes      []string     `json:"scopes"`
	Roles       []string     `json:"roles,omitempty" doc:"Beyond those that security.rbac.bindings give the owner. Default, where security.rbac is enabled and no binding gives one: the least built-in role that grants what scopes names."`
	Status      APIKeyStatus `json:"status,omitempty" enum:"active,expired,revoked"`
	CreatedBy   string       `json:"createdBy"`
	CreatedAt   time.Time    `json:"createdAt"`
	ExpiresAt   *time.Time   `json:"expiresAt,omitempty" doc:"Absent: never."`
	LastUsedAt  *time.Time   `json:"lastUsedAt,omitempty" doc:"To the minute."`
	RotatedAt   *time.Time   `json:"rotatedAt,omitempty"`
	FormerUntil *time.Time   `json:"formerUntil,omitempty" doc:"Until then the former secret is valid as well."`
	RevokedAt   *time.Time   `json:"revokedAt,omitempty"`
	RevokedBy   string       `json:"revokedBy,omitempty"`
}

// NewAPIKey is a key with its secret, as it is shown once.
type NewAPIKey struct {
	APIKey
	Key string `json:"key,omitempty" doc:"The credential for Authorization: Bearer. It is shown once; absent in the answer to a repeat."`
	// Where roles are needed beside scopes.
	Warning string `json:"warning,omitempty" doc:"What the scopes name and no role of the key grants, which is refused then."`
}

// APIKeySpec asks for a key. Name and Scopes are what it needs.
type APIKeySpec struct {
	Name      string   `json:"name" check:"required,min=1,max=100" doc:"What it is for." example:"ci"`
	Owner     string   `json:"owner,omitempty" check:"max=100" doc:"Who acts by it. Default: the name."`
	Scopes    []string `json:"scopes" check:"required,min=1,max=10" doc:"Such as read, execute, patterns:write, admin." example:"[\"executions:create\",\"executions:read\"]"`
	Roles     []string `json:"roles,omitempty" check:"max=20" doc:"Beyond those that security.rbac.bindings give the owner. Default, where security.rbac is enabled and no binding gives one: the least built-in role that grants what scopes names."`
	ExpiresIn int64    `json:"expiresIn,omitempty" check:"min=0,max=315360000000" doc:"Milliseconds that it lives. Default: 90 days."`
	Never     bool     `json:"never,omitempty" doc:"It lives until it is revoked."`
}
