package failure_test

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/failure"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestFromStatus(t *testing.T) {
	for _, tt := range []struct {
		status    int
		code      string
		retryable bool
	}{
		{400, wire.TurnModelError, false},
		{401, wire.TurnLoginRequired, false},
		{403, wire.TurnLoginRequired, false},
		{404, wire.TurnModelError, false},
		{429, wire.TurnModelRateLimited, true},
		{500, wire.TurnModelUnavailable, true},
		{529, wire.TurnModelUnavailable, true},
		{0, wire.TurnModelError, false},
	} {
		if e := failure.FromStatus(tt.status, "said"); e.Code != tt.code || e.Retryable != tt.retryable || e.Message != "said" {
			t.Errorf("%d is %+v", tt.status, e)
		}
	}
}
