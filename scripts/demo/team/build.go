package team

import (
	"fmt"
	"slices"
	"strings"
)

// build writes the functions that are wanted, with tests, and reports them. It asks what its rules leave open.
func build(b brief, ask Ask) (string, error) {
	var out, notes strings.Builder
	for _, q := range openPoints(b) {
		answer, err := ask("design", q)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&notes, "I asked: %s\nThe answer: %s\n\n", q, answer)
	}
	fmt.Fprintf(&out, "Made by rules, without a model: %s.\n\n", strings.Join(b.wanted, ", "))
	if b.remarks != "" {
		fmt.Fprintf(&out, "Changed after the review:\n%s\n\n", b.remarks)
	}
	out.WriteString(notes.String())
	names := slices.DeleteFunc(slices.Clone(b.wanted), func(n string) bool { return n == report })
	if len(names) > 0 {
		fmt.Fprintf(&out, "```go\n%s```\n\n```go\n%s```\n\n", measureFile(names, !b.draft), measureTest(names))
	}
	if slices.Contains(b.wanted, report) {
		fmt.Fprintf(&out, "```go\n%s```\n\n```go\n%s```\n\n", reportFile(b.measures, !b.draft), reportTest(b.measures))
	}
	if b.draft {
		out.WriteString("This is a first version: comments are missing.\n")
	} else {
		out.WriteString("I know of nothing that is open.\n")
	}
	return out.String(), nil
}

// openPoints are the questions that a brief leaves to somebody else. Whoever refines has asked before.
func openPoints(b brief) []string {
	var questions []string
	if b.remarks != "" {
		return nil
	}
	if slices.Contains(b.wanted, "Lines") {
		questions = append(questions, "Does "+lastLine+" count as a line?")
	}
	if slices.Equal(b.wanted, []string{report}) {
		questions = append(questions, "What is "+reportOrder+"?")
	}
	if strings.Contains(b.task, unnamed) && slices.Contains(b.wanted, report) {
		questions = append(questions, "What is the command to be called?")
	}
	return questions
}

// unnamed is the phrase of a task that leaves the name to the customer: no rule of the team knows it.
const unnamed = "the customer names it"

// measureFile is the code of some measures.
func measureFile(names []string, comments bool) string {
	var imports []string
	var code strings.Builder
	for _, name := range names {
		m, ok := byName(name)
		if !ok {
			continue
		}
		imports = append(imports, m.imports...)
		code.WriteByte('\n')
		if comments {
			fmt.Fprintf(&code, "// %s %s\n", m.name, m.comment)
		}
		fmt.Fprintf(&code, "func %s(text string) int {\n\t%s\n}\n", m.name, m.body)
	}
	return header(imports) + code.String()
}

// measureTest is a test for each of some measures.
func measureTest(names []string) string {
	var code strings.Builder
	for _, name := range names {
		m, _ := byName(name)
		fmt.Fprintf(&code, "\nfunc Test%s(t *testing.T) {\n\tfor text, want := range map[string]int{", name)
		for i, c := range m.cases {
			if i > 0 {
				code.WriteString(", ")
			}
			fmt.Fprintf(&code, "%s: %d", c.text, c.want)
		}
		fmt.Fprintf(&code, "} {\n\t\tif got := %s(text); got != want {\n", name)
		fmt.Fprintf(&code, "\t\t\tt.Errorf(\"%s(%%q) = %%d, want %%d\", text, got, want)\n\t\t}\n\t}\n}\n", name)
	}
	return header([]string{"testing"}) + code.String()
}

// reportFile is the code that shows what was measured.
func reportFile(list []measure, comments bool) string {
	code := "\n"
	if comments {
		code += "// " + report + " writes a line for each measure: its name and its value.\n"
	}
	code += "func " + report + "(w io.Writer, text string) error {\n\t_, err := fmt.Fprintf(w, \""
	for _, m := range list {
		code += m.label + " %d\\n"
	}
	code += "\""
	for _, m := range list {
		code += ", " + m.name + "(text)"
	}
	return header([]string{"fmt", "io"}) + code + ")\n\treturn err\n}\n"
}

// reportTest is the test of the report, on two lines with a word each.
func reportTest(list []measure) string {
	want := ""
	for _, m := range list {
		want += m.label + " " + map[string]string{"Lines": "2", "Words": "2", "Characters": "7", "Longest": "3"}[m.name] + `\n`
	}
	return header([]string{"strings", "testing"}) + "\nfunc Test" + report + "(t *testing.T) {\n\tvar out strings.Builder\n\tif err := " +
		report + "(&out, \"one\\ntwo\"); err != nil || out.String() != \"" + want +
		"\" {\n\t\tt.Errorf(\"got %q, %v\", out.String(), err)\n\t}\n}\n"
}

// header begins a file of the package that the team writes.
func header(imports []string) string {
	imports = slices.Compact(slices.Sorted(slices.Values(imports)))
	if len(imports) == 1 {
		return "package measure\n\nimport \"" + imports[0] + "\"\n"
	}
	return "package measure\n\nimport (\n\t\"" + strings.Join(imports, "\"\n\t\"") + "\"\n)\n"
}
