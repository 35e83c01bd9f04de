package cmd

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/sdk/client"
)

// printProblems writes each problem of a source text to stderr, with the line it speaks of:
//
//	triage.yaml:4: agents.min: must be at least 1
//	    4 |   min: 0
//	      |   ^^^
func (c *cli) printProblems(name, source string, problems []client.Problem) {
	paint := c.painter(c.deps.Stderr)
	lines := strings.Split(source, "\n")
	for _, p := range problems {
		where := name
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d", name, p.Line)
		}
		if p.Path != "" {
			where += ": " + p.Path
		}
		fmt.Fprintf(c.deps.Stderr, "%s: %s\n", clean(where), clean(p.Reason))
		if p.Line > 0 && p.Line <= len(lines) {
			excerpt := shorten(clean(strings.TrimRight(lines[p.Line-1], "\r")), 120)
			fmt.Fprintf(c.deps.Stderr, "%s\n", paint(styleFaint, fmt.Sprintf("%5d | %s", p.Line, excerpt)))
			if begin, end, ok := markOf(excerpt, p); ok {
				mark := strings.Repeat(" ", uniseg.StringWidth(excerpt[:begin])) + strings.Repeat("^", uniseg.StringWidth(excerpt[begin:end]))
				fmt.Fprintf(c.deps.Stderr, "%s\n", paint(styleFaint, "      | "+mark))
			}
		}
	}
}
