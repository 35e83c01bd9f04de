package proof

import (
	"fmt"
	"slices"
	"strings"
)

// Rule names a broken promise.
type Rule string

// The rules.
const (
	RuleLost       Rule = "lost"       // accepted work does not exist, or never ended
	RuleChanged    Rule = "changed"    // it exists with another input, result or time than was told
	RuleTwice      Rule = "twice"      // one request made two executions, or one key two answers
	RuleBackwards  Rule = "backwards"  // a status or an outcome changed after it was final
	RuleRepeated   Rule = "repeated"   // finished work was handed out or counted again
	RuleAnswer     Rule = "answer"     // an answer was lost, invented or altered
	RuleJournal    Rule = "journal"    // a journal contradicts itself
	RuleStream     Rule = "stream"     // a stream missed, repeated or disordered events
	RuleBatch      Rule = "batch"      // the figures of a batch do not add up
	RuleUnexpected Rule = "unexpected" // an execution failed though nothing in the load fails
)

// Finding is one broken promise.
type Finding struct {
	Rule Rule
	ID   string // of the execution or batch
	Text string
}

// String renders the finding as one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Rule, f.ID, f.Text) }

// prover gathers findings.
type prover struct {
	*Evidence
	findings []Finding
}

func (p *prover) report(rule Rule, id, format string, args ...any) {
	p.findings = append(p.findings, Finding{rule, id, fmt.Sprintf(format, args...)})
}

// Check applies every rule and returns what is broken, ordered by rule and id; nil when nothing is.
func Check(e *Evidence) []Finding {
	p := &prover{Evidence: e}
	p.promises()
	p.onlyOnce()
	p.sightings()
	p.executions()
	p.tasks()
	p.streams()
	p.batches()
	slices.SortStableFunc(p.findings, func(a, b Finding) int {
		if d := strings.Compare(string(a.Rule), string(b.Rule)); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return p.findings
}

// clip shortens a text for a finding.
func clip[T ~string | ~[]byte](text T) string {
	const most = 200
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}
