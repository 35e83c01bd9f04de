# The built-in policy of Wardroom. A directory named by security.policy.dir replaces it; start from a copy.
#
# decision is what is asked. allow needs all of three: the scopes of the credential cover the operation, the roles of the
# caller grant it (where security.rbac is enabled), and the allow-list of the pattern has the caller (where there is one).
package wardroom.authz

import data.wardroom.config

default decision := {"allow": false, "reason": "no rule allows it"}

decision := {"allow": true, "reason": "scopes, roles and the allow-list of the pattern"} if {
	scope_allows
	role_allows
	guard_allows
} else := {"allow": false, "reason": sprintf("the credential needs the scope %s for %s", [input.scope, input.action]), "scope": input.scope} if {
	not scope_allows
} else := {"allow": false, "reason": sprintf("no role of the caller grants %s", [input.action])} if {
	not role_allows
} else := {"allow": false, "reason": "the pattern is not open to the caller"}

# What every credential may do.
scope_allows if input.scope == "any"

scope_allows if input.scope in input.principal.scopes

# An agent with a credential for agents connects, and does nothing else.
scope_allows if agent_connects

agent_connects if {
	input.principal.kind == "agent"
	input.action == "agents.connect"
}

# Roles.
role_allows if not config.rbac

role_allows if input.scope == "any"

role_allows if agent_connects

role_allows if {
	some role in roles
	some permission in ["*", input.permission]
	config.roles[role][permission]
}

# The roles of the caller, of the credential and by bindings; else the default one.
roles := input.principal.held if {
	count(input.principal.held) > 0
} else := [config.defaultRole]

# The allow-list of a pattern. What somebody made stays open to them, and everything to administrators.
guard_allows if not input.guard

# What everybody gets by default makes nobody an administrator.
guard_allows if {
	"admin" in input.principal.scopes
	not input.principal.scopesByDefault
}

guard_allows if {
	config.rbac
	"admin" in input.principal.scopes
	some role in input.principal.held
	config.roles[role]["*"]
}

guard_allows if input.principal.id in input.guard.users

guard_allows if {
	some role in input.principal.held
	role in input.guard.roles
}

guard_allows if {
	input.owner != ""
	input.owner == input.principal.id
}
