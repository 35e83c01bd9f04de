package pattern_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

// placed is a chart whose worker is spawned and works where workspace says.
func placed(workspace string) string {
	return "name: team\nversion: 1.0.0\nstructure:\n  roles:\n    lead: {capabilities: [planning]}\n" +
		"    worker:\n      reportsTo: lead\n      agentType: claude\n      workspace: " + workspace + "\n" +
		"workflow:\n  input: {repo: string, branch: {type: string, default: main}, n: number}\n" +
		"  steps:\n    - {type: assign, role: worker, task: t, output: made}\n"
}

func TestWorkspace(t *testing.T) {
	for workspace, want := range map[string]core.WorkspaceSpec{
		`{repo: web}`:                               {Repo: "web"},
		`{repo: "git@example.com:a/b.git"}`:         {Repo: "git@example.com:a/b.git"},
		`{repo: "https://example.com/a/b?c=$5"}`:    {Repo: "https://example.com/a/b?c=$5"},
		`{repo: "${input.repo}"}`:                   {Repo: "https://example.com/r.git"},
		`{repo: $input.repo, branch: input.branch}`: {Repo: "https://example.com/r.git", Branch: "dev"},
		`{repo: "file:///srv/${input.branch}.git"}`: {Repo: "file:///srv/dev.git"},
		`{repo: web, branch: "try/${context.executionId}-${input.n}"}`: {
			Repo: "web", Branch: "try/exec_1-2",
		},
		`{repo: web, branch: made, depth: 10, filter: "blob:none", submodules: true}`: {
			Repo: "web", Branch: "made", Depth: 10, Filter: "blob:none", Submodules: true,
		},
		`{repo: web, branch: "", filter: "blob:limit=10k"}`: {Repo: "web", Filter: "blob:limit=10k"},
	} {
		c := mustChart(t, placed(workspace))
		scope := scopeOf(`{"repo":"https://example.com/r.git","branch":"dev","n":2}`, nil)
		if got, err := c.Workspace("worker", scope); err != nil || got == nil || *got != want {
			t.Errorf("%s is %+v, %v, want %+v", workspace, got, err, want)
		}
		if got, err := c.Workspace("lead", scope); err != nil || got != nil {
			t.Errorf("lead works in %+v, %v", got, err)
		}
	}
}

func TestWorkspaceProblems(t *testing.T) {
	const at = "structure.roles.worker.workspace"
	for workspace, want := range map[string]struct{ path, reason string }{
		`web`:                {at, "must be a map, not text"},
		`{}`:                 {at, "lacks repo"},
		`{branch: main}`:     {at, "lacks repo"},
		`{repo: ""}`:         {at + ".repo", "must not be empty"},
		`{repo: 5}`:          {at + ".repo", "must be text"},
		`{repo: "a\u0007b"}`: {at + ".repo", "without control characters"},
		`{repo: ` + strings.Repeat("x", 3000) + `}`:   {at + ".repo", "at most 2048 bytes"},
		`{repo: web, brnach: main}`:                   {at + ".brnach", `did you mean structure.roles.worker.workspace.branch`},
		`{repo: web, depth: 0}`:                       {at + ".depth", "from 1 to"},
		`{repo: web, depth: "5"}`:                     {at + ".depth", "whole number"},
		`{repo: web, submodules: 1}`:                  {at + ".submodules", "true or false"},
		`{repo: web, filter: "blob:all"}`:             {at + ".filter", "blob:none"},
		`{repo: "${input.rpeo}"}`:                     {at + ".repo", "does not declare"},
		`{repo: $input.rpeo}`:                         {at + ".repo", "does not declare"},
		`{repo: "${input.repo"}`:                      {at + ".repo", "closing brace"},
		`{repo: "${step_0_result}"}`:                  {at + ".repo", "before the first step"},
		`{repo: "${made}"}`:                           {at + ".repo", "before the first step"},
		`{repo: web, branch: "${context.startedAt}"}`: {at + ".branch", "before the first step"},
	} {
		_, problems := pattern.Parse(placed(workspace))
		if len(problems) != 1 || problems[0].Path != want.path || problems[0].Line != 9 || !strings.Contains(problems[0].Reason, want.reason) {
			t.Errorf("%.80s: problems %.300v, want %+v in line 9", workspace, problems, want)
		}
	}
	source := strings.Replace(placed("{repo: web}"), "      agentType: claude\n", "", 1)
	_, problems := pattern.Parse(source)
	if len(problems) != 1 || problems[0].Path != at || problems[0].Line != 8 || !strings.Contains(problems[0].Reason, "agentType") {
		t.Errorf("a role without agents to spawn: %v", problems)
	}
}

// TestWorkspaceUnresolved: what the input leaves open is reported with role and field.
func TestWorkspaceUnresolved(t *testing.T) {
	for _, tt := range []struct{ workspace, input, says string }{
		{`{repo: "${input.repo}"}`, `{}`, "role worker, workspace.repo: ${input.repo} has no value (line 9 of the definition)"},
		{`{repo: web, branch: "${input.n}"}`, `{"n":5}`, "role worker, workspace.branch: must be text"},
		{`{repo: "${input.repo}"}`, `{"repo":""}`, "role worker, workspace.repo: must not be empty"},
		{`{repo: "${input.repo}"}`, `{"repo":"a\nb"}`, "without control characters"},
		{`{repo: web, filter: "${input.repo}"}`, `{"repo":"all"}`, "role worker, workspace.filter: must be blob:none"},
		{`{repo: "${input.repo}", branch: "${input.branch}"}`, `{}`, "(and 1 more)"},
	} {
		spec, err := mustChart(t, placed(tt.workspace)).Workspace("worker", scopeOf(tt.input, nil))
		if core.ErrorCode(err) != core.CodeValidation || spec != nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s of %s is %+v, %v, want %q", tt.workspace, tt.input, spec, err, tt.says)
		}
	}
}

func FuzzWorkspace(f *testing.F) {
	for _, seed := range [][3]string{
		{"web", "main", `{"repo":"x"}`}, {"${input.repo}", "$input.n", `{"repo":"x","n":5}`}, {"input.repo", "${context.executionId}", `{}`},
		{"git@h:${input.repo}.git", "$${", `{"repo":{"a":[1]}}`}, {"$", "${", "{}"}, {"$input", "context", "{}"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, repo, branch, input string) {
		plan, problems := pattern.Parse(strings.Replace(placed(fmt.Sprintf("{repo: %q, branch: %q}", repo, branch)), "input: {", "input: {x: {type: string}, ", 1))
		if plan == nil {
			if len(problems) == 0 {
				t.Fatal("neither plan nor problems")
			}
			return
		}
		if !json.Valid([]byte(input)) || !strings.HasPrefix(input, "{") {
			return
		}
		spec, err := plan.OrgChart().Workspace("worker", scopeOf(input, nil))
		wantValidation(t, err)
		if (spec == nil) == (err == nil) || spec != nil && (spec.Repo == "" || len(spec.Repo) > 2048 || strings.ContainsAny(spec.Repo+spec.Branch, "\n\x00")) {
			t.Fatalf("workspace %+v, %v", spec, err)
		}
	})
}
