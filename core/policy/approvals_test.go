package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/policy"
)

const approvals = `package wardroom.approvals

decision := {"answer": "deny", "rule": "no-push", "reason": "people push"} if {
	input.tool == "Bash"
	contains(input.input.command, "git push")
} else := {"answer": "ask", "rule": "out-of-hours"} if {
	input.time.hour < 8
} else := {"answer": "allow", "rule": "tests"} if {
	input.tool == "Bash"
	startswith(input.input.command, "go test")
	input.role == "engineer"
	startswith(input.repository, "https://git.example.com/")
} else := {"answer": "maybe", "rule": "wrong"} if {
	input.tool == "Maybe"
} else := {"answer": "allow"} if {
	input.tool == "Nameless"
} else := {"answer": "allow", "rule": "looks"} if {
	input.tool == "Read"
}

decision := {"answer": "deny", "rule": "other"} if input.tool == "Twice"

decision := {"answer": "allow", "rule": "another"} if input.tool == "Twice"

decision := {"answer": "allow", "rule": "slow"} if {
	input.tool == "Slow"
	some x in numbers.range(1, 100000)
	some y in numbers.range(1, 100000)
	x * y < 0
}
`

func policyDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A policy answers what it has a rule for, and leaves to people whatever it does not answer properly or in time.
func TestApprovals(t *testing.T) {
	a, err := policy.NewApprovals(t.Context(), policy.Config{Dir: policyDir(t, map[string]string{"approvals.rego": approvals})})
	if err != nil || !a.Active() {
		t.Fatal(err)
	}
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	bash := func(command string) map[string]any { return map[string]any{"command": command} }
	for _, tt := range []struct {
		name    string
		q       core.PromptQuestion
		answer  string // "": the policy says nothing
		rule    string
		because string
	}{
		{name: "Deny", q: core.PromptQuestion{Tool: "Bash", Input: bash("git push --force"), Time: noon}, answer: "deny", rule: "no-push", because: "people push"},
		{name: "Allow", q: core.PromptQuestion{Tool: "Bash", Input: bash("go test ./..."), Role: "engineer", Repository: "https://git.example.com/a", Time: noon}, answer: "allow", rule: "tests"},
		{name: "OtherRole", q: core.PromptQuestion{Tool: "Bash", Input: bash("go test ./..."), Role: "qa", Repository: "https://git.example.com/a", Time: noon}},
		{name: "OtherRepository", q: core.PromptQuestion{Tool: "Bash", Input: bash("go test ./..."), Role: "engineer", Repository: "https://elsewhere/a", Time: noon}},
		{name: "Early", q: core.PromptQuestion{Tool: "Read", Input: bash("x"), Time: noon.Add(-5 * time.Hour)}, answer: "ask", rule: "out-of-hours"},
		{name: "EarlyElsewhere", q: core.PromptQuestion{Tool: "Read", Input: bash("x"), Time: noon.In(time.FixedZone("far", -8*3600))}, answer: "allow", rule: "looks"},
		{name: "NoInput", q: core.PromptQuestion{Tool: "Read", Time: noon}, answer: "ask", rule: "looks", because: "not known"},
		{name: "OtherAnswer", q: core.PromptQuestion{Tool: "Maybe", Time: noon}, answer: "ask", rule: "none", because: "neither"},
		{name: "Nameless", q: core.PromptQuestion{Tool: "Nameless", Input: bash("x"), Time: noon}, answer: "ask", rule: "none", because: "did not name"},
		{name: "Conflict", q: core.PromptQuestion{Tool: "Twice", Input: bash("x"), Time: noon}, answer: "ask", rule: "none", because: "failed"},
		{name: "Slow", q: core.PromptQuestion{Tool: "Slow", Input: bash("x"), Time: noon}, answer: "ask", rule: "none", because: "in time"},
		{name: "Nothing", q: core.PromptQuestion{Time: noon}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.q.PromptID = "p1"
			r, ok := a.Decide(t.Context(), tt.q)
			if ok != (tt.answer != "") || r.Answer != tt.answer || r.Rule != tt.rule || !strings.Contains(r.Reason, tt.because) || ok && (r.By != "policy" || r.PromptID != "p1") {
				t.Errorf("%+v, %v", r, ok)
			}
		})
	}
}

// A directory that is about prompts alone leaves the built-in policy of access in force; one that is broken, or whose tests
// fail, changes nothing, and the text says where it is wrong.
// What a policy was asked about stands in no log: a built-in function that fails quotes what it was given.
func TestFailuresQuoteNothing(t *testing.T) {
	rule := "package wardroom.approvals\n\ndecision := {\"answer\": \"allow\", \"rule\": \"few\"} if to_number(input.input.command) < 3\n"
	a, err := policy.NewApprovals(t.Context(), policy.Config{Dir: policyDir(t, map[string]string{"approvals.rego": rule})})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	a.LogTo(hclog.New(&hclog.LoggerOptions{Output: &out}), coretest.NewClock())
	ruling, decided := a.Decide(t.Context(), core.PromptQuestion{PromptID: "p", Tool: "Bash", Input: map[string]any{"command": "login --token sesame"}})
	if !decided || ruling.Reason != "the policy failed to decide" {
		t.Errorf("%+v, %t", ruling, decided)
	}
	if text := out.String(); !strings.Contains(text, "eval_builtin_error in to_number at ") || !strings.Contains(text, "approvals.rego:3") || strings.Contains(text, "sesame") {
		t.Errorf("%q", text)
	}
}

func TestApprovalsBesideAccess(t *testing.T) {
	dir := policyDir(t, map[string]string{"approvals.rego": approvals})
	if r := mustNew(t, policy.Config{Dir: dir}).Decide(t.Context(), key("ann", "read"), readPattern); !r.Allowed {
		t.Errorf("%+v", r)
	}
	if about, err := policy.DecidesAccess(dir); about || err != nil {
		t.Errorf("%v, %v", about, err)
	}
	a, err := policy.NewApprovals(t.Context(), policy.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]map[string]string{
		"Syntax": {"a.rego": "package wardroom.approvals\n\ndecision := {"},
		"Test":   {"a.rego": approvals, "a_test.rego": "package wardroom.approvals_test\n\nimport data.wardroom.approvals\n\ntest_it if approvals.decision.answer == \"allow\" with input as {}\n"},
		"Clock":  {"a.rego": "package wardroom.approvals\n\ndecision := {\"answer\": \"allow\", \"rule\": \"now\"} if time.now_ns() > 0\n"},
	} {
		broken := policyDir(t, files)
		err := a.Load(t.Context(), policy.Config{Dir: broken})
		if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), broken) || !strings.Contains(err.Error(), ".rego:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r, ok := a.Decide(t.Context(), core.PromptQuestion{Tool: "Bash", Input: map[string]any{"command": "git push"}}); !ok || r.Answer != "deny" {
		t.Errorf("the former is not in force: %+v", r)
	}
	if err := a.Load(t.Context(), policy.Config{}); err != nil || a.Active() {
		t.Errorf("%v, %v", a.Active(), err)
	}
}
