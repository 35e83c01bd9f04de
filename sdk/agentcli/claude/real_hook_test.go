package claude_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// withHooks returns a work directory whose project has hooks of its own.
func withHooks(t *testing.T, hooks map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for event, command := range hooks {
		all[event] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command}}}}
	}
	data, err := json.Marshal(map[string]any{"hooks": all})
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, ".claude"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".claude", "settings.json"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A Stop hook of the user's own that has claude go on makes one turn of it: its end is claude's, and it counts all. An interrupt
// ends it while the hook runs.
func TestRealStopHookGoesOn(t *testing.T) {
	dir := withHooks(t, map[string]string{"Stop": `[ -e second ] && touch third && exec sleep 600
		[ -e first ] && touch second && sleep 2 && exit 0
		touch first; sleep 7; echo 'go on' >&2; exit 2`})
	made := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	a := startSpec(t, "", runtime.Spec{Workdir: dir})
	a.Send("SAY[an answer]")
	end := a.Turn()
	if end.Text != "an answer" || end.Error != nil || end.Interrupted || !made("second") || end.Usage == nil || end.Usage.Requests != 2 {
		t.Errorf("turn ended with %+v, error %+v, usage %+v\n%s\n%s", end.Signal, end.Error, end.Usage, a.History(), a.Screen())
	}
	if n := a.Count(agentcli.SignalText); n != 2 || end.Source != runtime.SourceHook {
		t.Errorf("%d texts, and an end by %s\n%s", n, end.Source, a.History())
	}
	a.Send("SAY[another]")
	eventually(t, "the hook runs", func() bool { return made("third") })
	a.WaitScreen("running Stop hooks")
	a.Interrupt()
	if end := a.Turn(); !end.Interrupted || end.Error != nil || a.Count(agentcli.SignalTurnEnd) != 2 {
		t.Errorf("turn ended with %+v, error %+v\n%s\n%s", end.Signal, end.Error, a.History(), a.Screen())
	}
}

// A message that a hook of the user's own refuses is a turn that failed, with what the hook wrote; one that stops claude is as well.
func TestRealPromptRefusedByHook(t *testing.T) {
	dir := withHooks(t, map[string]string{"UserPromptSubmit": `words=$(cat)
		case "$words" in
		*forbidden*) echo 'not that word, please' >&2; exit 2;;
		*unwanted*) echo '{"continue":false,"stopReason":"not now"}';;
		esac`})
	a := startSpec(t, "", runtime.Spec{Workdir: dir})
	for i, step := range []struct{ message, why string }{
		{"a forbidden word", "not that word, please"}, {"SAY[one]", ""}, {"unwanted words", "not now"}, {"forbidden again", "not that word, please"}, {"SAY[two]", ""},
	} {
		a.Send(step.message)
		end := a.Turn()
		switch {
		case step.why == "" && (end.Error != nil || end.Interrupted || !strings.Contains(step.message, end.Text)),
			step.why != "" && (end.Error == nil || end.Error.Code != wire.TurnHookRefused || end.Error.Message != step.why || end.Interrupted):
			t.Errorf("%q ended with %+v, error %+v\n%s\n%s", step.message, end.Signal, end.Error, a.History(), a.Screen())
		}
		if n := a.Count(agentcli.SignalTurnEnd); n != i+1 {
			t.Errorf("%d turns ended\n%s", n, a.History())
		}
	}
}
