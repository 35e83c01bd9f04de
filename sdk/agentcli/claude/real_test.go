package claude_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

func modelEnv(url string) map[string]string {
	return map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-no-key-is-checked-here"}
}

func suite() drivertest.Suite {
	return drivertest.Suite{
		New: claude.New, Env: modelEnv, KeyAllow: "1", DenyContinues: true,
		LoginURL:  "https://claude.", // com, or ai
		Tool:      func(file string) string { return "USE_TOOL[touch " + file + "] please" },
		Impatient: map[string]string{"CLAUDE_CODE_MAX_RETRIES": "2"},
		Changed:   func(m string) string { return strings.NewReplacer("\t", "    ", "\ufeff", "").Replace(m) },
	}
}

func TestReal(t *testing.T) { suite().Run(t) }

func TestRealRuntime(t *testing.T) { suite().RunRuntime(t) }

func TestRealStates(t *testing.T) { suite().RunStates(t) }

func TestRealOutcomes(t *testing.T) { suite().RunOutcomes(t) }

func TestRealEndpoints(t *testing.T) { suite().RunEndpoints(t) }
