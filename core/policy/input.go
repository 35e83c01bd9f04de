package policy

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/wardroom/wardroom/core"
)

// verbs are the actions of permissions by the last word of an action; any other word is update.
var verbs = map[string]string{
	"create": "create", "spawn": "create", "connect": "create", "provision": "create", "prepare": "read", "read": "read",
	"delete": "delete", "disconnect": "delete", "prune": "delete", "force": "delete", "stop": "delete", "grant": "grant",
}

// permissionOf returns what permissions of roles are about: the family of the scope, and what is done to it.
func permissionOf(a core.Access) string {
	family, _, fine := strings.Cut(a.Scope, ":")
	if !fine && a.Scope == core.ScopeRead { // figures of all there is
		family = "executions"
	}
	_, word, _ := strings.Cut(a.Action, ".")
	verb, known := verbs[word]
	if !known {
		verb = "update"
	}
	return family + ":" + verb
}

// names are the terms of the members of input, made once: nothing changes a term.
var names = func() map[string]*ast.Term {
	all := map[string]*ast.Term{}
	for _, name := range []string{
		"action", "resource", "scope", "permission", "id", "owner", "pattern", "principal", "guard", "users",
		"kind", "name", "keyId", "groups", "roles", "held", "scopes", "scopesByDefault",
	} {
		all[name] = ast.StringTerm(name)
	}
	return all
}()

// term is a member of input, whose name must be one of names.
func term(name string, value *ast.Term) [2]*ast.Term { return [2]*ast.Term{names[name], value} }

// none is a list of nothing, and nothing the text that is none.
var none, nothing = ast.ArrayTerm(), ast.StringTerm("")

// text makes a term of a text.
func text(s string) *ast.Term {
	if s == "" {
		return nothing
	}
	return ast.StringTerm(s)
}

func texts(list []string) *ast.Term {
	if len(list) == 0 {
		return none
	}
	terms := make([]*ast.Term, len(list))
	for i, s := range list {
		terms[i] = text(s)
	}
	return ast.ArrayTerm(terms...)
}

// inputOf returns the input of a policy that rules on an access.
func inputOf(p core.Principal, a core.Access, held []string) ast.Value {
	pairs := [][2]*ast.Term{
		term("action", text(a.Action)), term("resource", text(a.Resource)), term("scope", text(a.Scope)),
		term("permission", text(permissionOf(a))),
		term("id", text(a.ID)), term("owner", text(a.Owner)), term("pattern", text(a.Pattern)),
		term("principal", ast.ObjectTerm(
			term("kind", text(string(p.Kind))), term("id", text(p.ID)), term("name", text(p.Name)),
			term("keyId", text(p.KeyID)), term("groups", texts(p.Groups)), term("roles", texts(p.Roles)), term("held", texts(held)),
			term("scopes", texts(core.ExpandScopes(p.Scopes))), term("scopesByDefault", ast.BooleanTerm(p.ScopesByDefault)),
		)),
	}
	if a.Guard != nil {
		pairs = append(pairs, term("guard", ast.ObjectTerm(term("users", texts(a.Guard.Users)), term("roles", texts(a.Guard.Roles)))))
	}
	return ast.NewObject(pairs...)
}

// fields says which parts of a question a policy looks at, so that questions which differ in others share an answer.
type fields struct{ id, owner, pattern bool }

// fieldsOf goes over the rules of a policy, not over its tests. One that takes input as a whole looks at everything.
func fieldsOf(modules []*ast.Module) fields {
	var f fields
	all := func() { f = fields{true, true, true} }
	for _, m := range modules {
		if strings.HasSuffix(m.Package.Location.File, testSuffix) {
			continue
		}
		seen := 0
		ast.WalkRefs(m, func(ref ast.Ref) bool {
			if head, ok := ref[0].Value.(ast.Var); !ok || !head.Equal(ast.InputRootDocument.Value) {
				return false
			}
			seen++
			if len(ref) < 2 {
				all()
				return false
			}
			name, ok := ref[1].Value.(ast.String)
			switch {
			case !ok:
				all()
			case name == "id":
				f.id = true
			case name == "owner":
				f.owner = true
			case name == "pattern":
				f.pattern = true
			}
			return false
		})
		vars := 0
		ast.WalkVars(m, func(v ast.Var) bool {
			if v.Equal(ast.InputRootDocument.Value) {
				vars++
			}
			return false
		})
		if vars > seen { // input stands somewhere by itself
			all()
		}
	}
	return f
}

// key names a question in the cache. Each text stands behind its length, and lists behind theirs.
func (f *fields) key(p core.Principal, a core.Access) string {
	b := make([]byte, 0, 256)
	add := func(text string) { b = append(binary.AppendUvarint(b, uint64(len(text))), text...) }
	list := func(texts []string) {
		b = binary.AppendUvarint(b, uint64(len(texts)))
		for _, text := range texts {
			add(text)
		}
	}
	add(a.Action)
	add(a.Resource)
	add(a.Scope)
	if f.id {
		add(a.ID)
	}
	if f.owner {
		add(a.Owner)
	}
	if f.pattern {
		add(a.Pattern)
	}
	if a.Guard != nil {
		b = append(b, 1)
		list(a.Guard.Users)
		list(a.Guard.Roles)
	}
	add(string(p.Kind))
	add(p.ID)
	add(p.Name)
	add(p.KeyID)
	list(p.Groups)
	list(p.Roles)
	list(p.Scopes)
	if p.ScopesByDefault {
		b = append(b, 1)
	}
	return string(b)
}

// bound is the roles that bindings give, by the name of who has them.
type bound struct{ user, group, serviceAccount map[string][]string }

func (c Config) bound() bound {
	b := bound{map[string][]string{}, map[string][]string{}, map[string][]string{}}
	for _, binding := range c.Bindings {
		switch binding.Type {
		case "user":
			b.user[binding.Name] = append(b.user[binding.Name], binding.Role)
		case "group":
			b.group[binding.Name] = append(b.group[binding.Name], binding.Role)
		case "serviceAccount":
			b.serviceAccount[binding.Name] = append(b.serviceAccount[binding.Name], binding.Role)
		}
	}
	return b
}

// held returns the roles of a caller: of the credential, and by bindings. Names of tokens and certificates are for people:
// only that of a key is given by us.
func (b *bound) held(p core.Principal) []string {
	list := slices.Concat(p.Roles, b.user[p.ID])
	if p.Kind == core.PrincipalAPIKey {
		list = append(list, b.serviceAccount[p.Name]...)
	}
	for _, group := range p.Groups {
		list = append(list, b.group[group]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// permissionsOf returns what a role grants as a set.
func permissionsOf(list []string) map[string]any {
	set := make(map[string]any, len(list))
	for _, p := range list {
		set[p] = true
	}
	return set
}

// roleAdmin is the role that may do everything.
const roleAdmin = "admin"

// builtIn holds the permissions of the built-in roles.
var builtIn = map[string][]string{
	roleAdmin:   {"*"},
	"operator":  slices.Concat(every("patterns"), every("executions"), every("agents")),
	"developer": slices.Concat([]string{"patterns:create", "patterns:read", "patterns:update", "agents:read"}, every("executions")),
	"viewer":    {"patterns:read", "executions:read", "agents:read"},
}

func every(family string) []string {
	return []string{family + ":create", family + ":read", family + ":update", family + ":delete"}
}

// data returns the part of the configuration that rules can read.
func (c Config) data() map[string]any {
	roles := map[string]any{}
	for name, list := range builtIn {
		roles[name] = permissionsOf(list)
	}
	for name, list := range c.Roles {
		if _, taken := builtIn[name]; !taken {
			roles[name] = permissionsOf(list)
		}
	}
	bindings := map[string]any{"user": map[string]any{}, "group": map[string]any{}, "serviceAccount": map[string]any{}}
	for _, b := range c.Bindings {
		if names, ok := bindings[b.Type].(map[string]any); ok {
			before, _ := names[b.Name].([]any)
			names[b.Name] = append(before, b.Role)
		}
	}
	return map[string]any{"rbac": c.RBAC, "defaultRole": c.DefaultRole, "roles": roles, "bindings": bindings}
}
