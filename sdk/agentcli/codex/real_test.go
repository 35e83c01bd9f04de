package codex_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

func modelEnv(url string) map[string]string {
	return map[string]string{"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "no-key-is-checked"}
}

func suite() drivertest.Suite {
	return drivertest.Suite{
		New: codex.New, Env: modelEnv, KeyAllow: "1", DenyContinues: true, // with the reason
		LoginURL: "https://auth.openai.com/oauth/authorize?",
		Tool:     func(file string) string { return "ESCALATE USE_TOOL[touch " + file + "] please" },
	}
}

func TestReal(t *testing.T) { suite().Run(t) }

func TestRealRuntime(t *testing.T) { suite().RunRuntime(t) }

func TestRealStates(t *testing.T) { suite().RunStates(t) }

func TestRealOutcomes(t *testing.T) { suite().RunOutcomes(t) }

func TestRealEndpoints(t *testing.T) {
	s := suite()
	s.New = func() agentcli.Adapter { return codex.NewImpatient(2 * time.Second) }
	s.RunEndpoints(t)
}
