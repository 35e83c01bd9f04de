package pattern

import (
	"context"
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// maxComposition is how many patterns may run one inside the other.
const maxComposition = 8

// checkComposition looks at the patterns that a definition runs as steps, as far as they are stored: none
// may lead back to the definition's own name, and the chain must not be too long. A pattern that is not
// stored yet is no problem; the execution will say so if it is missing then.
func (s *Service) checkComposition(ctx context.Context, plan *Plan, source string) []core.Problem {
	p := &problems{}
	for i, step := range plan.definition.Steps {
		if step.Compose == nil {
			continue
		}
		walk := compositionWalk{service: s, target: plan.definition.Name, seen: map[string]bool{}}
		walk.visit(ctx, step.Compose, nil)
		if walk.reason != "" {
			at := fmt.Sprintf("steps[%d].pattern", i)
			p.add(at, lineOfStep(source, i), "%s", walk.reason)
		}
	}
	return p.sorted()
}

// lineOfStep finds the line of a step's pattern key; only a refused definition pays for it.
func lineOfStep(source string, step int) int {
	root, _ := readYAML(source, len(source), false)
	if root == nil {
		return 0
	}
	steps := root.get("steps")
	if steps == nil || step >= len(steps.items) {
		return 0
	}
	return steps.items[step].keyLine("pattern")
}

type compositionWalk struct {
	service *Service
	target  string
	seen    map[string]bool // compositions that lead nowhere bad
	reason  string          // set when the walk found a problem
}

func (w *compositionWalk) visit(ctx context.Context, c *core.Composition, above []string) {
	chain := append(above[:len(above):len(above)], c.Name)
	if c.Name == w.target {
		w.reason = "leads back to this pattern: " + strings.Join(append([]string{w.target}, chain...), " -> ")
		return
	}
	if len(chain) > maxComposition {
		w.reason = fmt.Sprintf("runs more than %d patterns one inside the other: %s", maxComposition, strings.Join(chain, " -> "))
		return
	}
	key := fmt.Sprintf("%d %s@%s", len(chain), c.Name, c.Range)
	if w.seen[key] {
		return
	}
	w.seen[key] = true
	inner, err := w.service.resolve(ctx, c.Name, c.Range)
	if err != nil {
		return // not stored, or not readable now
	}
	if inner.plan.chart != nil {
		w.reason = fmt.Sprintf("runs %s, which is an org chart; only flat patterns can be steps of a pattern", c.Name)
		return
	}
	for _, step := range inner.plan.definition.Steps {
		if step.Compose != nil && w.reason == "" {
			w.visit(ctx, step.Compose, chain)
		}
	}
}
