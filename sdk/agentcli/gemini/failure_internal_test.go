package gemini

import "testing"

// People get the provider's words, not the document around them.
func TestReason(t *testing.T) {
	for said, want := range map[string]string{
		`[API Error: {"error":{"code":400,"message":"no such thing","status":"INVALID_ARGUMENT"}}]`:          "no such thing",
		`[API Error: {"error":{"message":"{\n \"error\": {\"code\": 429, \"message\": \"slow down\"}}\n"}}]`: "slow down",
		`[API Error: terminated]`:             "[API Error: terminated]",
		`[API Error: {"error":{"code":500}}]`: `[API Error: {"error":{"code":500}}]`,
		`} {`:                                 "} {",
		"":                                    "",
	} {
		if got := turnError(said).Message; got != want {
			t.Errorf("%s is told as %q, want %q", said, got, want)
		}
	}
}
