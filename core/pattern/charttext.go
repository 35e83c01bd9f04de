package pattern

import (
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// stepExpressions holds the parsed expressions of a step of an org chart; nil for those that it does not have.
type stepExpressions struct {
	task    template   // of assign
	subject expression // of review and approve
	check   *term      // of condition
	from    expression // of aggregate; nil: the result of before
	before  string     // path of the sibling before it
}

// chartCompiler turns the texts of an org chart into expressions, and reports what can never be resolved.
type chartCompiler struct {
	*problems
	scope *chartVocabulary
}

// compileSteps compiles the expressions of all steps. It comes after all of them are read.
func (c *chartReader) compileSteps() {
	if c.full {
		return // there are steps that were not read
	}
	scope := &chartVocabulary{input: c.plan.declared(), steps: c.chart.Steps, outputs: c.outputs}
	c.compileAll(scope, c.drafts)
}

func (c *chartReader) compileAll(scope *chartVocabulary, drafts []*draft) {
	for _, d := range drafts {
		scope.own = numbers(d.step.Path)
		c.compileStep(&chartCompiler{c.problems, scope}, d)
		c.compileAll(scope, d.kids)
	}
}

func (c *chartReader) compileStep(x *chartCompiler, d *draft) {
	e := &stepExpressions{}
	switch d.step.Kind {
	case core.KindAssign:
		d.requires("task")
		e.task = x.task(d)
	case core.KindReview, core.KindApprove:
		d.requires("subject")
		if n := d.in.get("subject"); n != nil {
			e.subject = x.value(d.in.at("subject"), "subject", n, true)
		}
		if d.step.OnReject == core.OnRejectRetry && d.before == nil {
			d.in.wrong("onReject", "cannot be retry, which runs the step before it again: %s", d.alone)
		}
	case core.KindCondition:
		if n := d.in.get("check"); n != nil {
			e.check = x.condition(d.in.at("check"), n)
		}
	case core.KindAggregate:
		x.aggregate(d, e)
	default:
		return
	}
	c.plan.chart.steps[d.step.Path] = e
}

// task reads the text of an assign step.
func (c *chartCompiler) task(d *draft) template {
	n := d.in.get("task")
	if n == nil {
		return nil
	}
	text := d.in.text("task")
	switch {
	case n.kind != textNode:
		return nil
	case strings.TrimSpace(text) == "":
		d.in.wrong("task", "must not be empty: it is what the agent is asked to do")
		return nil
	}
	return c.template(d.in.at("task"), "task", n)
}

// aggregate reads what an aggregate step folds.
func (c *chartCompiler) aggregate(d *draft, e *stepExpressions) {
	n := d.in.get("from")
	switch {
	case n != nil && n.kind == listNode && len(n.items) > 0:
		e.from = c.value(d.in.at("from"), "from", n, false)
	case n != nil && n.kind == textNode:
		ref := c.variable(d.in.at("from"), "from", n)
		if ref == nil {
			return
		}
		e.from = ref
		if step := c.stepBehind(ref); step != nil && neverList(step, ref.path) {
			d.in.wrong("from", "is not a list: step %s is a %s", step.Path, step.Kind)
		}
	case n != nil:
		d.in.wrong("from", "must be a variable such as ${step_0_result}, or a list of them, not %s", emptyOr(n))
	case d.before == nil:
		d.in.add(d.in.path, d.in.node.line, "lacks from, the list to aggregate: %s", d.alone)
	default:
		e.before = d.before.step.Path
		if neverList(d.before.step, nil) {
			d.in.add(d.in.path, d.in.node.line, "lacks from, the list to aggregate: the result of the step before it, a %s, is no list", d.before.step.Kind)
		}
	}
}

// stepBehind returns the step whose result a reference names, or nil.
func (c *chartCompiler) stepBehind(ref *reference) *core.ChartStep {
	if step := c.scope.outputs[ref.root]; step != nil {
		return step
	}
	if ref.step == "" {
		return nil
	}
	step, _ := c.scope.find(numbers(ref.step))
	return step
}

// compileOutput reads workflow.output.
func (c *chartReader) compileOutput(s section) {
	n := s.get("output")
	if n == nil || c.full {
		return
	}
	scope := &chartVocabulary{input: c.plan.declared(), steps: c.chart.Steps, outputs: c.outputs}
	x := chartCompiler{c.problems, scope}
	if n.kind != mapNode && n.kind != listNode && n.kind != textNode {
		s.wrong("output", "must be an expression, or a map of them, not %s", n.kind)
		return
	}
	c.plan.chart.output = x.value(s.at("output"), "output", n, true)
}

// value reads the expression at n, or the map or list of them. at is its place in the definition, short its
// place in the step. alone is set for text that must name a variable, for it is the whole of a subject or an
// output; inside a map, text may just be text.
func (c *chartCompiler) value(at, short string, n *node, alone bool) expression {
	switch n.kind {
	case textNode:
		return c.text(at, short, n, alone)
	case listNode:
		a := make(array, len(n.items))
		for i, item := range n.items {
			a[i] = c.value(fmt.Sprintf("%s[%d]", at, i), fmt.Sprintf("%s[%d]", short, i), item, false)
		}
		return a
	case mapNode:
		o := make(object, len(n.keys))
		for i, e := range n.keys {
			o[i] = member{append(rawjson.AppendString(nil, e.key), ':'), c.value(join(at, e.key), join(short, e.key), e.value, false)}
		}
		return o
	}
	if alone {
		c.add(at, n.line, "must name a variable, is %s", n.kind)
	}
	return literal(n.appendJSON(nil))
}

func (c *chartCompiler) text(at, short string, n *node, alone bool) expression {
	if !strings.Contains(n.text, "${") {
		return c.bare(at, short, n, alone)
	}
	t := c.template(at, short, n)
	switch {
	case len(t) == 1 && t[0].ref != nil:
		return t[0].ref
	case len(t) == 1:
		return literal(rawjson.AppendString(nil, t[0].text))
	}
	return t
}

// bare reads text without ${}. It is a variable if it looks like one.
func (c *chartCompiler) bare(at, short string, n *node, alone bool) expression {
	text := strings.TrimSpace(n.text)
	p, err := parsePath(text)
	looks := err == nil && (len(p) > 1 && hint(p[0].key, []string{"input", "context"}) != "" || strings.HasPrefix(p[0].key, "step_"))
	if alone || err == nil && c.scope.known(p[0].key) || looks {
		if ref := c.variable(at, short, n); ref != nil {
			return ref
		}
		return literal("null")
	}
	return literal(rawjson.AppendString(nil, n.text))
}

// variable reads text that must be exactly one variable, bare or in ${}. nil if it is not.
func (c *chartCompiler) variable(at, short string, n *node) *reference {
	text := strings.TrimSpace(n.text)
	if strings.HasPrefix(text, "${") && closing(text, 2, '}') == len(text)-1 {
		text = strings.TrimSpace(text[2 : len(text)-1])
	}
	ref, err := parseReference(text)
	if err != nil {
		c.add(at, n.line, "%q must be a variable such as ${step_0_result} or ${input.task}: it %s", clip(n.text, 64), err)
		return nil
	}
	ref.at, ref.line = short, n.line
	if !c.accept(at, ref) {
		return nil
	}
	return ref
}

// accept reports a reference that can never be resolved.
func (c *chartCompiler) accept(at string, ref *reference) bool {
	if c.enough() {
		return false
	}
	reason := c.scope.check(ref)
	if reason != "" {
		c.add(at, ref.line, "%s %s", ref, reason)
	}
	return reason == ""
}

// template reads text with variables in it. In it $${ stands for ${, and any other $ for itself.
func (c *chartCompiler) template(at, short string, n *node) template {
	var parts template
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			parts = append(parts, templatePart{text: plain.String()})
			plain.Reset()
		}
	}
	rest, line := n.text, n.line
	if n.block {
		line++
	}
	skip := func(k int) {
		if n.block {
			line += strings.Count(rest[:k], "\n")
		}
		rest = rest[k:]
	}
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			plain.WriteString(rest)
			flush()
			return parts
		}
		if i > 0 && rest[i-1] == '$' {
			plain.WriteString(rest[:i-1])
			plain.WriteString("${")
			skip(i + 2)
			continue
		}
		plain.WriteString(rest[:i])
		flush()
		skip(i)
		end := closing(rest, 2, '}')
		if end < 0 {
			c.add(at, line, "%q lacks a closing brace; write $${ for the characters ${", clip(rest, 32))
			return parts
		}
		ref, err := parseReference(strings.TrimSpace(rest[2:end]))
		if err != nil {
			c.add(at, line, "%q %s; write $${ for the characters ${", clip(rest[:end+1], 64), err)
		} else {
			ref.at, ref.line = short, line
			c.accept(at, ref)
			parts = append(parts, templatePart{ref: ref})
		}
		skip(end + 1)
	}
}
