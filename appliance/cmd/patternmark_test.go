package cmd

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

func TestMarkOf(t *testing.T) {
	for _, tc := range []struct{ line, path, reason, want string }{
		{"  min: 0", "agents.min", "must be at least 1", "min"},
		{"  minimum: 0, min: 1", "agents.min", "must be at least 1", "min"},
		{`  "min": 0`, "agents.min", "must be at least 1", "min"},
		{"role: enginee", "workflow.steps[0].role", `names the role "enginee"; did you mean "engineer"?`, "enginee"},
		{"task: do ${input.x}", "workflow.steps[0].task", "${input.x} names a field", "${input.x}"},
		{"check: input.x == 1", "workflow.steps[0].check", "${input.x} names a field", "input.x"},
		{"steps: []", "workflow.steps[0]", "lacks a type", "steps"},
		{"- role: a", "workflow.steps[0]", "lacks a type", ""},
		{"anything", "", "is empty", ""},
		{"text", "a.b", `is "" here`, ""},
	} {
		begin, end, ok := markOf(tc.line, client.Problem{Path: tc.path, Reason: tc.reason})
		if got := tc.line[begin:end]; got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s in %q: marks %q, want %q", tc.path, tc.line, got, tc.want)
		}
	}
}
