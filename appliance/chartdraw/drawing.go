package chartdraw

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wardroom/wardroom/core"
)

// Drawing is what there is to draw of a pattern. Its JSON form is an answer of the command line. Texts are of one line,
// without control characters.
type Drawing struct {
	Name        string             `json:"name"`
	Version     string             `json:"version"`
	Description string             `json:"description,omitempty"`
	Roles       []*Role            `json:"roles,omitempty"` // at the top of the hierarchy
	Rules       []core.RoutingRule `json:"rules,omitempty"` // routing rules and topic routes, as people read them
	Escalation  *Escalation        `json:"escalation,omitempty"`
	Steps       []*Step            `json:"steps"`
}

// Role is a role with those that report to it.
type Role struct {
	Key          string   `json:"key"`
	Name         string   `json:"name"`
	Instances    string   `json:"instances"` // singleton, 2, 1-4 or 1+
	AgentTypes   []string `json:"agentTypes,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Managed      bool     `json:"managed,omitempty"`
	Reports      []*Role  `json:"reports,omitempty"`
}

// Escalation describes what happens to messages that no rule routes or no role answers.
type Escalation struct {
	Default    core.Behavior `json:"defaultBehavior"`
	TimeoutMs  int64         `json:"timeoutMs"`
	MaxDepth   int           `json:"maxDepth"`
	OnMaxDepth core.Behavior `json:"onMaxDepth"`
}

// Step is a step of a workflow, or of a flat pattern.
type Step struct {
	Path   string   `json:"path"`
	Kind   string   `json:"kind"`             // of core.StepKind; agents or pattern in a flat pattern
	Branch string   `json:"branch,omitempty"` // then or else, in a condition
	Name   string   `json:"name,omitempty"`
	Role   string   `json:"role,omitempty"`
	Text   string   `json:"text,omitempty"`  // task, subject, condition or source of a list
	Notes  []string `json:"notes,omitempty"` // whatever else decides how it runs
	Steps  []*Step  `json:"steps,omitempty"`
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
	var source struct {
		Workflow struct {
			Steps json.RawMessage `json:"steps"`
		} `json:"workflow"`
	}
	texts := map[string]string{}
	if json.Unmarshal(definition, &source) == nil {
		readTexts(source.Workflow.Steps, "", texts)
	}
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
	var topics []string
	for topic := range c.Escalation.TopicRoutes {
		topics = append(topics, topic)
	}
	sort.Strings(topics)
	for _, topic := range topics {
		d.Rules = append(d.Rules, core.RoutingRule{From: "any role", To: line(c.Escalation.TopicRoutes[topic]), Topics: []string{line(topic)}})
	}
	e := c.Escalation
	d.Escalation = &Escalation{Default: e.Default, TimeoutMs: e.Timeout.Milliseconds(), MaxDepth: e.MaxDepth, OnMaxDepth: e.OnMaxDepth}
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

// readTexts gathers what steps say in expressions, by path.
func readTexts(list json.RawMessage, prefix string, texts map[string]string) {
	var steps []json.RawMessage
	if json.Unmarshal(list, &steps) != nil {
		return
	}
	for i, step := range steps {
		readText(step, prefix+strconv.Itoa(i), texts)
	}
}

func readText(step json.RawMessage, path string, texts map[string]string) {
	if bytes.HasPrefix(bytes.TrimSpace(step), []byte("[")) {
		readTexts(step, path+".", texts) // a branch that is a list of steps
		return
	}
	var s struct {
		Task    json.RawMessage `json:"task"`
		Subject json.RawMessage `json:"subject"`
		Check   json.RawMessage `json:"check"`
		From    json.RawMessage `json:"from"`
		Steps   json.RawMessage `json:"steps"`
		Then    json.RawMessage `json:"then"`
		Else    json.RawMessage `json:"else"`
	}
	if json.Unmarshal(step, &s) != nil {
		return
	}
	for _, value := range []json.RawMessage{s.Task, s.Subject, s.Check, s.From} {
		if len(value) > 0 {
			texts[path] = textOf(value)
		}
	}
	readTexts(s.Steps, path+".", texts)
	readText(s.Then, path+".0", texts)
	readText(s.Else, path+".1", texts)
}

func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return line(text)
	}
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return ""
	}
	return line(out.String())
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

// sentence renders the escalation for people.
func (e *Escalation) sentence() string {
	what := map[core.Behavior]string{
		core.BehaviorReportsTo: "to the manager", core.BehaviorSurface: "to people",
		core.BehaviorFail: "fail", core.BehaviorBestEffort: "end with what there is",
	}
	name := func(b core.Behavior) string {
		if text := what[b]; text != "" {
			return text
		}
		return line(string(b))
	}
	return fmt.Sprintf("otherwise %s; no answer in %s: one level up, %d at most, then %s",
		name(e.Default), span(time.Duration(e.TimeoutMs)*time.Millisecond), e.MaxDepth, name(e.OnMaxDepth))
}

// details are the facts of a role in short.
func (r *Role) details() []string {
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
func (r *Role) title() string {
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
