package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/wardroom/wardroom/core"
)

// Limit is how long a decision may take before it refuses. It is there for policies that never end: a decision takes some
// ten microseconds, but on a machine that is very busy a thousand times as much may pass meanwhile.
const Limit = 2 * time.Second

// query is the rule that is asked.
const query = "data.wardroom.authz.decision"

// Config is what decisions follow from beside the rules.
type Config struct {
	RBAC        bool   // roles are needed beside scopes
	DefaultRole string // of those who have none
	// Roles are the roles beside the built-in ones: the permissions that they grant, such as patterns:create.
	Roles    map[string][]string
	Bindings []Binding
	Dir      string // of the operator's policy; "": the built-in one
}

// Binding gives a role to a user, group or serviceAccount.
type Binding struct{ Type, Name, Role string }

// Engine decides. Make it with New. It is safe for concurrent use.
type Engine struct {
	reporter
	turns   turns // of policies that operators wrote
	current atomic.Pointer[compiled]
	loads   atomic.Uint64
}

// New makes an engine that decides by a configuration. VALIDATION_ERROR lists what is wrong with a policy.
func New(ctx context.Context, c Config) (*Engine, error) {
	e := new(Engine)
	return e, e.Load(ctx, c)
}

// Load takes over a configuration, wholly or not at all: VALIDATION_ERROR tells where the policy is wrong, and leaves the
// one before in force.
func (e *Engine) Load(ctx context.Context, c Config) error {
	next, err := compile(ctx, c)
	if err != nil {
		return err
	}
	next.report = &e.reporter
	if !next.builtIn {
		next.turns = &e.turns
	}
	e.current.Store(next)
	e.loads.Add(1)
	return nil
}

// Keep returns what puts back the policy that is in force now.
func (e *Engine) Keep() (putBack func()) {
	former := e.current.Load()
	return func() {
		e.current.Store(former)
		e.loads.Add(1)
	}
}

// Revision names the policy in force, its data included.
func (e *Engine) Revision() string { return e.current.Load().revision }

// Loads counts the policies that were in force, so that whoever keeps a decision knows when it may be another.
func (e *Engine) Loads() uint64 { return e.loads.Load() }

// Decide answers. Whatever goes wrong is a refusal.
func (e *Engine) Decide(ctx context.Context, p core.Principal, a core.Access) core.Ruling {
	return e.current.Load().decide(ctx, p, a)
}

// Administers reports whether roles are needed beside scopes, and then whether those of somebody make the scope admin good. Both are
// of the one policy that is in force.
func (e *Engine) Administers(ctx context.Context, p core.Principal) (roles, admin bool) {
	n := e.current.Load()
	p.Scopes, p.ScopesByDefault = []string{core.ScopeAdmin}, false
	return n.roles, n.roles && n.decide(ctx, p, administer).Allowed
}

// administer is what only administrators may do.
var administer = core.Access{Action: "keys.create", Resource: "keys", Scope: core.ScopeAdmin}

// AllowsAll reports whether somebody may do something to all there is of a kind, whatever its id, owner, pattern and allow-list are.
// guarded says that there are allow-lists. It may be false where it could be true: of a policy of the operator's own only that is known
// which it does not look at.
func (e *Engine) AllowsAll(ctx context.Context, p core.Principal, a core.Access, guarded bool) bool {
	n := e.current.Load()
	switch {
	case n.builtIn && guarded: // who passes an empty list passes each
		a.Guard = &core.Guard{}
	case !n.builtIn && (guarded || n.uses != fields{}):
		return false
	}
	a.ID, a.Owner, a.Pattern = "", "", ""
	return n.decide(ctx, p, a).Allowed
}

// compiled is a policy that is ready to be asked. It is immutable in use but for its cache.
type compiled struct {
	revision string
	prepared rego.PreparedEvalQuery
	builtIn  bool   // it decides by the rules that are shipped
	roles    bool   // they are needed beside scopes
	uses     fields // of input
	bound    bound
	report   *reporter // nil while it is proved
	turns    *turns    // nil: decisions are small, or it is proved
	cache    decisions
}

// compile makes a policy from its files and proves it: its tests pass, administrators may administer, and a stranger may not.
func compile(ctx context.Context, c Config) (*compiled, error) {
	files, err := load(c.Dir)
	if err != nil {
		return nil, err
	}
	compiler, modules, err := parse(files)
	if err != nil {
		return nil, err
	}
	builtIn := c.Dir == ""
	if !has(modules, authzPackage) && has(modules, approvalPackage) { // a directory that is about prompts alone
		builtIn = true
		files = append(files, builtInFile())
		if compiler, modules, err = parse(files); err != nil {
			return nil, err
		}
	}
	data := c.data()
	store := storeOf(data)
	prepared, err := rego.New(rego.Query(query), rego.Compiler(compiler), rego.Store(store), rego.StrictBuiltinErrors(true)).PrepareForEval(ctx)
	if err != nil {
		return nil, problems(err)
	}
	next := &compiled{revision: revisionOf(files, data), prepared: prepared, builtIn: builtIn, roles: c.RBAC, uses: fieldsOf(modules), bound: c.bound()}
	if err := runTests(ctx, compiler, modules, store); err != nil {
		return nil, err
	}
	return next, next.smoke(ctx)
}

// storeOf holds what rules see of the configuration.
func storeOf(data map[string]any) storage.Store {
	return inmem.NewFromObjectWithOpts(map[string]any{"wardroom": map[string]any{"config": data}},
		inmem.OptRoundTripOnWrite(true), inmem.OptReturnASTValuesOnRead(true))
}

// smoke refuses a policy that would lock out everyone, or let in anyone.
func (n *compiled) smoke(ctx context.Context) error {
	admin := core.Principal{Kind: core.PrincipalAPIKey, ID: "admin", Name: "admin", Scopes: []string{core.ScopeAdmin}, Roles: []string{roleAdmin}}
	if r := n.decide(ctx, admin, administer); !r.Allowed {
		return core.Invalid("security.policy.dir", "the policy refuses an administrator keys.create: %s", r.Reason)
	}
	for _, stranger := range []core.Principal{{Kind: core.PrincipalAnonymous, ID: core.Anonymous.ID}, {Kind: core.PrincipalAPIKey, ID: "nobody", Name: "nobody"}} {
		for _, a := range []core.Access{administer, {Action: "executions.create", Resource: "executions", Scope: core.ScopeExecutionsCreate}} {
			if n.decide(ctx, stranger, a).Allowed {
				return core.Invalid("security.policy.dir", "the policy allows %s to a caller without scopes", a.Action)
			}
		}
	}
	return nil
}

func (n *compiled) decide(ctx context.Context, p core.Principal, a core.Access) core.Ruling {
	key := n.uses.key(p, a)
	if r, ok := n.cache.get(key); ok {
		return r
	}
	r, ok := n.eval(ctx, p, a)
	if ok {
		n.cache.put(key, r)
	}
	return r
}

// eval asks the policy. ok is false for an answer that another time may be another.
func (n *compiled) eval(ctx context.Context, p core.Principal, a core.Access) (r core.Ruling, ok bool) {
	r.Revision = n.revision
	limited, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	if n.turns != nil {
		release, err := n.turns.take(limited, p.ID)
		if err != nil {
			if ctx.Err() == nil {
				n.report.failed(a.Action, p.ID, errNoTurn(Limit))
			}
			r.Reason = "the policy did not decide in time"
			return r, false
		}
		defer release()
	}
	results, err := n.prepared.Eval(limited, rego.EvalParsedInput(inputOf(p, a, n.bound.held(p))))
	switch {
	case limited.Err() != nil:
		if ctx.Err() == nil {
			n.report.failed(a.Action, p.ID, errLate(Limit))
		}
		r.Reason = "the policy did not decide in time"
		return r, false
	case err != nil:
		n.report.failed(a.Action, p.ID, err)
		r.Reason = "the policy failed to decide"
		return r, false
	case len(results) != 1 || len(results[0].Expressions) != 1:
		r.Reason = "the policy does not decide"
		return r, true
	}
	said, _ := results[0].Expressions[0].Value.(map[string]any)
	r.Allowed, _ = said["allow"].(bool)
	r.Reason, _ = said["reason"].(string)
	r.Scope, _ = said["scope"].(string)
	return r, true
}

// errLate says that a policy took longer than it may.
func errLate(limit time.Duration) error { return fmt.Errorf("it took longer than %s", limit) }

// errNoTurn is the error of a decision that had to wait for others for longer than it may.
func errNoTurn(limit time.Duration) error {
	return fmt.Errorf("it waited longer than %s for other decisions, of which at most %d of one caller and %d of all are made at once",
		limit, turnsOfOne, turnsOfAll)
}

// revisionOf names a policy by its files and its data.
func revisionOf(files []file, data map[string]any) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%d %s %d\n%s", len(f.name), f.name, len(f.text), f.text)
	}
	value, err := ast.InterfaceToValue(data)
	if err == nil {
		_, _ = h.Write([]byte(value.String()))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// problems turns what the compiler says into problems with places.
func problems(err error) error {
	var list ast.Errors
	if !errors.As(err, &list) {
		return core.Invalid("security.policy.dir", "%v", err)
	}
	var found []core.Problem
	for _, e := range list {
		p := core.Problem{Path: "policy", Reason: e.Message}
		if e.Location != nil {
			p.Path, p.Line, p.Column = placeOf(e.Location), e.Location.Row, e.Location.Col
		}
		found = append(found, p)
	}
	return core.InvalidAll("policy", found)
}

// placeOf names a place in a file, the line with it: the text of an error has no more than that.
func placeOf(at *ast.Location) string { return fmt.Sprintf("%s:%d", at.File, at.Row) }

// runTests runs every test_ rule of the modules, up to one that takes longer than testLimit; one that is not true, or not at all, fails.
func runTests(ctx context.Context, compiler *ast.Compiler, modules []*ast.Module, store storage.Store) error {
	var found []core.Problem
	for _, m := range modules {
		seen := map[string]bool{}
		for _, rule := range m.Rules {
			name := rule.Head.Name.String()
			if !isTest(name) || seen[name] {
				continue
			}
			seen[name] = true
			path := m.Package.Path.String() + "." + name
			limited, cancel := context.WithTimeout(ctx, testLimit)
			results, err := rego.New(rego.Query(path), rego.Compiler(compiler), rego.Store(store), rego.StrictBuiltinErrors(true)).Eval(limited)
			late := limited.Err() != nil && ctx.Err() == nil
			cancel()
			p := core.Problem{Path: path}
			if rule.Location != nil {
				p = core.Problem{Path: placeOf(rule.Location), Line: rule.Location.Row}
			}
			switch {
			case late: // those behind it may be as slow, and who waits for a start or a reload should hear of the first
				p.Reason = fmt.Sprintf("%s: %v; no test behind it was run", name, errLate(testLimit))
				return core.InvalidAll("policy", append(found, p))
			case err != nil:
				p.Reason = fmt.Sprintf("%s: %v", name, err)
			case !results.Allowed():
				p.Reason = "the test " + name + " fails"
			default:
				continue
			}
			found = append(found, p)
		}
	}
	return core.InvalidAll("policy", found)
}
