package pattern_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pattern"
)

// TestHostileDefinitions: texts made to cost time are refused, or read, within moments. The bound is wide
// enough for a slow machine with the race detector on; without the limits each takes minutes or the memory.
func TestHostileDefinitions(t *testing.T) {
	head := "name: p\nversion: 1.0.0\nagents: {capabilities: [c]}\n"
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, source := range map[string]string{
		"unknown keys":     head + many(80_000, "key%d: 1\n"),
		"fields":           head + "input:\n" + many(60_000, "  f%d: x\n"),
		"bad fields":       head + "input:\n" + many(999, "  f%d: strnig\n"),
		"words":            "name: p\nversion: 1.0.0\nagents:\n  capabilities:\n" + many(80_000, "  - w%d\n"),
		"steps":            "name: p\nversion: 1.0.0\nsteps:\n" + many(50_000, "  - {id: s%d}\n"),
		"references":       head + "output:\n" + many(30_000, "  o%d: $nothing.at.all\n"),
		"long text":        head + "output: '" + strings.Repeat("${input.a}", 100_000) + "'\n",
		"open braces":      head + "output: '" + strings.Repeat("${", 400_000) + "'\n",
		"long path":        head + "output: $input" + strings.Repeat(".a", 400_000) + "\n",
		"flow depth":       head + "config: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "\n",
		"unclosed flow":    head + "config: " + strings.Repeat("[", 500_000),
		"block depth":      head + "config:\n" + many(1_000, "%[1]s") + strings.Repeat("- ", 9_000) + "x\n",
		"aliases":          head + "config:\n  a: &a " + strings.Repeat("x", 100_000) + "\n  b: [" + strings.Repeat("*a, ", 100_000) + "]\n",
		"alias in itself":  head + "config: &a [*a, *a, *a, *a]\n",
		"merge in itself":  head + "config: &a {<<: [*a, *a, *a], b: 1}\n",
		"duplicate keys":   head + strings.Repeat("zz: 1\n", 100_000),
		"enormous pattern": head + "input: {a: {type: string, pattern: '" + strings.Repeat("(a{1,9}){1,9}", 50_000) + "'}}\n",
		"nested repeats":   head + "input: {a: {type: string, pattern: '((((a{1,99}){1,99}){1,99}){1,99})'}}\n",
		"anchors":          head + "config:\n" + many(30_000, "  k%[1]d: &a%[1]d x\n"),
	} {
		t.Run(name, func(t *testing.T) {
			begin := coretest.CPU(t)
			_, problems := pattern.Parse(source)
			if took := coretest.CPU(t) - begin; took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if len(problems) > 200 {
				t.Errorf("%d problems are listed", len(problems))
			}
			if refused := name != "anchors" && name != "long text"; refused != (len(problems) > 0) {
				t.Errorf("%d problems", len(problems))
			}
		})
	}
}

// A short text may name a long value many times: what it comes to is bounded, and so is what is told of it.
func TestValuesAreBounded(t *testing.T) {
	c := mustChart(t, chart(someSteps+"    - {type: assign, role: worker, task: \""+strings.Repeat("${input.long}", 50_000)+"\"}\n"))
	steps := c.Chart().Steps
	long := `{"long":"` + strings.Repeat("x", 1<<20) + `"}`
	_, err := c.Task(steps[len(steps)-1], scopeOf(long, results))
	wantValidation(t, err)
	if !strings.Contains(err.Error(), "more than 33554432 bytes") || len(err.Error()) > 500 {
		t.Errorf("got %.500s", err)
	}
	_, err = c.Task(steps[len(steps)-1], scopeOf(`{}`, results))
	wantValidation(t, err)
	if listed, ok := core.AsError(err).Details["errors"].([]core.Problem); !ok || len(listed) != 100 {
		t.Errorf("%d problems are told of", len(listed))
	}
}
