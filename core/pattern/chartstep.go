package pattern

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

// draft is a step on its way into the chart, with the text it was read from.
type draft struct {
	step *core.ChartStep
	in   section
	kids []*draft
	// before is the sibling that is finished when this step begins, or nil; alone says why there is none.
	before *draft
	alone  string
}

// roleKey is the key by which a step at an agent names its role.
var roleKey = map[core.StepKind]string{core.KindAssign: "role", core.KindReview: "reviewer", core.KindApprove: "approver"}

// readSteps reads a list of steps whose numbers begin with prefix.
func (c *chartReader) readSteps(at string, n *node, prefix string, depth int) []*draft {
	drafts := make([]*draft, 0, len(n.items))
	for i, item := range n.items {
		if c.full {
			break
		}
		drafts = append(drafts, c.readStep(fmt.Sprintf("%s[%d]", at, i), item, prefix+strconv.Itoa(i), depth))
	}
	for i, d := range drafts {
		if i > 0 {
			d.before = drafts[i-1]
		} else {
			d.alone = "there is no step before it"
		}
	}
	return drafts
}

// readStep reads one step, at depth steps one inside the other.
func (c *chartReader) readStep(at string, n *node, path string, depth int) *draft {
	d := &draft{step: &core.ChartStep{Path: path, Line: n.line}, in: section{problems: c.problems, path: at, node: &node{kind: mapNode}, shape: shapeOf[stepTypeText]()}}
	c.steps++
	switch {
	case c.steps > maxChartSteps:
		c.stop(at, n.line, "is one step too many: a workflow has at most %d", maxChartSteps)
	case depth > maxNesting:
		c.stop(at, n.line, "is nested too deep: steps may be nested at most %d deep", maxNesting)
	case n.kind != mapNode:
		c.add(at, n.line, "must be a step, a map with a type, not %s", n.kind)
	default:
		d.in.node = n
		c.fillStep(d, depth)
	}
	return d
}

func (c *chartReader) stop(at string, line int, format string, args ...any) {
	c.full = true
	c.add(at, line, format, args...)
}

// fillStep reads what a step says of itself.
func (c *chartReader) fillStep(d *draft, depth int) {
	kind := d.in.choice("type", "")
	if d.in.get("type") == nil {
		c.add(d.in.path, d.in.node.line, "lacks a type: %s", either(d.in.shape.Find("type").Enum))
	}
	step := d.step
	step.Kind = core.StepKind(kind)
	if kind != "" {
		d.in.shape = stepShapes[step.Kind]
		c.checkStepKeys(d)
	}
	step.Name = d.in.word("name")
	c.readStepOutput(d)
	if step.Kind.AtAgent() {
		c.readStepRole(d)
		step.Timeout = time.Duration(d.in.integer("timeout", 0)) * time.Millisecond
	}
	switch step.Kind {
	case core.KindApprove:
		c.readApprove(d)
	case core.KindAggregate:
		d.requires("method")
		step.Method = core.Method(d.in.choice("method", ""))
	case core.KindParallel, core.KindSequential:
		c.readInner(d, depth)
	case core.KindCondition:
		c.readBranches(d, depth)
	}
}

// requires reports a key that the step's type cannot do without.
func (d *draft) requires(key string) {
	if d.in.get(key) == nil {
		d.in.add(d.in.path, d.in.node.line, "lacks %s, which steps of type %s need", key, d.step.Kind)
	}
}

func (c *chartReader) checkStepKeys(d *draft) {
	for _, e := range d.in.node.keys {
		if d.in.shape.Find(e.key) != nil || c.enough() {
			continue
		}
		at := join(d.in.path, e.key)
		if key := roleKey[d.step.Kind]; key != "" && slices.Contains([]string{"role", "reviewer", "approver"}, e.key) {
			c.add(at, e.line, "is not known here; steps of type %s name their role by %s", d.step.Kind, key)
			continue
		}
		c.add(at, e.line, "unknown field in steps of type %s%s", d.step.Kind, hintOrList(d.in.path, e.key, d.in.shape.Names()))
	}
}

func (c *chartReader) readStepRole(d *draft) {
	key := roleKey[d.step.Kind]
	d.requires(key)
	d.step.Role = c.role(d.in, key)
	c.used[d.step.Role] = true
}

func (c *chartReader) readApprove(d *draft) {
	d.step.OnReject = core.OnReject(d.in.choice("onReject", string(core.OnRejectContinue)))
	n := d.in.integer("maxRetries", approveRetries)
	if d.step.OnReject == core.OnRejectRetry {
		d.step.MaxRetries = n
	} else if d.in.get("maxRetries") != nil {
		d.in.wrong("maxRetries", "has no meaning without onReject: retry")
	}
}

// readInner reads the steps of a parallel or sequential step.
func (c *chartReader) readInner(d *draft, depth int) {
	d.requires("steps")
	n := d.in.get("steps")
	if n == nil {
		return
	}
	if n.kind != listNode || len(n.items) == 0 {
		d.in.wrong("steps", "must be a list of 1 or more steps, not %s", emptyOr(n))
		return
	}
	d.take(c.readSteps(d.in.at("steps"), n, d.step.Path+".", depth+1))
	if d.step.Kind == core.KindParallel {
		for _, kid := range d.kids {
			kid.before, kid.alone = nil, "the steps of a parallel run at the same time"
		}
	}
}

func (d *draft) take(kids []*draft) {
	d.kids = kids
	d.step.Steps = make([]*core.ChartStep, len(kids))
	for i, kid := range kids {
		d.step.Steps[i] = kid.step
	}
}

// readBranches reads then and else, each a step or a list of them.
func (c *chartReader) readBranches(d *draft, depth int) {
	d.requires("check")
	d.requires("then")
	d.step.Steps = make([]*core.ChartStep, 2)
	for i, key := range []string{"then", "else"} {
		n := d.in.get(key)
		if n == nil || c.full {
			continue
		}
		path := d.step.Path + "." + strconv.Itoa(i)
		var kid *draft
		if n.kind == listNode {
			kid = &draft{
				step: &core.ChartStep{Path: path, Line: d.in.node.keyLine(key), Kind: core.KindSequential},
				in:   section{problems: c.problems, path: d.in.at(key), node: &node{kind: mapNode}},
			}
			if len(n.items) == 0 {
				d.in.wrong(key, "must be a step or a list of 1 or more steps, is empty")
			}
			kid.take(c.readSteps(d.in.at(key), n, path+".", depth+1))
		} else {
			kid = c.readStep(d.in.at(key), n, path, depth+1)
		}
		kid.alone = "it is the first of its branch"
		d.kids = append(d.kids, kid)
		d.step.Steps[i] = kid.step
	}
}

var (
	outputRule   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	stepVariable = regexp.MustCompile(`^step_((?:0|[1-9][0-9]{0,5})(?:_(?:0|[1-9][0-9]{0,5}))*)_result$`)
)

// reserved are the words that an output cannot be called.
var reserved = []string{"input", "context", "true", "false", "null", "in", "contains"}

// readStepOutput reads the name of a further variable for the step's result.
func (c *chartReader) readStepOutput(d *draft) {
	n := d.in.get("output")
	if n == nil {
		return
	}
	name := d.in.text("output")
	switch {
	case n.kind != textNode:
		return
	case !outputRule.MatchString(name):
		d.in.wrong("output", "must be the name of a variable: 1 to 64 letters, digits, _ or -, beginning with a letter")
		return
	case slices.Contains(reserved, name) || strings.HasPrefix(name, "step_") && strings.HasSuffix(name, "_result"):
		d.in.wrong("output", "cannot be %s, which stands for something else", name)
		return
	case c.outputs[name] != nil:
		d.in.wrong("output", "%s is the output of step %s too, in line %d", name, c.outputs[name].Path, c.outputs[name].Line)
		return
	}
	c.outputs[name] = d.step
	d.step.Output = name
}
