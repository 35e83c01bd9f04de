package team_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/scripts/demo/team"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const task = "a command that counts the lines, words and characters of a text and tells its longest line"

// colleague answers by the rules of the team.
func colleague(_, question string) (string, error) { return team.Answer(question) }

func must(t *testing.T, in team.Input, ask team.Ask) string {
	t.Helper()
	got, err := team.Work(in, ask)
	if err != nil {
		t.Fatal(err)
	}
	return got.(string)
}

func verdict(t *testing.T, kind string, subject any, ask team.Ask) team.Verdict {
	t.Helper()
	raw, err := json.Marshal(subject)
	if err != nil {
		t.Fatal(err)
	}
	got, err := team.Work(team.Input{Type: kind, Subject: raw}, ask)
	if err != nil {
		t.Fatal(err)
	}
	return got.(team.Verdict)
}

func assign(text string) team.Input { return team.Input{Type: "assign", Task: text} }

func TestStartup(t *testing.T) {
	plan := must(t, assign("You are the architect. The work to be done:\n\n"+task+"\n\nWrite a short plan: the design."), colleague)
	part := func(name string) string {
		return must(t, assign("You are an engineer. The work as a whole:\n\n"+task+"\n\nThe architect's plan:\n\n"+plan+
			"\n\nBuild Part "+name+" of the plan, and only that; a colleague builds the other."), colleague)
	}
	a, b := part("A"), part("B")
	if !strings.Contains(a, "func Longest(") || strings.Contains(a, "func Report(") || strings.Contains(b, "func Words(") {
		t.Errorf("the parts are not those of the plan:\n%s\n%s", a, b)
	}
	if !strings.Contains(a, "The answer: Yes, unless it is empty") || !strings.Contains(b, "The answer: In the order") {
		t.Errorf("nobody was asked:\n%s\n%s", a, b)
	}
	subject := map[string]string{"task": task, "plan": plan, "partA": a, "partB": b}
	if v := verdict(t, "review", subject, nil); v.Verdict != "approve" || !strings.Contains(v.Feedback, "All 5 functions") {
		t.Errorf("the review: %+v", v)
	}
	delete(subject, "partB")
	if v := verdict(t, "review", subject, nil); v.Verdict != "revise" || v.Feedback != "- Report is missing" {
		t.Errorf("the review of a half: %+v", v)
	}
	compiles(t, a+b)
}

// compiles tests the code in a report as its own tests do.
func compiles(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(text, -1)
	for i, block := range blocks {
		name := "file" + strconv.Itoa(i) + ".go"
		if strings.Contains(block[1], "*testing.T") {
			name = "file" + strconv.Itoa(i) + "_test.go"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module measure\n\ngo 1.25\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"gofmt", "-l", "."}, {"go", "test", "."}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local")
		out, err := cmd.CombinedOutput()
		if err != nil || args[0] == "gofmt" && len(out) > 0 {
			t.Errorf("%v: %v\n%s\n%s", args, err, out, text)
		}
	}
}

func TestPair(t *testing.T) {
	begin := "You are the driver of a pair of programmers. The work:\n\n" + task
	draft := must(t, assign(begin+"\n\nImplement it. Ask the navigator."), colleague)
	v := verdict(t, "review", map[string]string{"task": task, "work": draft}, nil)
	if v.Verdict != "revise" || !strings.Contains(v.Feedback, "Words has no comment") {
		t.Errorf("the review of the draft: %+v", v)
	}
	work := must(t, assign(begin+"\n\nWhat you reported so far:\n\n"+draft+`

The navigator's verdict on it is "revise", with these remarks:

`+v.Feedback+"\n\nRefine the work accordingly."), func(string, string) (string, error) {
		t.Error("asked again")
		return "", nil
	})
	if v := verdict(t, "review", map[string]string{"task": task, "work": work}, nil); v.Verdict != "approve" {
		t.Errorf("the review of the work: %+v\n%s", v, work)
	}
	compiles(t, work)
}

func TestApproval(t *testing.T) {
	tests := must(t, assign("You are responsible for the quality of this work:\n\n"+task+"\n\nWrite the test plan, all of it."), nil)
	subject := map[string]any{"task": task, "review": map[string]any{"approved": true}, "testPlan": tests}
	for answer, want := range map[string]string{"Yes, they are small.": "approve", "ok": "approve", "no": "reject", "": "reject", "yesterday": "reject"} {
		var asked string
		v := verdict(t, "approve", subject, func(_, q string) (string, error) {
			asked = q
			return answer, nil
		})
		if v.Verdict != want || !strings.Contains(asked, "A text is read whole") {
			t.Errorf("%q: %+v after the question %q, want %s", answer, v, asked, want)
		}
	}
	failed := errors.New("nobody is there")
	raw, _ := json.Marshal(subject)
	if _, err := team.Work(team.Input{Type: "approve", Subject: raw}, func(string, string) (string, error) { return "", failed }); !errors.Is(err, failed) {
		t.Errorf("error %v, want that of the question", err)
	}
	subject["testPlan"] = strings.ReplaceAll(tests, "- Words:", "- Verbs:")
	if v := verdict(t, "approve", subject, nil); v.Verdict != "reject" || !strings.Contains(v.Feedback, "Words") {
		t.Errorf("a test plan with a hole: %+v", v)
	}
	subject["review"] = map[string]any{"approved": false}
	if v := verdict(t, "approve", subject, nil); v.Verdict != "reject" {
		t.Errorf("work that no review approved: %+v", v)
	}
}

func TestUnknown(t *testing.T) {
	if _, err := team.Work(assign("The work:\n\na bridge over a river\n\nPlan it for the driver."), nil); !errors.Is(err, team.ErrUnknownWork) {
		t.Errorf("error %v", err)
	}
	if _, err := team.Work(team.Input{Type: "review", Subject: json.RawMessage(`{"task":"a bridge"}`)}, nil); !errors.Is(err, team.ErrUnknownWork) {
		t.Errorf("error %v", err)
	}
	if _, err := team.Answer("What is the meaning of it all?"); err == nil {
		t.Error("an answer to a question that no rule covers")
	}
}

// What no rule knows is asked, and no colleague answers it.
func TestNameOfTheCustomer(t *testing.T) {
	var asked []string
	report := must(t, assign("The work:\n\ncount words; the customer names it\n\nDo it."), func(_, question string) (string, error) {
		asked = append(asked, question)
		return "tally", nil
	})
	if len(asked) != 1 || !strings.Contains(report, "The answer: tally") {
		t.Fatalf("asked %q:\n%s", asked, report)
	}
	if _, err := team.Answer(asked[0]); err == nil {
		t.Error("a colleague knows the name")
	}
}

func TestReviewOfBrokenCode(t *testing.T) {
	v := verdict(t, "review", map[string]string{"task": "count words", "work": "```go\npackage p\nfunc Words( {\n```"}, nil)
	if v.Verdict != "revise" || !strings.Contains(v.Feedback, "does not compile") {
		t.Errorf("%+v", v)
	}
}

func TestPace(t *testing.T) {
	if n := team.Pace(assign("The work:\n\ncount words and lines\n\nDo it.")); n != 3 {
		t.Errorf("%d, want the two measures and the report", n)
	}
	if n := team.Pace(team.Input{Type: "review"}); n != 1 {
		t.Errorf("%d for a review", n)
	}
}
