package appliance_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go/ast"
)

// promise is a line of the interface, with what proves it.
type promise struct {
	heading, text string
	proofs        []string
	line          int // in the table
}

const (
	interfaceTable = "testdata/interface.txt"
	// settledHeading begins the headings of what is promised beside the interface.
	settledHeading = "#+"
)

// TestInterface proves each line of the interface by the thing itself. The table has the lines as they stand in the
// interface, and below each its proofs, of which interfaceProofs has the kinds. Where the interface lies beside the
// project it must have the same lines: one that is new, or was changed, has no row.
func TestInterface(t *testing.T) {
	rows, headings := readPromises(t)
	compareInterface(t, rows)
	w := newInterfaceWorld(t, headings)
	proofs := 0
	for _, row := range rows {
		if len(row.proofs) == 0 {
			t.Errorf("%s:%d: nothing proves %q", interfaceTable, row.line, row.text)
		}
		for _, proof := range row.proofs {
			proofs++
			kind, what, _ := strings.Cut(proof, " ")
			prove := interfaceProofs[kind]
			if prove == nil {
				t.Errorf("%s:%d: there is no proof of the kind %q", interfaceTable, row.line, kind)
				continue
			}
			if err := prove(w, what); err != nil {
				t.Errorf("%s:%d: %s\n\t%s: %v", interfaceTable, row.line, row.text, proof, err)
			}
		}
	}
	t.Logf("%d lines of the interface, %d proofs", len(rows), proofs)
}

// readPromises reads the table: headings begin with #, proofs with a tab.
func readPromises(t *testing.T) (rows []promise, headings map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(interfaceTable)
	if err != nil {
		t.Fatal(err)
	}
	headings = map[string]bool{}
	heading := ""
	for n, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			heading = line
			headings[heading] = true
		case strings.HasPrefix(line, "\t"):
			last := &rows[len(rows)-1]
			last.proofs = append(last.proofs, line[1:])
		default:
			rows = append(rows, promise{heading: heading, text: line, line: n + 1})
		}
	}
	return rows, headings
}

// compareInterface compares the rows with the interface, if it is there.
func compareInterface(t *testing.T, rows []promise) {
	t.Helper()
	text, err := beside("spec/interface.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Log("the interface does not lie beside the project: its lines are those of the table")
		return
	} else if err != nil {
		t.Fatal(err)
	}
	for _, problem := range missingRows(text, rows) {
		t.Error(problem)
	}
}

var tableRule = regexp.MustCompile(`^\|[-| :]+\|$`)

// missingRows says which lines of an interface have no row, and which rows are of no line.
func missingRows(text string, rows []promise) (problems []string) {
	has := map[string]int{}
	for _, row := range rows {
		if !strings.HasPrefix(row.heading, settledHeading) {
			has[row.heading+"\n"+row.text]++
		}
	}
	heading, lines := "", strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) == "", tableRule.MatchString(line), strings.HasPrefix(line, "```"):
		case strings.HasPrefix(line, "#"):
			heading = line
		case strings.HasPrefix(line, "|") && i+1 < len(lines) && tableRule.MatchString(lines[i+1]): // the head of a table
		case has[heading+"\n"+line] == 0:
			problems = append(problems, fmt.Sprintf("the interface, line %d, below %q: no row of %s has the line\n\t%s", i+1, heading, interfaceTable, line))
		default:
			has[heading+"\n"+line]--
		}
	}
	for _, row := range rows {
		if key := row.heading + "\n" + row.text; has[key] > 0 {
			has[key]--
			problems = append(problems, fmt.Sprintf("%s:%d: the interface has no such line below %q\n\t%s", interfaceTable, row.line, row.heading, row.text))
		}
	}
	return problems
}

// TestInterfaceTable: a line more, a changed one and one less are found.
func TestInterfaceTable(t *testing.T) {
	rows, _ := readPromises(t)
	var text strings.Builder
	heading := ""
	for _, row := range rows {
		if strings.HasPrefix(row.heading, settledHeading) {
			continue
		}
		if row.heading != heading {
			heading = row.heading
			fmt.Fprintf(&text, "\n%s\n\n", heading)
		}
		text.WriteString(row.text + "\n")
	}
	same := text.String()
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"Same":       {same, 0},
		"TableHead":  {same + "\n| a | b |\n|---|---|\n", 0},
		"TableRow":   {same + "\n| a | b |\n|---|---|\n| new | string |\n", 1},
		"CodeBlock":  {same + "\n```\nwardroom new\n```\n", 1},
		"List":       {same + "- new\n", 1},
		"Changed":    {strings.Replace(same, "| region | string |", "| region | string[] |", 1), 2},
		"Removed":    {strings.Replace(same, "| region | string |\n", "", 1), 1},
		"Elsewhere":  {strings.Replace(same, "### Batch\n", "### Batches\n", 1), 10},
		"TwiceThere": {same + rows[len(rows)-1].text, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := missingRows(c.text, rows); len(got) != c.want {
				t.Errorf("%d problems, want %d: %s", len(got), c.want, strings.Join(got, "\n"))
			}
		})
	}
}

// beside reads a file of the folder that projects share, which lies beside the project or beside a folder above it.
func beside(name string) (string, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "shared", name))
		if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			return string(text), err
		}
		dir = filepath.Dir(dir)
	}
}

// declaredTests returns the names of the tests in a folder.
func declaredTests(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	tests := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				tests[fn.Name.Name] = true
			}
		}
	}
	return tests, nil
}

// compareFields compares a JSON value with fields NAME:TYPE. A list has [] after its name, and ? marks what may be
// missing; strict forbids others beside them.
func compareFields(value any, fields []string, strict bool) error {
	var problems []error
	known := map[string]bool{}
	for _, field := range fields {
		path, typ, _ := strings.Cut(field, ":")
		top, _, _ := strings.Cut(path, ".")
		known[strings.TrimRight(top, "[]?")] = true
		if err := compareField(value, path, typ); err != nil {
			problems = append(problems, err)
		}
	}
	if object, ok := value.(map[string]any); ok && strict {
		for name := range object {
			if !known[name] {
				problems = append(problems, fmt.Errorf("there is %s, which the interface does not have", name))
			}
		}
	}
	return errors.Join(problems...)
}

func compareField(value any, path, typ string) error {
	if path == "" {
		return compareType(value, typ)
	}
	step, rest, _ := strings.Cut(path, ".")
	name, list := strings.CutSuffix(step, "[]")
	name, optional := strings.CutSuffix(name, "?")
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: there is no object around it but %v", name, value)
	}
	value, ok = object[name]
	if !ok {
		if optional {
			return nil
		}
		return fmt.Errorf("there is no %s among %v", name, slices.Sorted(mapKeys(object)))
	}
	if !list {
		return named(name, compareField(value, rest, typ))
	}
	items, ok := value.([]any)
	if !ok {
		return fmt.Errorf("%s is no list but %v", name, value)
	}
	for _, item := range items {
		if err := compareField(item, rest, typ); err != nil {
			return named(name, err)
		}
	}
	return nil
}

func mapKeys(object map[string]any) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range object {
			if !yield(name) {
				return
			}
		}
	}
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

var millisecondTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

func compareType(value any, typ string) error {
	ok := false
	switch typ {
	case "string":
		_, ok = value.(string)
	case "time":
		text, is := value.(string)
		ok = is && millisecondTime.MatchString(text)
	case "number":
		_, ok = value.(float64)
	case "boolean":
		_, ok = value.(bool)
	case "object":
		_, ok = value.(map[string]any)
	case "any":
		ok = true
	}
	if !ok {
		return fmt.Errorf("is %#v, and not %s", value, typ)
	}
	return nil
}
