package local

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSettingsByHand reads what an operator sets who starts the server by hand.
func TestSettingsByHand(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want string // the settings
		err  string // part of the error; empty: none
	}{
		"None":        {nil, `{}`, ""},
		"MaxAgents":   {map[string]string{"MAX_AGENTS": "7"}, `{"maxAgents":7}`, ""},
		"Workdirs":    {map[string]string{"WORKDIRS": "/srv:/tmp"}, `{"workdirs":["/srv","/tmp"]}`, ""},
		"NoNumber":    {map[string]string{"MAX_AGENTS": "many"}, "", `MAX_AGENTS is "many"`},
		"Negative":    {map[string]string{"MAX_AGENTS": "-1"}, "", `MAX_AGENTS is "-1"`},
		"NotAbsolute": {map[string]string{"WORKDIRS": "/srv:work"}, "", `WORKDIRS has "work"`},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := settings(func(name string) string { return test.env[name] })
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one about %s", err, test.err)
				}
				return
			}
			if got, _ := json.Marshal(all); err != nil || string(got) != test.want {
				t.Errorf("settings %s, error %v, want %s", got, err, test.want)
			}
		})
	}
}
