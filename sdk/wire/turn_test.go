package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/sdk/wire"
)

func TestTurnResponseJSON(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    wire.TurnResponse
		want string
	}{
		{"Answer", wire.TurnResponse{Text: "hi", Turn: 1, DurationMs: 2}, `{"text":"hi","turn":1,"durationMs":2}`},
		{"Empty", wire.TurnResponse{Turn: 1, TurnOutcome: wire.TurnOutcome{Interrupted: true}}, `{"text":"","turn":1,"durationMs":0,"interrupted":true}`},
		{
			"Failed", wire.TurnResponse{Text: "never", Turn: 3, TurnOutcome: wire.TurnOutcome{Error: &wire.TurnError{Code: "MODEL_ERROR", Message: "no"}}},
			`{"turn":3,"durationMs":0,"error":{"code":"MODEL_ERROR","message":"no","retryable":false}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.r)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
			var back wire.TurnResponse
			if err := json.Unmarshal(got, &back); err != nil || back.Turn != tt.r.Turn {
				t.Errorf("read back as %+v, %v", back, err)
			}
		})
	}
}

func TestUsageAdd(t *testing.T) {
	cost := 0.5
	var sum wire.Usage
	sum.Add(nil)
	sum.Add(&wire.Usage{Model: "a", InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, Requests: 1, CostUSD: &cost})
	sum.Add(&wire.Usage{Model: "b", InputTokens: 10, Requests: 1, CostUSD: &cost})
	if sum.Model != "b" || sum.Tokens() != 20 || sum.Requests != 2 || *sum.CostUSD != 1 || cost != 0.5 {
		t.Errorf("%+v", sum)
	}
}
