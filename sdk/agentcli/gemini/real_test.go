package gemini_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
)

func modelEnv(url string) map[string]string {
	return map[string]string{"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "no-key-is-checked"}
}

func suite() drivertest.Suite {
	return drivertest.Suite{
		New: gemini.New, Env: modelEnv, KeyAllow: "1", DenyContinues: true, EmptyRefuses: true,
		// One more attempt in place of nine; with a model of one's own it tries no other after them.
		Impatient: map[string]string{"GEMINI_MODEL": "gemini-2.5-flash"},
		Settings:  map[string]string{filepath.Join(".gemini", "settings.json"): `{"general": {"maxAttempts": 2}}`},
		Tool:      func(file string) string { return "USE_TOOL[touch " + file + "] please" },
		Changed: func(m string) string {
			if strings.Contains(m, "@READ") {
				return "--- End of content ---" // gemini attaches the file, and the model answers to its end
			}
			m = strings.TrimPrefix(m, "\ufeff")        // gemini takes these out of what is pasted
			return strings.ReplaceAll(m, "\u200d", "") // it is the fake model that drops these
		},
	}
}

func TestReal(t *testing.T) { suite().Run(t) }

func TestRealRuntime(t *testing.T) { suite().RunRuntime(t) }

func TestRealStates(t *testing.T) { suite().RunStates(t) }

func TestRealOutcomes(t *testing.T) { suite().RunOutcomes(t) }

func TestRealEndpoints(t *testing.T) { suite().RunEndpoints(t) }
