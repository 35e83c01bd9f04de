package rules

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of rules.
const (
	MaxRules  = 100
	MaxTool   = 200  // bytes of a glob
	MaxMatch  = 2000 // bytes of an expression
	MaxAnswer = 200  // bytes
)

// Presets are the names of the approval presets.
var Presets = wire.ApprovalPresets()

// The approval presets.
const (
	Readonly   = wire.ApprovalReadonly
	Standard   = wire.ApprovalStandard
	Permissive = wire.ApprovalPermissive
	Autonomous = wire.ApprovalAutonomous
)

// Rules are compiled rules. They do not change, and are safe for concurrent use. The zero value has none.
type Rules struct {
	list []rule
}

type rule struct {
	core.AutoAnswerRule
	name  string         // where it stands, such as policy.autoAnswer[0]
	match *regexp.Regexp // nil: everything
}

// Compile checks rules and makes them usable. At is where they stand in the request or the file, for example
// policy.autoAnswer; the problems name their fields below it. With problems there are no rules.
func Compile(list []core.AutoAnswerRule, at string) (*Rules, []core.Problem) {
	var problems []core.Problem
	if len(list) > MaxRules {
		return nil, []core.Problem{{Path: at, Reason: fmt.Sprintf("has %d rules; at most %d are allowed", len(list), MaxRules)}}
	}
	r := &Rules{}
	for i, in := range list {
		compiled, found := compile(in)
		for _, p := range found {
			problems = append(problems, core.Problem{Path: fmt.Sprintf("%s[%d].%s", at, i, p.Path), Reason: p.Reason})
		}
		compiled.name = fmt.Sprintf("%s[%d]", at, i)
		r.list = append(r.list, compiled)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return r, nil
}

// Join returns rules of which those of first count before those of then. Either may be nil.
func Join(first, then *Rules) *Rules {
	if first == nil || then == nil {
		return cmp.Or(first, then)
	}
	return &Rules{list: slices.Concat(first.list, then.list)}
}

func compile(in core.AutoAnswerRule) (rule, []core.Problem) {
	var problems []core.Problem
	bad := func(field, format string, args ...any) {
		problems = append(problems, core.Problem{Path: field, Reason: fmt.Sprintf(format, args...)})
	}
	out := rule{AutoAnswerRule: in}
	if in.Preset != "" && !slices.Contains(Presets, in.Preset) {
		bad("preset", "%q is not a preset; use one of %s, or leave it out for all", clip.Text(in.Preset, MaxAnswer), strings.Join(Presets, ", "))
	}
	switch {
	case in.Kind == wire.PromptLogin:
		bad("kind", "a login cannot be answered by a rule; use approval or question, or leave it out")
	case in.Kind != "" && !kind.MatchString(in.Kind):
		bad("kind", "%q is not a kind of prompt; use approval or question, or leave it out", clip.Text(in.Kind, MaxAnswer))
	}
	if len(in.Tool) > MaxTool {
		bad("tool", "is longer than %d bytes; use a shorter glob, * stands for any characters", MaxTool)
	} else if _, err := path.Match(in.Tool, ""); err != nil {
		bad("tool", "%q is not a glob: a [ without its ], or a \\ at the end", in.Tool)
	}
	if in.Match != "" {
		if len(in.Match) > MaxMatch {
			bad("match", "is longer than %d bytes; use several rules", MaxMatch)
		} else if compiled, err := regexp.Compile(in.Match); err != nil {
			bad("match", "is not a regular expression (RE2): %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		} else {
			out.match = compiled
		}
	}
	switch {
	case strings.TrimSpace(in.Answer) == "":
		bad("answer", "is missing; use allow, deny, or the id of an option")
	case len(in.Answer) > MaxAnswer:
		bad("answer", "is longer than %d bytes; use allow, deny, or the id of an option", MaxAnswer)
	}
	return out, problems
}

// kind is what a kind of prompt looks like. Other agents may have kinds of their own.
var kind = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// globMatch reports whether a tool's name fits a glob, whose * stands for any characters: names are no paths.
func globMatch(glob, name string) bool {
	const other = "\x00" // any character that is no separator
	ok, err := path.Match(strings.ReplaceAll(glob, "/", other), strings.ReplaceAll(name, "/", other))
	return ok && err == nil
}

// fits reports whether the rule is about a prompt. A denial looks at everything that the tool would get; every other
// answer only at what people are shown, because an agent chooses the rest as it likes.
func (r *rule) fits(preset string, p Prompt) bool {
	if r.Preset != "" && r.Preset != preset || r.Kind != "" && r.Kind != p.Kind {
		return false
	}
	if r.Tool != "" && !globMatch(r.Tool, p.Tool) {
		return false
	}
	if r.match == nil {
		return true
	}
	texts := p.shown()
	if r.Answer == Deny {
		texts = leaves(map[string]any(p.Input), texts, true)
	}
	return slices.ContainsFunc(texts, r.match.MatchString)
}

// Decision is an answer, and what gave it.
type Decision struct {
	Answer string
	Rule   string // where the rule stands, such as policy.autoAnswer[0]; of a preset: its name
	Preset bool   // no rule: the preset answers by itself
}

// Decide returns the answer to a prompt, and false when people are to answer. Rules count before what the preset
// answers by itself, and the first that fits counts: when the prompt does not offer its answer, people are asked.
// Preset "" is standard. Workspace is the absolute path that the agent works in; "" when it is not known.
func (r *Rules) Decide(preset, workspace string, p Prompt) (d Decision, ok bool) {
	preset = cmp.Or(preset, Standard)
	if p.Kind == wire.PromptLogin {
		return d, false
	}
	d = Decision{Answer: byPreset(preset, workspace, p), Rule: preset, Preset: true}
	if r != nil {
		if i := slices.IndexFunc(r.list, func(rule rule) bool { return rule.fits(preset, p) }); i >= 0 {
			d = Decision{Answer: r.list[i].Answer, Rule: r.list[i].name}
		}
	}
	if d.Answer == "" || !p.Takes(d.Answer) {
		return Decision{}, false
	}
	return d, true
}
