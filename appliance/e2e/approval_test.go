package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/sdk/client"
)

// approvalRules allow what a file's name says, deny another, and ask about a third.
const approvalRules = `package wardroom.approvals

decision := {"answer": "allow", "rule": "good-files", "reason": "its name is good"} if {
	input.tool == "Bash"
	input.thread.agentType == "claude"
	endswith(input.input.command, "/good")
} else := {"answer": "deny", "rule": "bad-files", "reason": "its name is bad"} if {
	endswith(input.input.command, "/bad")
} else := {"answer": "ask", "rule": "other-files"} if {
	endswith(input.input.command, "/other")
}
`

// The policy answers a real command line: what it allows is done, what it denies is not, and people are asked about the
// rest; each time the record and the event say by which rule. It counts before the rules of a thread.
func TestApprovalByPolicy(t *testing.T) {
	t.Parallel()
	needs(t, "claude")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "approvals.rego"), []byte(approvalRules), 0o600); err != nil {
		t.Fatal(err)
	}
	c, model := managed(t, toolPath(t), fmt.Sprintf("security.policy: {dir: %q}", dir)), startModel(t)
	a := c.spawn(client.ManagedAgentSpec{Type: "claude", Env: fakemodel.Env("claude", model.URL())})
	a = c.await(a.ID, client.ManagedReady)
	file := func(name string) string { return filepath.Join(a.Workdir, name) }
	touch := func(name string) string { return "USE_TOOL[touch " + file(name) + "] please" }

	if got := <-c.later(a.ID, touch("good")); !strings.Contains(got, "TOOL_RESULT") || !exists(file("good")) {
		t.Errorf("what the policy allows: %q; the file is there: %t", got, exists(file("good")))
	}
	wants := func(answer, rule string) {
		t.Helper()
		r := c.agent(a.ID).Ruling
		if r == nil || r.Answer != answer || r.Rule != rule || r.By != "policy" {
			t.Errorf("the record says %+v, want %s by %s", r, answer, rule)
		}
		told := false
		for _, e := range c.events(a.ID) {
			text := string(e.Data)
			told = told || e.Type == "managed_agent.blocked" && strings.Contains(text, `"rule":"`+rule+`"`) && strings.Contains(text, `"answer":"`+answer+`"`)
		}
		if !told {
			t.Errorf("no event tells of the rule %s: %s", rule, kinds(c.events(a.ID)))
		}
	}
	wants("allow", "good-files")
	<-c.later(a.ID, touch("bad"))
	c.await(a.ID, client.ManagedReady)
	if exists(file("bad")) {
		t.Error("what the policy denies was done")
	}
	wants("deny", "bad-files")
	answer := c.later(a.ID, touch("other"))
	c.blocked(a.ID, "approval")
	wants("ask", "other-files")
	if _, err := c.api.AnswerManagedAgent(t.Context(), a.ID, client.ManagedAgentAnswer{Choice: "allow"}); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !exists(file("other")) {
		t.Errorf("what people allow: %q", got)
	}
	c.retire(a.ID)
	approveThread(t, c, model)
}

// approveThread checks that the policy comes before the rules of a thread, which count where it has nothing to say.
func approveThread(t *testing.T, c *crew, model *fakemodel.Server) {
	t.Helper()
	thread, err := c.api.SpawnThread(t.Context(), client.ThreadSpec{
		ExecutionID: "new", Name: "by policy", AgentType: "claude", Role: "engineer",
		Preparation: client.ThreadPreparation{Env: fakemodel.Env("claude", model.URL())},
		Policy:      client.ThreadPolicy{AutoAnswer: []client.AutoAnswerRule{{Tool: "Bash", Answer: "allow"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ name, answer, by, rule string }{
		{"bad", "deny", "policy", "bad-files"}, {"unheard-of", "allow", "thread", "policy.autoAnswer[0]"},
	} {
		before, path := 0, ""
		eventually(t, "the thread", func() bool {
			now, err := c.api.GetThread(t.Context(), thread.ID)
			if err == nil && now.Workspace != nil {
				before, path = now.TurnCount+now.FailedTurns, filepath.Join(now.Workspace.Path, want.name)
			}
			return err == nil && (now.Status == client.ThreadReady || now.Status == client.ThreadIdle)
		})
		if _, err := c.api.SendThread(t.Context(), thread.ID, client.ThreadInput{Message: "USE_TOOL[touch " + path + "] please"}); err != nil {
			t.Fatal(err)
		}
		var now *client.Thread
		eventually(t, "the turn", func() bool {
			now, err = c.api.GetThread(t.Context(), thread.ID)
			return err == nil && now.TurnCount+now.FailedTurns > before
		})
		if r := now.PromptRuling; r == nil || r.Answer != want.answer || r.By != want.by || r.Rule != want.rule {
			t.Errorf("%s: %+v", want.name, r)
		}
		if exists(path) != (want.answer == "allow") {
			t.Errorf("%s: the file is there: %t", want.name, exists(path))
		}
	}
	if err := c.api.StopThread(t.Context(), thread.ID, true, 0); err != nil {
		t.Error(err)
	}
}
