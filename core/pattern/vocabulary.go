package pattern

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// vocabulary holds the names that the expressions at one place of a definition may use. check finds references that
// can never have a value, so that they are refused when the definition is stored.
type vocabulary struct {
	input   []string // declared fields; nil when any are taken
	earlier []string // ids of the steps that are finished by then
	later   []string // ids of the other steps, for the message
	// aggregation is the strategy whose variables are known; "" if none are, for the reason in noAggregation.
	aggregation   strategy
	noAggregation string
	consensus     []string // names of the per-field results, or nil
	execution     bool     // $execution is known
	broken        bool     // the aggregation has problems of its own: do not add to them
}

// members of the variables that are objects of our own making; the flag is set for those that hold no
// further members.
var members = map[string]map[string]bool{
	"vote":      {"result": false, "confidence": true, "distribution": false, "unanimous": true},
	"consensus": {"result": false, "confidence": true, "agreement": true},
	"execution": {"agentCount": true, "duration": true},
	"step":      {"result": false, "confidence": true},
	"context":   {"executionId": true, "patternName": true, "patternVersion": true, "startedAt": true},
	"review": {
		"approved": true, "verdict": true, "confidence": true, "feedback": true, "reviewer": true, "agentId": true,
	},
}

// roots are all variables, in the order of the documentation.
var roots = []string{"vote", "consensus", "merged", "first", "best", "results", "input", "execution", "steps"}

// check returns why the reference can never be resolved, or "".
func (v *vocabulary) check(r *reference) string {
	switch r.root {
	case "input":
		return v.checkInput(r)
	case "steps":
		return v.checkStep(r)
	case "execution":
		if !v.execution {
			return "is known in the output only"
		}
		return checkMembers("execution", r.path)
	case "vote", "consensus", "merged", "first", "best":
		return v.checkAggregation(r)
	case "results":
		if v.aggregation == "" && !v.broken {
			return v.noAggregation
		}
		if len(r.path) > 0 && r.path[0].index < 0 {
			return "is a list: name an answer by its number, $results[0]"
		}
		return ""
	}
	return fmt.Sprintf("is not a variable%s", hintOrList("", r.root, roots))
}

func (v *vocabulary) checkInput(r *reference) string {
	if v.input == nil || len(r.path) == 0 {
		return ""
	}
	if r.path[0].index >= 0 {
		return "is an object: name a field of it"
	}
	if key := r.path[0].key; !slices.Contains(v.input, key) {
		return fmt.Sprintf("names a field that input does not declare%s", hint(key, v.input))
	}
	return ""
}

func (v *vocabulary) checkStep(r *reference) string {
	if len(v.earlier)+len(v.later) == 0 {
		return "has no value: the definition has no steps"
	}
	if len(r.path) == 0 || r.path[0].index >= 0 {
		return "must name a step: $steps.<id>.result"
	}
	id := r.path[0].key
	if slices.Contains(v.later, id) {
		return fmt.Sprintf("names step %q, which is not finished by then", id)
	}
	if !slices.Contains(v.earlier, id) {
		return fmt.Sprintf("names step %q, which does not exist%s", id, hint(id, v.earlier))
	}
	if len(r.path) == 1 {
		return "must say what of the step: result or confidence"
	}
	return checkMembers("step", r.path[1:])
}

func (v *vocabulary) checkAggregation(r *reference) string {
	switch {
	case v.broken:
		return ""
	case v.aggregation == "":
		return v.noAggregation
	case v.aggregation.variable() != r.root:
		return fmt.Sprintf("is not known: the aggregation is %s, so the variable is $%s", v.aggregation, v.aggregation.variable())
	}
	if reason := checkMembers(r.root, r.path); reason != "" {
		return reason
	}
	if r.root == "consensus" && v.consensus != nil && len(r.path) > 1 && r.path[0].key == "result" {
		if field := r.path[1]; field.index >= 0 || !slices.Contains(v.consensus, field.key) {
			return fmt.Sprintf("names a field that aggregation.fields does not list%s", hint(field.key, v.consensus))
		}
	}
	return ""
}

// checkMembers checks the first part of a path against the members of a variable of ours.
func checkMembers(variable string, p path) string {
	known, ours := members[variable]
	if !ours || len(p) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(known))
	if p[0].index >= 0 {
		return "is an object; it has " + either(names)
	}
	scalar, ok := known[p[0].key]
	if !ok {
		return fmt.Sprintf("is not known: %s is not one of %s%s", strconv.Quote(p[0].key), either(names), hint(p[0].key, names))
	}
	if scalar && len(p) > 1 {
		return fmt.Sprintf("goes too far: %s has no parts", p[0].key)
	}
	return ""
}
