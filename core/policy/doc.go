// Package policy decides who may do what. The rules are in Rego, the language of the Open Policy Agent, which runs in this
// process: the built-in policy, or the files of a directory of the operator in place of it.
//
// It owns the built-in policy with its data (what roles grant, who has them), the compiling, testing and swapping of
// policies, and the cache of decisions. It does not find out who calls (package access does), and it reads no store: what
// a decision is about comes with the question. appliance loads it and hands core/api its Decide.
//
// # What a policy is asked
//
// The rule data.wardroom.authz.decision, with input {action, resource, scope, permission, id, owner, pattern, guard
// {users, roles}, principal {kind, id, name, keyId, groups, roles, held, scopes, scopesByDefault}}. roles are those of the
// credential, and held those with the ones that bindings give. It returns {allow, reason}; undefined, an error
// and a decision that takes longer than Limit refuse. data.wardroom.config has {rbac, defaultRole, roles, bindings} of the
// configuration. permission is what permissions of custom roles are about: patterns:create and the like.
//
// Policies can neither reach the network nor the environment, and nothing in them depends on the time or on chance: the
// same question always has the same answer, so answers are kept until the next Load.
package policy
