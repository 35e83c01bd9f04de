package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func modelEnv(url string) map[string]string {
	return map[string]string{"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "no-key-is-checked"}
}

func suite() drivertest.Suite {
	return drivertest.Suite{
		New: gemini.New, Env: modelEnv, KeyAllow: "1", DenyContinues: true,
		Tool: func(file string) string { return "USE_TOOL[touch " + file + "] please" },
		Changed: func(m string) string {
			if strings.Contains(m, "@READ") {
				return "--- End of content ---" // gemini attaches the file, and the model answers to its end
			}
			return strings.ReplaceAll(m, "\u200d", "") // it is the fake model that drops these
		},
	}
}

// impatient is an adapter whose gemini repeats a failed request once, and not for minutes.
type impatient struct{ agentcli.Adapter }

func (a impatient) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	plan, err := a.Adapter.Plan(spec, room, life)
	for i, f := range plan.Files {
		var settings map[string]any
		if !strings.HasSuffix(f.Path, "/settings.json") || json.Unmarshal(f.Data, &settings) != nil {
			continue
		}
		general, _ := settings["general"].(map[string]any)
		general["maxAttempts"] = 2
		if plan.Files[i].Data, err = json.Marshal(settings); err != nil {
			return plan, err
		}
	}
	return plan, err
}

func impatientSuite() drivertest.Suite {
	s := suite()
	s.New = func() agentcli.Adapter { return impatient{gemini.New()} }
	s.Impatient = map[string]string{"GEMINI_MODEL": "gemini-2.5-flash"} // and does not try others, too
	return s
}

func TestReal(t *testing.T) { suite().Run(t) }

func TestRealRuntime(t *testing.T) { suite().RunRuntime(t) }

func TestRealStates(t *testing.T) { suite().RunStates(t) }

func TestRealOutcomes(t *testing.T) { impatientSuite().RunOutcomes(t) }

func TestRealLatency(t *testing.T) { suite().RunLatency(t, 20, 300*time.Millisecond) }
