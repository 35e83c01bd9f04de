package wardroom.authz_test

import data.wardroom.authz

roles := {"admin": {"*": true}, "viewer": {"patterns:read": true, "executions:read": true}}

config := {"rbac": true, "defaultRole": "viewer", "roles": roles}

who(id, scopes) := {"kind": "apiKey", "id": id, "name": "key", "roles": [], "groups": [], "held": object.get({"ann": ["admin"]}, id, []), "scopes": scopes}

ask(principal, action, scope) := {"action": action, "scope": scope, "permission": scope, "principal": principal, "owner": ""}

test_scope_is_needed if {
	not authz.decision.allow with input as ask(who("ann", ["patterns:read"]), "executions.read", "executions:read") with data.wardroom.config as config
}

test_role_is_needed if {
	not authz.decision.allow with input as ask(who("bob", ["executions:create"]), "executions.create", "executions:create") with data.wardroom.config as config
}

test_default_role if {
	authz.decision.allow with input as ask(who("bob", ["executions:read"]), "executions.read", "executions:read") with data.wardroom.config as config
}

test_held_role if {
	authz.decision.allow with input as ask(who("ann", ["executions:create"]), "executions.create", "executions:create") with data.wardroom.config as config
}

test_name_of_a_role_that_is_not_held if {
	principal := object.union(who("bob", ["executions:create"]), {"roles": ["admin"], "groups": ["admin"], "name": "admin"})
	not authz.decision.allow with input as ask(principal, "executions.create", "executions:create") with data.wardroom.config as config
}

test_admin_passes_every_guard if {
	question := object.union(ask(who("bob", ["admin", "executions:read"]), "executions.read", "executions:read"), {"guard": {"users": ["ann"], "roles": []}})
	authz.decision.allow with input as question with data.wardroom.config as config
}

test_admin_by_default_passes_none if {
	bob := object.union(who("bob", ["admin", "executions:read"]), {"scopesByDefault": true})
	question := object.union(ask(bob, "executions.read", "executions:read"), {"guard": {"users": ["ann"], "roles": []}})
	not authz.decision.allow with input as question with data.wardroom.config as object.union(config, {"rbac": false})
	not authz.decision.allow with input as question with data.wardroom.config as config
	authz.decision.allow with input as object.union(question, {"owner": "bob"}) with data.wardroom.config as config
}

test_admin_by_default_with_the_role_passes_every_guard if {
	ann := object.union(who("ann", ["admin", "executions:read"]), {"scopesByDefault": true})
	question := object.union(ask(ann, "executions.read", "executions:read"), {"guard": {"users": ["eve"], "roles": []}})
	authz.decision.allow with input as question with data.wardroom.config as config
}

test_guard if {
	question := object.union(ask(who("bob", ["executions:read"]), "executions.read", "executions:read"), {"guard": {"users": ["ann"], "roles": ["admin"]}})
	not authz.decision.allow with input as question with data.wardroom.config as config
	authz.decision.allow with input as object.union(question, {"owner": "bob"}) with data.wardroom.config as config
	authz.decision.allow with input as object.union(question, {"principal": who("ann", ["executions:read"])}) with data.wardroom.config as config
}
