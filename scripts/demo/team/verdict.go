package team

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// Verdict is the result of a review or an approval.
type Verdict struct {
	Verdict    string  `json:"verdict"` // approve, revise or reject
	Confidence float64 `json:"confidence"`
	Feedback   string  `json:"feedback"`
}

// sure is the confidence of every verdict: the rules see names, comments and tests, not whether code is right.
const sure = 0.9

var codeBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// review reads the code of a subject and wants each function that was planned, with a comment and a test.
func review(subject json.RawMessage) (Verdict, error) {
	var s struct{ Task, Plan string }
	if err := json.Unmarshal(subject, &s); err != nil {
		return Verdict{}, fmt.Errorf("subject: %w", err)
	}
	var wanted []string
	for _, m := range planned.FindAllStringSubmatch(s.Plan, -1) {
		wanted = append(wanted, m[1])
	}
	if len(wanted) == 0 {
		known := spokenOf(s.Task)
		if len(known) == 0 {
			return Verdict{}, ErrUnknownWork
		}
		wanted = functions(known)
	}
	found, problems := inspect(texts(subject))
	for _, name := range wanted {
		commented, there := found[name]
		switch {
		case !there:
			problems = append(problems, "- "+name+" is missing")
			continue
		case !commented:
			problems = append(problems, "- "+name+" has no comment")
		}
		if _, tested := found["Test"+name]; !tested {
			problems = append(problems, "- "+name+" has no test")
		}
	}
	if len(problems) > 0 {
		return Verdict{"revise", sure, strings.Join(problems, "\n")}, nil
	}
	return Verdict{"approve", sure, fmt.Sprintf("All %d functions are there, each with a comment and a test.", len(wanted))}, nil
}

// inspect parses the code in a text. It returns its functions, and whether each has a comment.
func inspect(text string) (found map[string]bool, problems []string) {
	found = make(map[string]bool)
	for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
		file, err := parser.ParseFile(token.NewFileSet(), "", block[1], parser.ParseComments)
		if err != nil {
			problems = append(problems, "- a file does not compile: "+err.Error())
			continue
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				found[f.Name.Name] = f.Doc.Text() != ""
			}
		}
	}
	return found, problems
}

// approve lets work pass that was reviewed, that has a test plan for each of its functions, and whose risk somebody
// outside the team takes.
func approve(subject json.RawMessage, ask Ask) (Verdict, error) {
	var s struct {
		Task     string
		Review   struct{ Approved bool }
		TestPlan string
	}
	if err := json.Unmarshal(subject, &s); err != nil {
		return Verdict{}, fmt.Errorf("subject: %w", err)
	}
	if !s.Review.Approved {
		return Verdict{"reject", sure, "The review before did not approve the work."}, nil
	}
	for _, name := range functions(spokenOf(s.Task)) {
		if !strings.Contains(s.TestPlan, "- "+name+":") {
			return Verdict{"reject", sure, "The test plan leaves out " + name + "."}, nil
		}
	}
	_, risk, named := strings.Cut(s.TestPlan, riskMark)
	if !named {
		return Verdict{"approve", sure, "Reviewed, and the test plan is complete."}, nil
	}
	risk, _, _ = strings.Cut(risk, "\n")
	answer, err := ask("release", "May this be released with one risk? "+strings.ToUpper(risk[:1])+risk[1:])
	if err != nil {
		return Verdict{}, err
	}
	word := strings.ToLower(strings.TrimFunc(strings.SplitN(strings.TrimSpace(answer)+" ", " ", 2)[0], notLetter))
	if !slices.Contains([]string{"yes", "ok", "okay", "accepted", "agreed"}, word) {
		return Verdict{"reject", sure, "The risk is not taken: " + answer}, nil
	}
	return Verdict{"approve", sure, "Reviewed, the test plan is complete, and the risk is taken: " + answer}, nil
}

func notLetter(r rune) bool { return r < 'A' || r > 'z' }

// texts joins all texts in a JSON value, in its order.
func texts(raw json.RawMessage) string {
	var out strings.Builder
	d := json.NewDecoder(strings.NewReader(string(raw)))
	for {
		t, err := d.Token()
		if err != nil {
			return out.String()
		}
		if s, ok := t.(string); ok {
			out.WriteString(s + "\n")
		}
	}
}
