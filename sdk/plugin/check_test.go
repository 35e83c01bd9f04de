package plugin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/plugin"
)

func TestDefinitionCheck(t *testing.T) {
	def := sinkDefinition(`{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"}}}`, new(int))
	def.Validate = func(_ context.Context, config json.RawMessage) []plugin.Problem {
		if strings.Contains(string(config), "13") {
			return []plugin.Problem{{Path: "/n", Text: "brings bad luck"}}
		}
		return nil
	}
	for _, tt := range []struct{ config, path, want string }{
		{``, "", ""}, {`{"n":1}`, "", ""}, {`{"n":13}`, "/n", "bad luck"}, {`{"n":"x"}`, "/n", ""}, {`[]`, "", "object"}, {`{"m":1}`, "", "unknown setting m"},
	} {
		problems, err := def.Check(t.Context(), json.RawMessage(tt.config))
		if err != nil {
			t.Fatal(err)
		}
		if bad := tt.path != "" || tt.want != ""; bad != (len(problems) == 1) {
			t.Errorf("%s: %+v", tt.config, problems)
			continue
		} else if bad && (problems[0].Path != tt.path || !strings.Contains(problems[0].Text, tt.want) || problems[0].Severity != plugin.SeverityError) {
			t.Errorf("%s: %+v", tt.config, problems)
		}
	}
	def.Name = ""
	if _, err := def.Check(t.Context(), nil); err == nil {
		t.Error("a wrong definition is taken")
	}
}
