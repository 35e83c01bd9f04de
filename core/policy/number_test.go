package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/policy"
	"github.com/wardroom/wardroom/sdk/wire"
)

// A rule decides about the number that the tool is given, not about one near it. A number that is beyond what policies can
// calculate with, or would be at it for long, is left to people.
func TestNumbersOfPrompts(t *testing.T) {
	a, err := policy.NewApprovals(t.Context(), policy.Config{Dir: policyDir(t, map[string]string{"approvals.rego": `package wardroom.approvals

decision := {"answer": "allow", "rule": "ours"} if {
	input.input.account == 9007199254740993
} else := {"answer": "deny", "rule": "large"} if {
	input.input.account * 2 > 18014398509481984
} else := {"answer": "deny", "rule": "small"} if {
	input.input.list[0].account < 1
}
`})})
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{
		`{"account":9007199254740993}`:                            "allow",
		`{"account":9007199254740993.0}`:                          "allow",
		`{"account":9007199254740992}`:                            "",
		`{"account":9007199254740994}`:                            "deny",
		`{"account":0}`:                                           "",
		`{"account":-0.0}`:                                        "",
		`{"list":[{"account":0.5}]}`:                              "deny",
		`{"list":[{"account":1e-300}]}`:                           "deny",
		`{"account":9007199254740993,"x":1e400}`:                  core.RulingAsk,
		`{"list":[{"account":-1e100000000}]}`:                     core.RulingAsk,
		`{"list":[{"account":1e-600000000}]}`:                     core.RulingAsk,
		`{"account":1e-99999999999}`:                              core.RulingAsk,
		`{"account":0e99999999999}`:                               core.RulingAsk,
		`{"account":0.000e-99999999999}`:                          core.RulingAsk,
		`{"account":1` + strings.Repeat("0", 20_000) + `}`:        core.RulingAsk,
		`{"account":0.` + strings.Repeat("0", 20_000) + `1}`:      core.RulingAsk,
		`{"list":[{"account":0.` + strings.Repeat("1", 9) + `}]}`: "deny",
	} {
		var in wire.ToolInput
		if err := json.Unmarshal([]byte(input), &in); err != nil {
			t.Fatal(err)
		}
		r, ok := a.Decide(t.Context(), core.PromptQuestion{PromptID: "p1", Kind: "approval", Tool: "pay", Input: in, Time: time.Unix(1e9, 0)})
		if r.Answer != want || ok != (want != "") || want == core.RulingAsk && !strings.Contains(r.Reason, "nothing that a policy could be asked about") {
			t.Errorf("%.80s: %+v, %v, want %q", input, r, ok, want)
		}
	}
}
