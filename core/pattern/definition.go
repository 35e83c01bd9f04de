package pattern

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Bounds and defaults of a definition.
const (
	maxName            = 128
	maxVersion         = 64
	maxDescription     = 4096
	maxSteps           = 100
	maxAgents          = 1000
	defaultTaskTimeout = 30_000 // milliseconds
)

var (
	nameRule    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	versionRule = regexp.MustCompile(`^[0-9A-Za-z.+-]{1,64}$`)
	stepRule    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
)

const (
	nameReason    = "must be 1 to 128 letters, digits, dots, dashes or underscores, and begin with a letter or digit"
	versionReason = "must be 1 to 64 letters, digits, dots, dashes or plus signs"
)

// identity holds what a request says of a definition beside its text. Empty fields were not given.
type identity struct {
	name, version, description string
	path                       string // the name that the request is about: the text may leave its own out, or agree
}

// rules are what a definition is held to beside the language itself.
type rules struct {
	limit      int      // bytes of the longest text
	agentTypes []string // that roles may name; nil: any
	// secret says why a reference of config cannot be resolved; may be nil.
	secret func(ref core.SecretRef) error
	// matching is how many instructions all regular expressions may have; 0: any number.
	matching int
	// noOctal refuses numbers with a leading zero, which YAML reads as octal. Texts that are stored may have some.
	noOctal bool
}

// Parse reads and checks a definition, flat or an org chart. It returns either a plan or every problem that
// was found, by line. Texts over DefaultMaxDefinition bytes are refused. Agent types are not checked: which
// there are is the operator's choice.
func Parse(source string) (core.Plan, []core.Problem) {
	plan, found := parse(source, identity{}, rules{limit: DefaultMaxDefinition, matching: maxInstructions, noOctal: true})
	if len(found) > 0 {
		return nil, found
	}
	return plan, nil
}

// parse is Parse for a definition whose name, version and description may be given beside it.
func parse(source string, given identity, r rules) (*Plan, []core.Problem) {
	root, found := readYAML(source, r.limit, r.noOctal)
	if root == nil {
		return nil, found
	}
	p := &problems{list: found, mostToMatch: r.matching}
	if root.kind != mapNode {
		p.add("", root.line, "must be a map, not %s", root.kind)
		return nil, p.sorted()
	}
	plan := &Plan{}
	p.readIdentity(plan, root, given)
	if isChart(root) {
		p.readChart(plan, root, r)
	} else {
		s, _ := p.section("", root, shapeOf[flatText]())
		s.readBody(plan)
	}
	if r.secret != nil {
		for _, ref := range plan.definition.Secrets {
			if err := r.secret(ref); err != nil {
				p.add("config", root.keyLine("config"), "%s", core.AsError(err).Message)
			}
		}
	}
	if len(p.list) > 0 {
		return nil, p.sorted()
	}
	plan.json, plan.matching = definitionJSON(root), p.matching
	return plan, nil
}

// isChart tells an org chart from a flat definition.
func isChart(root *node) bool { return root.get("structure") != nil || root.get("workflow") != nil }

// readIdentity settles name, version and description between the definition and the request.
func (p *problems) readIdentity(plan *Plan, root *node, given identity) {
	s := section{problems: p, node: root, shape: shapeOf[identityText]()}
	if given.name == "" && given.path != "" {
		if n := root.get("name"); n != nil && n.kind == textNode && n.plain != given.path {
			s.wrong("name", "is %q here and %q in the path", clip(n.plain, maxName), clip(given.path, maxName))
		}
		given.name = given.path
	}
	d := &plan.definition
	d.Name = s.settle("name", given.name, nameRule, nameReason, false)
	d.Version = s.settle("version", given.version, versionRule, versionReason, true)
	if d.Version == latestVersion {
		s.add("version", root.keyLine("version"), "must not be %q, which stands for the newest version", latestVersion)
	}
	d.Description = s.text("description")
	if given.description != "" {
		d.Description = given.description
	}
	if len(d.Description) > maxDescription {
		p.add("description", root.keyLine("description"), "is %d bytes long; at most %d are allowed", len(d.Description), maxDescription)
	}
}

// settle reads a word that the request may name too, and then wins: a text can be stored under a new version as it is.
// An unquoted number counts as the word it looks like
// where number is set: version: 1.0.
func (s section) settle(key, given string, rule *regexp.Regexp, text string, number bool) string {
	n := s.get(key)
	if given != "" {
		if !rule.MatchString(given) {
			s.add(key, 0, "%s", text)
		}
		return given
	}
	if n == nil || n.kind == nullNode {
		s.add(key, 0, "is missing")
		return ""
	}
	word := n.plain
	if n.kind != textNode && (n.kind != numberNode || !number) {
		s.wrong(key, "must be text, not %s", n.kind)
		return ""
	}
	if !rule.MatchString(word) {
		s.wrong(key, "%s", text)
	}
	return word
}

// readBody reads everything but the identity.
func (s section) readBody(plan *Plan) {
	if n := s.get("input"); n != nil {
		plan.input = s.readFields("input", n)
	}
	s.readExecution(plan)
	s.readConfig(plan)
	s.readSecurity(plan)
	if n := s.get("steps"); n != nil {
		s.readSteps(plan, n)
	} else {
		s.readSingle(plan)
	}
	s.readOutput(plan)
}

func (s section) readExecution(plan *Plan) {
	e, ok := s.section("execution", s.get("execution"), shapeOf[executionText]())
	if !ok {
		return
	}
	plan.definition.Timeout = time.Duration(e.integer("timeout", 0)) * time.Millisecond
	plan.definition.MaxActive = e.integer("maxConcurrent", 0)
}

func (s section) readConfig(plan *Plan) {
	n := s.get("config")
	if n == nil {
		return
	}
	if n.kind != mapNode {
		s.wrong("config", "must be a map, not %s", n.kind)
		return
	}
	plan.definition.Secrets = secretRefs(nil, n)
	plan.definition.Config = n.appendJSON(nil)
}

// secretRefs appends the references to secrets in a value.
func secretRefs(list []core.SecretRef, n *node) []core.SecretRef {
	switch n.kind {
	case textNode:
		if ref, ok := core.RequestedSecretRef(n.text); ok {
			list = append(list, ref)
		}
	case listNode:
		for _, item := range n.items {
			list = secretRefs(list, item)
		}
	case mapNode:
		for _, e := range n.keys {
			list = secretRefs(list, e.value)
		}
	}
	return list
}

func (s section) readSecurity(plan *Plan) {
	a, ok := s.section("security", s.get("security"), shapeOf[securityText]())
	if ok {
		plan.access = Access{Users: a.words("allowedUsers"), Roles: a.words("allowedRoles")}
		if plan.access.limited() {
			plan.definition.Guard = &core.Guard{Users: plan.access.Users, Roles: plan.access.Roles}
		}
	}
}

// readSingle reads a definition that is one step.
func (s section) readSingle(plan *Plan) {
	if s.get("agents") == nil {
		s.add("agents", 0, "is missing: it says which agents are needed, for example capabilities: [classification]")
	}
	plan.definition.Steps = make([]core.Step, 1)
	plan.steps = make([]stepPlan, 1)
	s.readAgents(&plan.definition.Steps[0])
	s.readStrategy(&plan.definition.Steps[0])
	s.readValidation(&plan.definition.Steps[0])
	plan.steps[0].aggregation, plan.steps[0].broken = s.readAggregation()
}

// readSteps reads a definition of several steps.
func (s section) readSteps(plan *Plan, n *node) {
	for _, key := range []string{"agents", "aggregation", "validation"} {
		if s.get(key) != nil {
			s.wrong(key, "belongs to a step when there are steps")
		}
	}
	if e := s.get("execution"); e != nil && e.kind == mapNode {
		for _, key := range []string{"strategy", "waitForAll", "minResults"} {
			if e.get(key) != nil {
				s.add("execution."+key, e.keyLine(key), "belongs to a step when there are steps")
			}
		}
	}
	if n.kind != listNode || len(n.items) == 0 || len(n.items) > maxSteps {
		s.wrong("steps", "must be a list of 1 to %d steps", maxSteps)
		return
	}
	ids := stepIDs(n)
	plan.definition.Steps = make([]core.Step, len(n.items))
	plan.steps = make([]stepPlan, len(n.items))
	for i, item := range n.items {
		path := fmt.Sprintf("steps[%d]", i)
		if item.kind != mapNode {
			s.add(path, item.line, "must be a map, not %s", item.kind)
			continue
		}
		if slices.Contains(ids[:i], ids[i]) && ids[i] != "" {
			s.add(join(path, "id"), item.keyLine("id"), "is the id of an earlier step too")
		}
		s.readStep(path, item, &plan.definition.Steps[i], &plan.steps[i])
		if c := plan.definition.Steps[i].Compose; c != nil && c.Name == plan.definition.Name {
			s.add(join(path, "pattern"), item.keyLine("pattern"), "leads back to this pattern: %s -> %s", c.Name, c.Name)
		}
		if n := item.get("input"); n != nil {
			scope := &vocabulary{input: plan.declared(), earlier: ids[:i], later: ids[i:],
				noAggregation: "is not known in a step's input; use $steps.<id>.result"}
			plan.steps[i].input = compiler{s.problems, scope}.compile(join(path, "input"), n)
		}
	}
}

// stepIDs returns the ids of all steps, empty where there is none.
func stepIDs(n *node) []string {
	ids := make([]string, len(n.items))
	for i, item := range n.items {
		if item.kind == mapNode {
			if id := item.get("id"); id != nil && id.kind == textNode {
				ids[i] = id.text
			}
		}
	}
	return ids
}

func (p *problems) readStep(path string, n *node, step *core.Step, plan *stepPlan) {
	shape, composed := shapeOf[stepText](), n.get("pattern") != nil
	if composed {
		shape = shapeOf[composedText]()
	}
	s, _ := p.section(path, n, shape)
	step.ID = s.text("id")
	switch {
	case n.get("id") == nil:
		p.add(path, n.line, "lacks an id")
	case !stepRule.MatchString(step.ID):
		s.wrong("id", "must be 1 to 64 letters, digits, dashes or underscores, and begin with a letter")
	}
	if composed {
		step.Compose = s.readComposition()
		return
	}
	if n.get("agents") == nil {
		p.add(path, n.line, "lacks agents, or the pattern to run")
	}
	s.readAgents(step)
	if e, ok := s.section(s.at("execution"), s.get("execution"), shapeOf[stepExecutionText]()); ok {
		e.readStepExecution(step, s)
	}
	s.readValidation(step)
	plan.aggregation, plan.broken = s.readAggregation()
}

func (s section) readComposition() *core.Composition {
	text := s.text("pattern")
	name, version, ranged := strings.Cut(text, "@")
	if !nameRule.MatchString(name) {
		s.wrong("pattern", "must be a pattern's name, or name@range: the name %s", nameReason)
	}
	if ranged {
		if err := checkSelector(version); err != nil || version == "" {
			s.wrong("pattern", "has %q after the @; that must be a version, latest, or a range such as 1.x or ^1.2", clip(version, maxVersion))
		}
	}
	if version == latestVersion {
		version = ""
	}
	return &core.Composition{Name: name, Range: version}
}

func (s section) readOutput(plan *Plan) {
	last := len(plan.steps) - 1
	if last < 0 {
		return
	}
	n := s.get("output")
	if n == nil {
		plan.output = nil
		return
	}
	if n.kind != mapNode && n.kind != textNode {
		s.wrong("output", "must be a map of expressions or one expression, not %s", n.kind)
		return
	}
	ids := make([]string, 0, len(plan.steps))
	for _, step := range plan.definition.Steps {
		if step.ID != "" {
			ids = append(ids, step.ID)
		}
	}
	scope := &vocabulary{input: plan.declared(), earlier: ids, execution: true}
	switch g := plan.steps[last].aggregation; {
	case g != nil:
		scope.aggregation = g.strategy
		for _, f := range g.fields {
			scope.consensus = append(scope.consensus, f.name)
		}
	case plan.definition.Steps[last].Compose != nil:
		scope.noAggregation = "is not known: the last step runs a pattern; use $steps." + plan.definition.Steps[last].ID + ".result"
	}
	scope.broken = plan.steps[last].broken || scope.aggregation == "" && scope.noAggregation == ""
	plan.output = compiler{s.problems, scope}.compile("output", n)
	if g := plan.steps[last].aggregation; g != nil {
		g.results = names(plan.output, "results")
		plan.namesAggregation = names(plan.output, g.strategy.variable(), "results")
	}
}

// standIn returns an identity that a stored text is compiled under without the request that brought it: the request may
// have named another than the text does. No text runs a pattern of that name: it would have to hold its own hash.
func standIn(source string) identity {
	return identity{name: "stand-in-" + hashOf(source), version: "0"}
}
