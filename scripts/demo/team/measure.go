package team

import "strings"

// measure is one thing that the team knows how to measure.
type measure struct {
	name    string // of the function
	label   string // in the report
	cue     string // of a task that wants it
	comment string // what the function does, after its name
	body    string
	imports []string
	cases   []example
	edges   string // what a tester looks at
}

// example is a text, as a Go literal, and what is measured.
type example struct {
	text string
	want int
}

// measures are all that the team knows, in the order in which they are reported.
var measures = []measure{
	{
		name: "Lines", label: "lines", cue: "line",
		comment: "counts lines; what follows the last newline is one, unless it is empty.",
		body:    "n := strings.Count(text, \"\\n\")\n\tif text != \"\" && !strings.HasSuffix(text, \"\\n\") {\n\t\tn++\n\t}\n\treturn n",
		imports: []string{"strings"},
		cases:   []example{{`""`, 0}, {`"one"`, 1}, {`"one\n"`, 1}, {`"one\ntwo"`, 2}, {`"\n\n"`, 2}},
		edges:   "no newline at the end, only newlines, carriage returns",
	},
	{
		name: "Words", label: "words", cue: "word",
		comment: "counts what white space divides.",
		body:    "return len(strings.Fields(text))",
		imports: []string{"strings"},
		cases:   []example{{`""`, 0}, {`" \t\n"`, 0}, {`"one"`, 1}, {`" one  two\nthree "`, 3}, {`"well-known"`, 1}},
		edges:   "white space only, tabs, a hyphen within a word, words divided by other than blanks",
	},
	{
		name: "Characters", label: "characters", cue: "character",
		comment: "counts code points, not bytes.",
		body:    "return utf8.RuneCountInString(text)",
		imports: []string{"unicode/utf8"},
		cases:   []example{{`""`, 0}, {`"abc"`, 3}, {`"äöü"`, 3}, {`"日本"`, 2}},
		edges:   "letters of several bytes, combined letters, bytes that are no UTF-8",
	},
	{
		name: "Longest", label: "longest line", cue: "longest",
		comment: "returns the code points of the longest line.",
		body: "longest := 0\n\tfor line := range strings.Lines(text) {\n" +
			"\t\tlongest = max(longest, utf8.RuneCountInString(strings.TrimSuffix(line, \"\\n\")))\n\t}\n\treturn longest",
		imports: []string{"strings", "unicode/utf8"},
		cases:   []example{{`""`, 0}, {`"\n"`, 0}, {`"a\nabc\nab"`, 3}, {`"日本\na"`, 2}},
		edges:   "the last line is the longest, all lines empty",
	},
}

// report is the function that shows what was measured.
const report = "Report"

// spokenOf returns the measures that a text speaks of.
func spokenOf(text string) []measure {
	text = strings.ToLower(text)
	var found []measure
	for _, m := range measures {
		spoken := text
		if m.name == "Lines" { // the longest line alone is no wish for the number of lines
			spoken = strings.ReplaceAll(text, "longest line", "")
		}
		if strings.Contains(spoken, m.cue) {
			found = append(found, m)
		}
	}
	return found
}

// byName finds a measure by its function.
func byName(name string) (measure, bool) {
	for _, m := range measures {
		if m.name == name {
			return m, true
		}
	}
	return measure{}, false
}

// functions lists all that has to be written for some measures.
func functions(list []measure) []string {
	names := make([]string, 0, len(list)+1)
	for _, m := range list {
		names = append(names, m.name)
	}
	return append(names, report)
}
