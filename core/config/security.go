package config

import (
	"fmt"
	"slices"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// Security says who may do what. Without a way to authenticate that is enabled, everyone who reaches the server may do
// everything, and the server is reached from its own machine only.
type Security struct {
	// How clients prove who they are.
	Authentication Authentication `json:"authentication"`
	// Where people sign in.
	SSO SSO `json:"sso"`
	// How long people stay signed in.
	Sessions Sessions `json:"sessions" reload:"live"`
	// TLS of the listener, and the certificates of clients.
	MTLS MTLS `json:"mtls"`
	// How connected agents prove who they are.
	AgentAuth AgentAuth `json:"agentAuth"`
	// What roles grant, and who has them.
	RBAC RBAC `json:"rbac" reload:"live"`
	// Rules of the operator's own, in the language of the Open Policy Agent.
	Policy Policy `json:"policy" reload:"live"`
	// How what is stored and sent is protected from reading.
	Encryption Encryption `json:"encryption"`
	// Where secrets come from that this file, patterns and requests refer to.
	Secrets Secrets `json:"secrets" reload:"live"`
	// How often requests may come.
	RateLimit RateLimit `json:"rateLimit" reload:"live"`
	// Where requests may come from.
	Network Network `json:"network" reload:"live"`
	// Who did what, and what was refused.
	Audit Audit `json:"audit" reload:"live"`
	// How what is shown is protected from reading.
	DataProtection DataProtection `json:"dataProtection" reload:"live"`
	// What is taken of requests.
	InputValidation InputValidation `json:"inputValidation" reload:"live"`
	// What laws and standards ask for.
	Compliance Compliance `json:"compliance" reload:"live"`
}

// Authentication is how clients prove who they are.
type Authentication struct {
	// Keys that programs and people send as bearer tokens.
	APIKeys APIKeys `json:"apiKeys"`
	// Tokens (JWT) of an identity provider that people and programs send as bearer tokens.
	JWT JWT `json:"jwt"`
}

// APIKeys are the keys of clients.
type APIKeys struct {
	// Take requests with an API key. At the first start a key with the scope admin is made, in the file admin.key
	// in store.path.
	Enabled bool `json:"enabled"`
}

// RBAC is what roles grant, and who has them.
type RBAC struct {
	// Allow only what the roles of the caller grant, beside the scopes of the credential. Without it scopes alone
	// decide.
	Enabled bool `json:"enabled"`
	// Role of callers to whom no binding gives one, and whose key has none. Empty: they may do nothing.
	DefaultRole string `json:"defaultRole" default:"viewer"`
	// Roles beside admin, operator, developer and viewer: a list of {name, permissions}, where permissions is a list of
	// {resource, actions}: resource is patterns, executions or agents, actions are create, read, update and delete.
	Roles []Role `json:"roles" check:"max=1000" each:"One role."`
	// Who has which role: a list of {subject, role}, where subject is {type, name} and type is user, group or
	// serviceAccount. The name of a user is the owner of an API key, that of a serviceAccount the name of the key.
	Bindings []Binding `json:"bindings" check:"max=10000" each:"One binding."`
}

// Role is a named set of permissions.
type Role struct {
	// What bindings and keys call it.
	Name string `json:"name" check:"is=entry" missing:"name the role"`
	// What it grants.
	Permissions []Permission `json:"permissions" check:"max=100" each:"One permission."`
}

// Permission is what may be done to one kind of resource.
type Permission struct {
	// What it is about.
	Resource string `json:"resource" check:"is=crudResource" missing:"name patterns, executions or agents"`
	// What may be done: of create, read, update and delete. To execute a pattern is to create an execution, to answer,
	// send or cancel is to update one.
	Actions []string `json:"actions" check:"is=crud" missing:"list what may be done"`
}

// Binding gives a role to somebody.
type Binding struct {
	// Who gets it.
	Subject Subject `json:"subject"`
	// A built-in role, or one of security.rbac.roles.
	Role string `json:"role" missing:"name the role"`
}

// Subject is who a binding is for.
type Subject struct {
	// What kind of name it is.
	Type string `json:"type" default:"user" enum:"user,group,serviceAccount"`
	// Its name.
	Name string `json:"name" missing:"name who gets the role"`
}

// Policy holds the operator's rules beyond roles.
type Policy struct {
	// Directory of *.rego files, with tests in *_test.rego beside them: the package wardroom.authz replaces the built-in
	// policy, the package wardroom.approvals answers prompts of agents. They are compiled and tested at the start and at a
	// reload; a directory that fails changes nothing at a reload, and keeps the server from starting. Empty: the built-in
	// policy, which `wardroom policy show` prints to start from.
	Dir string `json:"dir" check:"path"`
}

// BuiltInRoles are the roles that need no declaration.
var BuiltInRoles = []string{"admin", "operator", "developer", "viewer"}

// Enabled reports whether clients have to prove who they are.
func (s Security) Enabled() bool {
	return s.Authentication.APIKeys.Enabled || s.Authentication.JWT.Enabled || s.SSO.Enabled || s.MTLS.Enabled && len(s.MTLS.Scopes) > 0
}

// HasRole reports whether a role is built in or declared.
func (r RBAC) HasRole(name string) bool {
	return slices.Contains(BuiltInRoles, name) || slices.ContainsFunc(r.Roles, func(own Role) bool { return own.Name == name })
}

// crudWords are the actions of a permission.
var crudWords = []string{"create", "read", "update", "delete"}

// security reports what contradicts itself in the section.
func (r *ruling) security(s *Security, server *Server) {
	r.jwt(&s.Authentication.JWT)
	r.sso(s, server)
	r.sessions(&s.Sessions)
	r.mtls(&s.MTLS)
	r.agentAuth(s)
	r.inTransit()
	r.atRest()
	r.limits(&s.RateLimit, &s.Network)
	r.audit(&s.Audit)
	r.data(s)
	r.secrets(&s.Secrets)
	r.everybody(s)
	r.compliance(s)
	if !s.Enabled() {
		if s.RBAC.Enabled {
			r.refuse("security.rbac", "enabled", "needs to know who calls: enable security.authentication.apiKeys or jwt too")
		}
	}
	seen := map[string]bool{}
	for i, role := range s.RBAC.Roles {
		entry := fmt.Sprintf("security.rbac.roles[%d]", i)
		switch {
		case slices.Contains(BuiltInRoles, role.Name):
			r.refuse(entry, "name", "%s is a built-in role", role.Name)
		case seen[role.Name]:
			r.refuse(entry, "name", "%s is declared twice", role.Name)
		}
		seen[role.Name] = true
	}
	for i, b := range s.RBAC.Bindings {
		if b.Role != "" && !s.RBAC.HasRole(b.Role) {
			r.refuse(fmt.Sprintf("security.rbac.bindings[%d]", i), "role", "%s is neither built in nor declared in security.rbac.roles", schema.Clip(b.Role))
		}
	}
	if d := s.RBAC.DefaultRole; d != "" && !s.RBAC.HasRole(d) {
		r.refuse("security.rbac", "defaultRole", "%s is neither built in nor declared in security.rbac.roles", schema.Clip(d))
	}
}

// everybody reports what would make everybody an administrator, where no roles bound what credentials have by default.
func (r *ruling) everybody(s *Security) {
	const why = "must not hold admin where security.rbac is not enabled: everybody would be an administrator"
	if s.Authentication.JWT.Enabled && !s.RBAC.Enabled && slices.Contains(s.Authentication.JWT.DefaultScopes, "admin") {
		r.refuse("security.authentication.jwt", "defaultScopes", why)
	}
	if s.SSO.Enabled && !s.RBAC.Enabled && slices.Contains(s.SSO.DefaultScopes, "admin") {
		r.refuse("security.sso", "defaultScopes", why)
	}
}
