package policy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

// ApprovalLimit is how long a decision about a prompt may take before people are asked.
const ApprovalLimit = 500 * time.Millisecond

// approvalQuery is the rule that is asked about prompts, approvalPackage the package that it is in.
const (
	approvalQuery   = "data.wardroom.approvals.decision"
	approvalPackage = "data.wardroom.approvals"
	authzPackage    = "data.wardroom.authz"
)

// Bounds of what a policy says of a prompt, in bytes.
const (
	maxRuleName = 200
	maxReason   = 1000
)

// Approvals answers prompts of agents by the package wardroom.approvals of the operator's policy. Make it with
// NewApprovals. It is safe for concurrent use.
type Approvals struct {
	reporter
	turns   turns
	current atomic.Pointer[rego.PreparedEvalQuery] // nil: the operator has no such package
}

// NewApprovals makes Approvals by a configuration. VALIDATION_ERROR lists what is wrong with a policy.
func NewApprovals(ctx context.Context, c Config) (*Approvals, error) {
	a := new(Approvals)
	return a, a.Load(ctx, c)
}

// Load takes over a configuration, wholly or not at all: VALIDATION_ERROR tells where the policy is wrong, and leaves the
// one before in force.
func (a *Approvals) Load(ctx context.Context, c Config) error {
	if c.Dir == "" {
		a.current.Store(nil)
		return nil
	}
	files, err := load(c.Dir)
	if err != nil {
		return err
	}
	compiler, modules, err := parse(files)
	if err != nil {
		return err
	}
	if !has(modules, approvalPackage) {
		a.current.Store(nil)
		return nil
	}
	store := storeOf(c.data())
	prepared, err := rego.New(rego.Query(approvalQuery), rego.Compiler(compiler), rego.Store(store), rego.StrictBuiltinErrors(true)).PrepareForEval(ctx)
	if err != nil {
		return problems(err)
	}
	if err := runTests(ctx, compiler, modules, store); err != nil {
		return err
	}
	a.current.Store(&prepared)
	return nil
}

// Keep returns what puts back the rules that are in force now.
func (a *Approvals) Keep() (putBack func()) {
	former := a.current.Load()
	return func() { a.current.Store(former) }
}

// Active reports whether there is a policy on prompts.
func (a *Approvals) Active() bool { return a.current.Load() != nil }

// has reports whether a module, which is no test, is of a package.
func has(modules []*ast.Module, name string) bool {
	return slices.ContainsFunc(modules, func(m *ast.Module) bool {
		return m.Package.Path.String() == name && !strings.HasSuffix(m.Package.Location.File, testSuffix)
	})
}

// DecidesAccess reports whether the files of a directory, which may be empty, decide who may do what.
func DecidesAccess(dir string) (bool, error) {
	if dir == "" {
		return false, nil
	}
	files, err := load(dir)
	if err != nil {
		return false, err
	}
	_, modules, err := parse(files)
	return err == nil && has(modules, authzPackage), err
}

// Decide answers a prompt. ok is false where the policy has nothing to say of it, or there is none. Whatever goes wrong
// leaves it to people.
func (a *Approvals) Decide(ctx context.Context, q core.PromptQuestion) (ruling core.PromptRuling, ok bool) {
	prepared := a.current.Load()
	if prepared == nil {
		return ruling, false
	}
	ruling = core.PromptRuling{PromptID: q.PromptID, By: core.RulingByPolicy, Answer: core.RulingAsk, Rule: "none"}
	input, err := promptInput(q)
	if err != nil {
		ruling.Reason = "the prompt is nothing that a policy could be asked about"
		return ruling, true
	}
	limited, cancel := context.WithTimeout(ctx, ApprovalLimit)
	defer cancel()
	release, err := a.turns.take(limited, q.Owner)
	if err != nil {
		if ctx.Err() == nil {
			a.failed("the prompt "+q.PromptID, q.AgentID, errNoTurn(ApprovalLimit))
		}
		ruling.Reason = "the policy did not decide in time"
		return ruling, true
	}
	defer release()
	results, err := prepared.Eval(limited, rego.EvalParsedInput(input))
	switch {
	case limited.Err() != nil:
		if ctx.Err() == nil {
			a.failed("the prompt "+q.PromptID, q.AgentID, errLate(ApprovalLimit))
		}
		ruling.Reason = "the policy did not decide in time"
		return ruling, true
	case err != nil:
		a.failed("the prompt "+q.PromptID, q.AgentID, err)
		ruling.Reason = "the policy failed to decide"
		return ruling, true
	case len(results) == 0:
		return core.PromptRuling{}, false
	case len(results) != 1 || len(results[0].Expressions) != 1:
		ruling.Reason = "the policy decided more than once"
		return ruling, true
	}
	said, _ := results[0].Expressions[0].Value.(map[string]any)
	answer, _ := said["answer"].(string)
	rule, _ := said["rule"].(string)
	reason, _ := said["reason"].(string)
	switch {
	case answer != core.RulingAllow && answer != core.RulingDeny && answer != core.RulingAsk:
		ruling.Reason = "the policy answered neither allow nor deny nor ask"
		return ruling, true
	case rule == "":
		ruling.Reason = "the policy did not name the rule that answers"
		return ruling, true
	}
	if answer == core.RulingAllow && q.Tool != "" && q.Input == nil { // it was too large to be kept, or is not known
		answer, reason = core.RulingAsk, "the input of the tool is not known"
	}
	ruling.Answer, ruling.Rule, ruling.Reason = answer, clip.Text(rule, maxRuleName), clip.Text(reason, maxReason)
	return ruling, true
}

// promptInput returns the input of a policy that rules on a prompt. Times are in UTC, and in nanoseconds for the
// functions time.*.
func promptInput(q core.PromptQuestion) (ast.Value, error) {
	at := q.Time.UTC()
	input := q.Input
	if input == nil {
		input = map[string]any{}
	}
	if !calculable(input) {
		return nil, errors.New("the input has a number beyond the range of numbers")
	}
	return ast.InterfaceToValue(map[string]any{
		"prompt": map[string]any{"id": q.PromptID, "kind": q.Kind, "text": q.Text, "options": q.Options},
		"tool":   q.Tool, "input": input,
		"thread": map[string]any{
			"id": q.ThreadID, "name": q.Name, "executionId": q.ExecutionID, "agentId": q.AgentID, "agentType": q.AgentType,
			"approvalPreset": q.Preset, "createdBy": q.Owner,
		},
		"role": q.Role, "repository": q.Repository, "branch": q.Branch, "workspace": q.Workspace,
		"time": map[string]any{
			"ns": at.UnixNano(), "rfc3339": at.Format(time.RFC3339), "weekday": strings.ToLower(at.Weekday().String()),
			"hour": at.Hour(), "minute": at.Minute(),
		},
	})
}

// calculable reports whether policies can calculate with every number of a decoded value. Theirs are of any size: one that a
// float64 has not, or has as 0, ends them with a panic, or costs them memory by its exponent.
func calculable(value any) bool {
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		return err == nil && (f != 0 || strings.Trim(string(v), "-0.") == "")
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !calculable(item) })
	case map[string]any:
		for _, item := range v {
			if !calculable(item) {
				return false
			}
		}
	}
	return true
}
