package team

import (
	"fmt"
	"strings"
)

// plan splits the work in two: what measures, and what shows it.
func plan(b brief) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Plan for: %s\n", b.task)
	out.WriteString("(made by rules, without a model)\n\n")
	out.WriteString("Design: one package, measure, on the standard library only. The text is read whole, so each measure is\n" +
		"a function of a string, and none has a state.\n\n")
	out.WriteString("Part A: the measures\n")
	for _, m := range b.measures {
		fmt.Fprintf(&out, "- func %s(text string) int: %s\n", m.name, m.comment)
	}
	out.WriteString("Done when each has a comment and a test that has the empty text among its cases.\n")
	out.WriteString("Part B: the report\n")
	fmt.Fprintf(&out, "- func %s(w io.Writer, text string) error: a line for each measure, its name and its value\n", report)
	out.WriteString("Done when it has a comment and a test with a text of two lines.\n\n")
	out.WriteString("Easily forgotten: the empty text, a last line without a newline, letters of several bytes.\n")
	return out.String()
}

// testPlan says what is tested, by what the team knows of each measure.
func testPlan(list []measure) string {
	var out strings.Builder
	out.WriteString("Test plan (made by rules, without a model)\n\n")
	for _, m := range list {
		fmt.Fprintf(&out, "- %s: the empty text, one and several; %s\n", m.name, m.edges)
	}
	fmt.Fprintf(&out, "- %s: the order of its lines; a writer that fails\n\n", report)
	out.WriteString("Before a release: all tests pass under the race detector, and each function has a test.\n")
	out.WriteString(riskMark + "a text is read whole, so one that is larger than the memory ends the command.\n")
	return out.String()
}

// riskMark begins the line of a test plan that names what remains.
const riskMark = "Risk that remains: "
