package chartdraw

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Drawing is what there is to draw of a pattern. Its JSON form is an answer of the API and of the command line.
type Drawing wire.PatternDrawing

// Role is a role with those that report to it.
type Role = wire.DrawnRole

// Step is a step of a workflow, or of a flat pattern.
type Step = wire.DrawnStep

// MaxSteps is how many steps a drawing for a server's callers has at most: no picture of more is read by anyone, and each
// takes some KiB.
const MaxSteps = 2000

// Fits returns an error for a plan of more steps than MaxSteps. New draws it all the same.
func Fits(plan core.Plan) error {
	chart := plan.OrgChart()
	if chart == nil {
		return nil // a flat pattern has few
	}
	if n := countSteps(chart.Chart().Steps); n > MaxSteps {
		return core.Invalid("workflow.steps", "are %d with those inside others, and at most %d are drawn: "+
			"draw the file of the definition with wardroom pattern graph --file, or make several patterns of it", n, MaxSteps)
	}
	return nil
}

func countSteps(steps []*core.ChartStep) int {
	n := 0
	for _, s := range steps {
		if s != nil {
			n += 1 + countSteps(s.Steps)
		}
	}
	return n
}

// New makes the drawing of a plan. definition is the same as a JSON object; it has the texts of expressions, which the
// plan keeps to itself, and may be nil.
func New(plan core.Plan, definition json.RawMessage) *Drawing {
	d := plan.Definition()
	drawing := &Drawing{Name: line(d.Name), Version: line(d.Version), Description: line(d.Description), Steps: []*Step{}}
	chart := plan.OrgChart()
	if chart == nil {
		drawing.flat(d, definition)
		return drawing
	}
	c := chart.Chart()
	drawing.hierarchy(c)
	drawing.messages(c)
	texts := stepTexts(definition)
	for _, step := range c.Steps {
		drawing.Steps = append(drawing.Steps, chartStep(step, texts))
	}
	return drawing
}

func (d *Drawing) hierarchy(c *core.Chart) {
	roles := make(map[string]*Role, len(c.Roles))
	for i := range c.Roles {
		r := &c.Roles[i]
		roles[r.Key] = &Role{
			Key: line(r.Key), Name: line(r.Name), Instances: instances(r),
			AgentTypes: lines(r.AgentTypes), Capabilities: lines(r.Capabilities), Managed: r.Managed,
		}
	}
	for i := range c.Roles {
		r := &c.Roles[i]
		if manager := roles[r.ReportsTo]; manager != nil && r.ReportsTo != r.Key {
			manager.Reports = append(manager.Reports, roles[r.Key])
		} else {
			d.Roles = append(d.Roles, roles[r.Key])
		}
	}
}

func instances(r *core.Role) string {
	switch {
	case r.Singleton:
		return "singleton"
	case r.Max == 0 && !r.Managed:
		return strconv.Itoa(r.Min) + "+"
	case r.Max <= r.Min: // without a maximum no more are spawned than the minimum
		return strconv.Itoa(r.Min)
	}
	return fmt.Sprintf("%d-%d", r.Min, r.Max)
}

func (d *Drawing) messages(c *core.Chart) {
	for _, r := range c.Routing {
		from := line(r.From)
		if r.From == core.Anyone {
			from = "any role"
		}
		d.Rules = append(d.Rules, core.RoutingRule{From: from, To: line(r.To), Topics: lines(r.Topics), MessageTypes: lines(r.MessageTypes)})
	}
	for _, topic := range slices.Sorted(maps.Keys(c.Escalation.TopicRoutes)) {
		d.Rules = append(d.Rules, core.RoutingRule{From: "any role", To: line(c.Escalation.TopicRoutes[topic]), Topics: []string{line(topic)}})
	}
	e := c.Escalation
	d.Escalation = &wire.DrawnEscalation{
		Default: string(e.Default), TimeoutMs: e.Timeout.Milliseconds(), MaxDepth: e.MaxDepth, OnMaxDepth: string(e.OnMaxDepth),
	}
}

func chartStep(s *core.ChartStep, texts map[string]string) *Step {
	step := &Step{Path: s.Path, Kind: string(s.Kind), Name: line(s.Name), Role: line(s.Role), Text: texts[s.Path]}
	note := func(format string, args ...any) { step.Notes = append(step.Notes, fmt.Sprintf(format, args...)) }
	if s.Method != "" {
		note("%s", s.Method)
	}
	if s.Kind == core.KindApprove && s.OnReject == core.OnRejectRetry {
		note("rejected: again, %d times at most", s.MaxRetries)
	} else if s.Kind == core.KindApprove && s.OnReject == core.OnRejectFail {
		note("rejected: fail")
	}
	if s.Timeout > 0 {
		note("timeout %s", span(s.Timeout))
	}
	if s.Output != "" {
		note("output %s", line(s.Output))
	}
	for i, kid := range s.Steps {
		if kid == nil {
			continue
		}
		drawn := chartStep(kid, texts)
		if s.Kind == core.KindCondition {
			drawn.Branch = [...]string{"then", "else"}[min(i, 1)]
		}
		step.Steps = append(step.Steps, drawn)
	}
	return step
}

// flat draws the steps of a flat pattern.
func (d *Drawing) flat(def *core.Definition, definition json.RawMessage) {
	type source struct {
		Aggregation struct {
			Strategy string `json:"strategy"`
			Method   string `json:"method"`
		} `json:"aggregation"`
	}
	var whole struct {
		source
		Steps []source `json:"steps"`
	}
	_ = json.Unmarshal(definition, &whole) // without it the way of aggregation is not shown
	for i, s := range def.Steps {
		step := &Step{Path: strconv.Itoa(i), Kind: "agents", Name: line(s.ID)}
		d.Steps = append(d.Steps, step)
		if s.Compose != nil {
			step.Kind, step.Text = "pattern", line(s.Compose.Name)
			if s.Compose.Range != "" {
				step.Text += "@" + line(s.Compose.Range)
			}
			continue
		}
		if step.Text = strings.Join(lines(s.Need.Capabilities), ", "); step.Text == "" {
			step.Text = "any capability"
		}
		count := strconv.Itoa(s.Min)
		if s.Max > s.Min {
			count = fmt.Sprintf("%d-%d", s.Min, s.Max)
		}
		if step.Notes = []string{count + " agents", string(s.Strategy)}; count == "1" {
			step.Notes = []string{"1 agent"}
		}
		from := whole.source
		if i < len(whole.Steps) {
			from = whole.Steps[i]
		}
		if from.Aggregation.Strategy != "" {
			step.Notes = append(step.Notes, strings.TrimSpace(line(from.Aggregation.Strategy+" "+from.Aggregation.Method)))
		}
		if s.MinConfidence > 0 {
			step.Notes = append(step.Notes, fmt.Sprintf("confidence at least %g, else %s", s.MinConfidence, s.OnInvalid))
		}
		if s.TaskTimeout > 0 {
			step.Notes = append(step.Notes, "timeout "+span(s.TaskTimeout))
		}
	}
}

// about renders what a rule is for.
func about(r core.RoutingRule) string {
	if len(r.Topics) > 0 {
		return "topic " + strings.Join(r.Topics, ", ")
	}
	return "type " + strings.Join(r.MessageTypes, ", ")
}

// sentence renders an escalation for people.
func sentence(e *wire.DrawnEscalation) string {
	what := map[string]string{
		string(core.BehaviorReportsTo): "to the manager", string(core.BehaviorSurface): "to people",
		string(core.BehaviorFail): "fail", string(core.BehaviorBestEffort): "end with what there is",
	}
	name := func(b string) string {
		if text := what[b]; text != "" {
			return text
		}
		return line(b)
	}
	return fmt.Sprintf("otherwise %s; no answer in %s: one level up, %d at most, then %s",
		name(e.Default), span(time.Duration(e.TimeoutMs)*time.Millisecond), e.MaxDepth, name(e.OnMaxDepth))
}

// details are the facts of a role in short.
func details(r *Role) []string {
	var all []string
	switch r.Instances {
	case "", "1":
	case "singleton":
		all = append(all, r.Instances)
	default:
		all = append(all, r.Instances+" agents")
	}
	if r.Managed {
		all = append(all, "managed")
	}
	if len(r.AgentTypes) > 0 {
		all = append(all, strings.Join(r.AgentTypes, ", "))
	}
	if len(r.Capabilities) > 0 {
		all = append(all, "needs "+strings.Join(r.Capabilities, ", "))
	}
	return all
}

// title is the name of a role, with its key where that is another word.
func title(r *Role) string {
	if r.Name == "" || r.Name == r.Key {
		return r.Key
	}
	return r.Name + " (" + r.Key + ")"
}

// span renders a duration without the zeros at its end: 1m instead of 1m0s.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// line puts a text on one line and takes out what would move a cursor or turn the reading direction.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0xFFFE || r == 0xFFFF:
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}

func lines(texts []string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, line(text))
	}
	return all
}
