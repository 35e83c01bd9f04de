package pattern

import (
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// Bounds and defaults of an org chart.
const (
	maxRoles        = 1000
	maxRules        = 1000
	maxChartSteps   = 20_000
	maxNesting      = 200 // steps one inside the other
	defaultDepth    = 5
	defaultReply    = 30_000        // milliseconds
	chartTimeout    = 2 * time.Hour // of an execution
	approveRetries  = 2
	maxVariableName = 64 // bytes of a name that a message shows
)

// chartReader reads an org chart. What is broken is reported and stands in the chart as it was meant, as far
// as that can be told, so that one mistake makes one problem.
type chartReader struct {
	*problems
	rules    rules
	chart    *core.Chart
	plan     *Plan
	roleKeys []string // of all roles, broken ones included; nil when structure cannot be read
	roleNode map[string]*node
	used     map[string]bool // roles that something refers to
	steps    int             // read so far
	full     bool            // a bound was met: no more steps are read
	drafts   []*draft        // at the top level
	outputs  map[string]*core.ChartStep
	places   []workplaceDraft // of roles, in their order
}

// readChart reads a definition that is an org chart.
func (p *problems) readChart(plan *Plan, root *node, r rules) {
	c := &chartReader{
		problems: p, rules: r, plan: plan, chart: &core.Chart{},
		roleNode: map[string]*node{}, used: map[string]bool{}, outputs: map[string]*core.ChartStep{},
	}
	s := c.readTop(root)
	plan.definition.Timeout = chartTimeout
	c.readLimits(s)
	s.readConfig(plan)
	s.readSecurity(plan)
	plan.chart = &chartPlan{chart: c.chart, steps: map[string]*stepExpressions{}, places: map[string]*workplace{}}
	structure, workflow := c.part(s, "structure", shapeOf[structureText]()),
		c.part(s, "workflow", shapeOf[workflowText]())
	c.readStructure(structure)
	c.readWorkflow(workflow)
	c.bindRoles(structure)
	c.compileWorkplaces()
	plan.chart.count = c.steps
}

// part opens structure or workflow, of which a definition has both.
func (c *chartReader) part(s section, key string, shape *schema.Shape) section {
	n := s.get(key)
	if n == nil {
		s.add(key, 0, "is missing: an org chart has both structure (who there is) and workflow (what they do)")
		return section{problems: c.problems, path: key, node: &node{kind: mapNode}, shape: shape}
	}
	part, ok := s.section(key, n, shape)
	if !ok {
		part.node = &node{kind: nullNode, line: n.line}
	}
	return part
}

// readTop reports the keys that do not belong at the top of an org chart.
func (c *chartReader) readTop(root *node) section {
	known, shape := &node{kind: mapNode, line: root.line}, shapeOf[chartText]()
	for _, e := range root.keys {
		switch {
		case slices.Contains([]string{"input", "output", "steps"}, e.key):
			c.add(e.key, e.line, "belongs under workflow in an org chart")
		case slices.Contains([]string{"roles", "routing", "escalation"}, e.key):
			c.add(e.key, e.line, "belongs under structure in an org chart")
		case shapeOf[flatText]().Find(e.key) != nil && shape.Find(e.key) == nil:
			c.add(e.key, e.line, "belongs to a flat pattern; this is an org chart, having structure or workflow")
		default:
			known.keys = append(known.keys, e)
		}
	}
	s, _ := c.section("", known, shape)
	return s
}

func (c *chartReader) readLimits(s section) {
	e, ok := s.section("execution", s.get("execution"), shapeOf[limitsText]())
	if !ok {
		return
	}
	d := &c.plan.definition
	d.Timeout = time.Duration(e.integer("timeout", int(chartTimeout/time.Millisecond))) * time.Millisecond
	d.MaxActive = e.integer("maxConcurrent", 0)
}

func (c *chartReader) readStructure(s section) {
	if s.node.kind != mapNode {
		return
	}
	c.chart.Name = s.text("name")
	c.readRoles(s)
	c.readRouting(s)
	c.readEscalation(s)
}

func (c *chartReader) readWorkflow(s section) {
	if s.node.kind != mapNode {
		return
	}
	s.text("name")
	if n := s.get("input"); n != nil {
		c.plan.input = s.readFields(s.at("input"), n)
	}
	n := s.get("steps")
	switch {
	case n == nil:
		if s.node.line > 0 {
			s.add(s.at("steps"), s.node.line, "is missing: it is the list of what is done")
		}
	case n.kind != listNode || len(n.items) == 0:
		s.wrong("steps", "must be a list of 1 or more steps, not %s", emptyOr(n))
	default:
		c.drafts = c.readSteps(s.at("steps"), n, "", 1)
	}
	for _, d := range c.drafts {
		c.chart.Steps = append(c.chart.Steps, d.step)
	}
	c.compileSteps()
	c.compileOutput(s)
}

func emptyOr(n *node) string {
	if n.kind == listNode && len(n.items) == 0 {
		return "an empty list"
	}
	return n.kind.String()
}

// role checks the name of a role at key, and returns it if there is such a role.
func (c *chartReader) role(s section, key string, extra ...string) string {
	name := s.text(key)
	if n := s.get(key); n == nil || n.kind != textNode {
		return ""
	}
	if slices.Contains(extra, name) || c.roleNode[name] != nil {
		return name
	}
	c.unknownRole(s.at(key), s.node.keyLine(key), name)
	return ""
}

func (c *chartReader) unknownRole(at string, line int, name string) {
	if c.roleKeys == nil || c.enough() {
		return // what structure lacks is reported
	}
	c.add(at, line, "names the role %q, which structure.roles does not have%s", clip(name, maxVariableName), c.roleHint(name))
}

// roleHint helps those who name a role by its id or its display name, or who mistyped it.
func (c *chartReader) roleHint(name string) string {
	for _, r := range c.chart.Roles {
		if name != "" && (r.ID == name || r.Name == name) {
			return "; roles are named by their key: write " + r.Key
		}
	}
	if near := hint(name, c.roleKeys); near != "" {
		return near
	}
	return "; it has " + clip(strings.Join(c.roleKeys, ", "), 300)
}
