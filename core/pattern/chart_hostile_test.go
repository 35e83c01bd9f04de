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

// chart returns an org chart with the roles lead and worker and the given workflow.
func chart(workflow string) string {
	return "name: team\nversion: 1.0.0\nstructure:\n  roles:\n    lead: {capabilities: [planning]}\n" +
		"    worker: {capabilities: [coding], reportsTo: lead}\nworkflow:\n" + workflow
}

// repeat writes a format n times with its number.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// nested returns a workflow of steps n deep, in YAML's flow style.
func nested(n int, open, shut string) string {
	return "  steps: [" + strings.Repeat(open, n-1) + "{type: assign, role: worker, task: t}" + strings.Repeat(shut, n-1) + "]\n"
}

// nestedBlock is nested in block style, as a person would write it.
func nestedBlock(n int) string {
	var b strings.Builder
	for i := range n - 1 {
		pad := strings.Repeat(" ", 2+4*i)
		fmt.Fprintf(&b, "%ssteps:\n%s  - type: sequential\n", pad, pad)
	}
	pad := strings.Repeat(" ", 2+4*(n-1))
	fmt.Fprintf(&b, "%ssteps:\n%s  - {type: assign, role: worker, task: t}\n", pad, pad)
	return b.String()
}

func TestChartNesting(t *testing.T) {
	for name, tc := range map[string]struct {
		source string
		levels int // of the path of the innermost step; 0: refused
	}{
		"sequential 100":            {chart(nested(100, "{type: sequential, steps: [", "]}")), 100},
		"sequential 200":            {chart(nested(200, "{type: sequential, steps: [", "]}")), 200},
		"sequential 201":            {chart(nested(201, "{type: sequential, steps: [", "]}")), 0},
		"parallel 100":              {chart(nested(100, "{type: parallel, steps: [", "]}")), 100},
		"condition 200":             {chart(nested(200, "{type: condition, check: true, then: ", "}")), 200},
		"condition with lists 200":  {chart(nested(200, "{type: condition, check: true, then: [", "]}")), 399},
		"condition with lists 201":  {chart(nested(201, "{type: condition, check: true, then: [", "]}")), 0},
		"sequential 500":            {chart(nested(500, "{type: sequential, steps: [", "]}")), 0},
		"sequential 10000":          {chart(nested(10_000, "{type: sequential, steps: [", "]}")), 0},
		"block 100":                 {chart(nestedBlock(100)), 100},
		"block 200":                 {chart(nestedBlock(200)), 200},
		"block 201":                 {chart(nestedBlock(201)), 0},
		"block 400":                 {chart(nestedBlock(400)), 0},
		"brackets 10000":            {chart("  steps: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n"), 0},
		"open brackets 500000":      {chart("  steps: " + strings.Repeat("[", 500_000)), 0},
		"dashes 10000":              {chart("  steps:\n    " + strings.Repeat("- ", 10_000) + "x\n"), 0},
		"braces 10000":              {chart("  steps: " + strings.Repeat("{then: ", 10_000) + "x" + strings.Repeat("}", 10_000) + "\n"), 0},
		"deep subject":              {chart("  steps: [{type: review, reviewer: lead, subject: " + strings.Repeat("{a: ", 600) + "1" + strings.Repeat("}", 600) + "}]\n"), 0},
		"deep config, not workflow": {chart(nested(1, "", "")) + "config: {a: " + strings.Repeat("[", 80) + strings.Repeat("]", 80) + "}\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			begin := coretest.CPU(t)
			plan, problems := pattern.Parse(tc.source)
			if took := coretest.CPU(t) - begin; took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if tc.levels == 0 {
				if plan != nil || len(problems) == 0 {
					t.Fatal("accepted")
				}
				if reason := problems[0].Reason; !strings.Contains(reason, "deep") && !strings.Contains(reason, "depth") {
					t.Errorf("the reason is %v", problems)
				}
				return
			}
			if len(problems) > 0 {
				t.Fatalf("refused: %v", problems)
			}
			step := plan.OrgChart().Chart().Steps[0]
			for len(step.Steps) > 0 {
				step = step.Steps[0]
			}
			if levels := strings.Count(step.Path, ".") + 1; levels != tc.levels || step.Kind != core.KindAssign {
				t.Errorf("the innermost step is %d levels deep", levels)
			}
		})
	}
}

// TestHostileCharts: see TestHostileDefinitions.
func TestHostileCharts(t *testing.T) {
	assign := "{type: assign, role: worker, task: t}"
	circle := "    s0: {reportsTo: s998}\n"
	for i := 1; i < 999; i++ {
		circle += fmt.Sprintf("    s%d: {reportsTo: s%d}\n", i, i-1)
	}
	for name, tc := range map[string]struct {
		source string
		good   bool
	}{
		"a long circle": {"name: a\nversion: 1.0.0\nstructure:\n  roles:\n" + circle +
			"workflow: {steps: [{type: assign, role: s0, task: t}]}\n", false},
		"many steps":          {chart("  steps:\n" + repeat(20_000, "    - {type: assign, role: worker, task: t%d}\n")), true},
		"too many steps":      {chart("  steps:\n" + repeat(20_001, "    - {type: assign, role: worker, task: t%d}\n")), false},
		"many broken steps":   {chart("  steps:\n" + repeat(60_000, "    - x%d\n")), false},
		"unknown roles":       {chart("  steps:\n" + repeat(19_000, "    - {type: assign, role: wroker%d, task: t}\n")), false},
		"unknown keys":        {chart("  steps:\n    - type: assign\n" + repeat(60_000, "      k%d: 1\n")), false},
		"references":          {chart("  steps:\n" + repeat(9_000, "    - {type: assign, role: worker, task: '${step_%d_result}', output: o%[1]d}\n")), false},
		"bad outputs":         {chart("  steps:\n" + repeat(9_000, "    - {type: assign, role: worker, task: '${nope%d}', output: o%[1]d}\n")), false},
		"many variables":      {chart("  steps: [{type: assign, role: worker, task: '" + strings.Repeat("${input.a}", 100_000) + "'}]\n"), true},
		"escapes":             {chart("  steps: [{type: assign, role: worker, task: '" + strings.Repeat("$${", 300_000) + "'}]\n"), true},
		"open braces":         {chart("  steps: [{type: assign, role: worker, task: '" + strings.Repeat("${", 500_000) + "'}]\n"), false},
		"long task":           {chart("  steps: [{type: assign, role: worker, task: '" + strings.Repeat("x", 1_000_000) + "'}]\n"), true},
		"long check":          {chart("  steps: [{type: condition, check: '" + strings.Repeat("true && ", 100_000) + "true', then: " + assign + "}]\n"), false},
		"many terms":          {chart("  steps: [{type: condition, check: '" + strings.Repeat("true&&", 2_000) + "true', then: " + assign + "}]\n"), false},
		"parentheses":         {chart("  steps: [{type: condition, check: '" + strings.Repeat("(", 10_000) + "', then: " + assign + "}]\n"), false},
		"exclamation marks":   {chart("  steps: [{type: condition, check: '" + strings.Repeat("!", 10_000) + "true', then: " + assign + "}]\n"), false},
		"brackets in a check": {chart("  steps: [{type: condition, check: '" + strings.Repeat("[", 10_000) + "', then: " + assign + "}]\n"), false},
		"outputs":             {chart("  steps: [" + assign + "]\n  output:\n" + repeat(30_000, "    o%d: ${nothing.at.all}\n")), false},
		"roles": {"name: a\nversion: 1.0.0\nstructure:\n  roles:\n    r0: {}\n" + repeat(999, "    s%d: {reportsTo: r0}\n") +
			"workflow:\n  steps:\n" + repeat(5_000, "    - {type: assign, role: s9, task: t%d}\n"), true},
		"too many roles": {"name: a\nversion: 1.0.0\nstructure:\n  roles:\n" + repeat(20_000, "    r%d: {}\n") + "workflow: {steps: [" + assign + "]}\n", false},
		"rules":          {strings.Replace(chart("  steps: ["+assign+"]\n"), "workflow:", "  routing:\n"+repeat(1_001, "    - {from: lead, to: worker, topics: [t%d]}\n")+"workflow:", 1), false},
		"aliases": {chart("  steps:\n    - &a {type: parallel, steps: [" + assign + ", " + assign + "]}\n    - &b {type: parallel, steps: [*a, *a, *a, *a, *a, *a, *a, *a]}\n" +
			"    - &c {type: parallel, steps: [*b, *b, *b, *b, *b, *b, *b, *b]}\n    - &d {type: parallel, steps: [*c, *c, *c, *c, *c, *c, *c, *c]}\n" +
			"    - {type: parallel, steps: [" + strings.Repeat("*d, ", 30) + "]}\n"), false},
	} {
		t.Run(name, func(t *testing.T) {
			begin := coretest.CPU(t)
			_, problems := pattern.Parse(tc.source)
			if took := coretest.CPU(t) - begin; took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if len(problems) > 200 {
				t.Errorf("%d problems are listed", len(problems))
			}
			if tc.good != (len(problems) == 0) {
				t.Errorf("problems %.400v", problems)
			}
		})
	}
}

// TestChartOfFullSize: the bound of a definition's length is the only one that a long text meets.
func TestChartOfFullSize(t *testing.T) {
	source := chart("  steps:\n" + repeat(15_000, "    - {type: assign, role: worker, task: 'do ${input.a} %d'}\n"))
	source += "# " + strings.Repeat("x", pattern.DefaultMaxDefinition-len(source)-3) + "\n"
	if c := mustChart(t, source).Chart(); len(c.Steps) != 15_000 || len(source) != pattern.DefaultMaxDefinition {
		t.Errorf("%d steps of %d bytes", len(c.Steps), len(source))
	}
	if _, problems := pattern.Parse(source + "#"); len(problems) != 1 || !strings.Contains(problems[0].Reason, "at most 1048576 are allowed") {
		t.Errorf("problems %.300v", problems)
	}
}
