package pattern

import (
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

// readAgents reads which agents a step needs, and how many.
func (s section) readAgents(step *core.Step) {
	step.Min, step.Max, step.TaskTimeout = 1, 1, defaultTaskTimeout*time.Millisecond
	a, ok := s.section(s.at("agents"), s.get("agents"), shapeOf[agentsText]())
	if !ok {
		return
	}
	step.Need.Capabilities = a.words("capabilities")
	step.Min = a.integer("min", 1)
	step.Max = a.integer("max", step.Min)
	if step.Max < step.Min {
		if a.get("min") != nil {
			a.wrong("max", "is %d, below min, which is %d", step.Max, step.Min)
		}
		step.Max = step.Min
	}
	step.TaskTimeout = time.Duration(a.integer("taskTimeout", defaultTaskTimeout)) * time.Millisecond
	p, ok := a.section(a.at("prefer"), a.get("prefer"), shapeOf[core.AgentPreference]())
	if ok {
		step.Need.Prefer = core.AgentPreference{Region: p.text("region"), Names: p.words("names"), Model: p.text("model")}
	}
}

// readStrategy reads the step part of the definition's execution section.
func (s section) readStrategy(step *core.Step) {
	n := s.get("execution")
	if n != nil && n.kind != mapNode {
		n = nil // reported by readExecution
	}
	if n == nil {
		n = &node{kind: mapNode}
	}
	section{problems: s.problems, path: s.at("execution"), node: n, shape: shapeOf[stepExecutionText]()}.readStepExecution(step, s)
}

// readStepExecution reads how a step uses its agents. around is the section that holds it, with agents.
func (s section) readStepExecution(step *core.Step, around section) {
	step.Strategy = core.StepStrategy(s.choice("strategy", string(core.StepParallel)))
	limited := s.get("minResults") != nil
	step.MinResults = s.integer("minResults", step.Min)
	if limited && (step.MinResults < step.Min || step.MinResults > step.Max) {
		s.wrong("minResults", "must lie between agents.min and agents.max, which are %d and %d", step.Min, step.Max)
	}
	step.WaitForAll = s.boolean("waitForAll", !limited)
	if step.Strategy != core.StepRace {
		return
	}
	step.WaitForAll = false
	if s.get("waitForAll") != nil && s.boolean("waitForAll", false) {
		s.wrong("waitForAll", "cannot be true in a race, which ends at the first acceptable result")
	}
	if step.Min > 1 {
		around.add(around.at("agents"), around.node.keyLine("agents"),
			"must have min 1 in a race, which ends at the first acceptable result; max says how many agents race")
	}
	if limited && step.MinResults > 1 {
		s.wrong("minResults", "must be 1 in a race, which ends at the first acceptable result")
	}
}

// readValidation reads the rules a step's outcome must meet.
func (s section) readValidation(step *core.Step) {
	v, ok := s.section(s.at("validation"), s.get("validation"), shapeOf[validationText]())
	step.OnInvalid = core.OnInvalidFail
	if !ok {
		return
	}
	step.MinConfidence = v.number("minConfidence", 0)
	step.OnInvalid = core.OnInvalid(v.choice("onFailure", string(core.OnInvalidFail)))
	retries := 0
	if step.OnInvalid == core.OnInvalidRetry {
		retries = 1
	}
	step.MaxRetries = v.integer("maxRetries", retries)
	fallback := v.get("fallback")
	if fallback != nil {
		step.Fallback = fallback.appendJSON(nil)
	}
	if step.OnInvalid == core.OnInvalidFallback && fallback == nil {
		v.wrong("onFailure", "needs fallback, the value to return")
	}
}

// readAggregation reads how answers become an outcome. broken is set if there is something wrong.
func (s section) readAggregation() (g *aggregation, broken bool) {
	before := len(s.list)
	g = &aggregation{strategy: merge, method: deep}
	a, ok := s.section(s.at("aggregation"), s.get("aggregation"), shapeOf[aggregationText]())
	if !ok {
		return g, true
	}
	g.strategy = strategy(a.choice("strategy", string(merge)))
	allowed := map[strategy]string{
		voting:    "method field threshold minVotes weights",
		consensus: "field fields threshold minVotes",
		merge:     "method",
		first:     "",
		best:      "field",
	}[g.strategy]
	known := len(s.list) == before // what a strategy takes can be told of one that is known
	if known {
		for _, e := range a.node.keys {
			if e.key != "strategy" && !strings.Contains(" "+allowed+" ", " "+e.key+" ") {
				a.wrong(e.key, "has no meaning with the strategy %s", g.strategy)
			}
		}
	}
	switch {
	case !known:
	case g.strategy == voting:
		g.method = a.option("method", majority, []string{majority, plurality, unanimous, weighted})
	case g.strategy == merge:
		g.method = a.option("method", deep, []string{deep, shallow, concat, union})
	}
	g.readMeasures(a)
	return g, len(s.list) > before
}

func (g *aggregation) readMeasures(a section) {
	if text := a.text("field"); text != "" {
		g.field = a.fieldPath(a.at("field"), a.get("field"))
	} else if n := a.get("field"); n != nil && n.kind == textNode {
		a.wrong("field", "is empty")
	}
	if n := a.get("threshold"); n != nil {
		g.threshold = a.number("threshold", 1)
		if g.threshold == 0 {
			a.wrong("threshold", "must be above 0 and at most 1")
		}
	}
	g.minVotes = a.integer("minVotes", 0)
	if a.get("fields") != nil && g.field != nil {
		a.wrong("fields", "cannot be given together with field")
	}
	words := a.words("fields")
	if n := a.get("fields"); n != nil && n.kind == listNode && len(n.items) == 0 {
		a.wrong("fields", "must name at least one field")
	}
	for _, word := range words {
		if p := a.fieldPath(a.at("fields"), &node{kind: textNode, line: a.node.keyLine("fields"), text: word}); p != nil {
			g.fields = append(g.fields, votedField{word, p})
		}
	}
	g.readWeights(a)
}

func (p *problems) fieldPath(at string, n *node) path {
	field, err := parsePath(n.text)
	if err != nil {
		p.add(at, n.line, "%q %s; a field is written like label or data.items[0].name", clip(n.text, 64), err)
		return nil
	}
	return field
}

// readWeights reads the weights of a weighted vote by agent id; * stands for all others.
func (g *aggregation) readWeights(a section) {
	n := a.get("weights")
	switch {
	case n == nil:
		return
	case g.method != weighted:
		a.wrong("weights", "has no meaning without method: weighted")
		return
	case n.kind == textNode && n.text == "confidence": // the default, spelled out
		return
	case n.kind != mapNode || len(n.keys) == 0 || len(n.keys) > maxAgents:
		a.wrong("weights", "must be confidence, or a map of agent ids (* for all others) to numbers")
		return
	}
	g.weights = make(map[string]float64, len(n.keys))
	w := section{problems: a.problems, path: a.at("weights"), node: n}
	for _, e := range n.keys {
		g.weights[e.key] = w.numberIn(e.key, 1, 0, 1e9)
	}
}
