package gemini_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// configured is the adapter of a gemini with further settings.
type configured struct {
	agentcli.Adapter
	settings map[string]any
}

func (c configured) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	p, err := c.Adapter.Plan(spec, room, life)
	if err != nil {
		return p, err
	}
	all := map[string]any{}
	if err := json.Unmarshal(p.Files[0].Data, &all); err != nil {
		return p, err
	}
	for name, value := range c.settings {
		if have, ok := all[name].(map[string]any); ok {
			for key, v := range value.(map[string]any) {
				have[key] = v
			}
			continue
		}
		all[name] = value
	}
	p.Files[0].Data, err = json.Marshal(all)
	return p, err
}

// An interrupt of a tool is one, though gemini writes that the tool was cancelled behind that, or instead of it.
func TestRealToolInterrupted(t *testing.T) {
	drivertest.CLI(t, "gemini")
	t.Parallel()
	argv, err := drivertest.ServerCommand()
	if err != nil {
		t.Fatal(err)
	}
	server := map[string]any{"own": map[string]any{"command": argv[0], "args": argv[1:], "trust": true}}
	tool := func(name string) string { return call(t, "mcp_own_"+name, map[string]any{}) }
	env := scripted(t, map[string][]reply{
		"alone":  {{chunk("STOP", tool("stall"))}},
		"beside": {{chunk("STOP", tool("change"), tool("stall"))}},
	})
	a := drivertest.Start(t, configured{gemini.New(), map[string]any{"mcpServers": server}}, env)
	a.Wait(agentcli.SignalIdle)
	for _, name := range []string{"alone", "beside"} {
		a.Send("PLAY[" + name + "] please")
		a.WaitScreen(map[string]string{"alone": "stall (own", "beside": "✓  change"}[name])
		a.Interrupt()
		if end := a.Turn(); !end.Interrupted || end.Error != nil || end.Text != "" {
			t.Errorf("%s: turn ended with %+v, error %+v", name, end.Signal, end.Error)
		}
	}
	a.Send("after all")
	if end := a.Turn(); end.Text != "ANSWER[after all]" || end.Error != nil {
		t.Errorf("turn ended with %+v", end.Signal)
	}
}

// Settings may leave out of a dialog what allows a tool for longer: it is allowed this time then, and not refused.
func TestRealNeverAlways(t *testing.T) {
	drivertest.CLI(t, "gemini")
	t.Parallel()
	for name, settings := range map[string]map[string]any{
		"never": {"security": map[string]any{"disableAlwaysAllow": true}}, "always": nil,
	} {
		a := drivertest.Start(t, configured{gemini.New(), settings}, modelEnv(drivertest.StartModel(t).URL))
		a.Wait(agentcli.SignalIdle)
		a.Send("USE_TOOL[touch made] please")
		a.Wait(agentcli.SignalBlocked)
		a.WaitScreen("1. Allow once")
		if offered := strings.Contains(a.Screen(), "2. Allow"); offered != (name == "always") {
			t.Errorf("%s: gemini shows\n%s", name, a.Screen())
		}
		a.MustAnswer(runtime.Answer{Choice: "allow_always"})
		end := a.Turn()
		if _, err := os.Stat(filepath.Join(a.Room.Workdir, "made")); err != nil || end.Interrupted {
			t.Errorf("%s: %v, turn ended with %+v", name, err, end.Signal)
		}
		a.Send("USE_TOOL[touch made again] please")
		next := a.Wait(agentcli.SignalBlocked, agentcli.SignalTurnEnd)
		if asked := next.Kind == agentcli.SignalBlocked; asked != (name == "never") {
			t.Errorf("%s: it goes on with %s", name, next.Kind)
		}
		a.Close()
	}
}

// The environment may keep gemini from the file that has it trust the work directory: it does not ask for that.
func TestRealTrust(t *testing.T) {
	drivertest.CLI(t, "gemini")
	t.Parallel()
	env := modelEnv(drivertest.StartModel(t).URL)
	env["GEMINI_CLI_TRUSTED_FOLDERS_PATH"] = filepath.Join(t.TempDir(), "none.json")
	a := drivertest.Start(t, gemini.New(), env)
	if s := a.Wait(agentcli.SignalIdle, agentcli.SignalBlocked); s.Kind != agentcli.SignalIdle {
		t.Errorf("it is %s\n%s", s.Kind, a.Screen())
	}
}
