package gemini

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/wire"
)

// A stream that makes no sense, and one without a word for people, are answers that broke off: they can be asked for again.
func TestBrokenAnswers(t *testing.T) {
	for _, said := range []string{
		"[API Error: Unexpected end of JSON input]",
		`[API Error: Unexpected token '<', "<html>" is not valid JSON]`,
		"[API Error: Expected ',' or '}' after property value in JSON at position 17 (line 1 column 18)]",
		"The model returned reasoning thoughts but no final response text. If your context window is near capacity, try using /compress.",
	} {
		if got := turnError(said); got.Code != wire.TurnModelCut || !got.Retryable {
			t.Errorf("%s is %+v", said, got)
		}
	}
}

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
