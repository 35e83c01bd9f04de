package gemini_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// TestRealRetries refuses the real gemini until it gives up: it is busy all that time, as its screen says too, and the turn
// then fails with what refused it. By itself it would ask whether to go on trying, and by default not even that.
func TestRealRetries(t *testing.T) {
	drivertest.CLI(t, "gemini")
	model := drivertest.StartModel(t)
	for status, code := range map[int]string{
		429: wire.TurnModelRateLimited, 500: wire.TurnModelUnavailable, 529: wire.TurnModelUnavailable,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".gemini"), 0o700); err != nil {
				t.Fatal(err)
			}
			// One more attempt in place of nine; with a model of one's own it tries no other after them.
			settings := []byte(`{"general": {"maxAttempts": 2}}`)
			if err := os.WriteFile(filepath.Join(dir, ".gemini", "settings.json"), settings, 0o600); err != nil {
				t.Fatal(err)
			}
			env := modelEnv(model.URL)
			env["GEMINI_MODEL"] = "gemini-2.5-flash"
			a := drivertest.StartSpec(t, gemini.New(), runtime.Spec{Env: env, Workdir: dir})
			a.Wait(agentcli.SignalIdle)
			took := a.Send(fmt.Sprintf("FAIL[%d] nothing", status))
			a.WaitScreen("(esc to cancel")
			if n := a.Count(agentcli.SignalTurnEnd) + a.Count(agentcli.SignalBlocked); n > 0 {
				t.Errorf("it is not busy while it tries again\n%s", a.History())
			}
			end := a.Turn()
			if n := a.Count(agentcli.SignalBlocked); n > 0 {
				t.Errorf("people are asked\n%s", a.History())
			}
			if end.Error == nil || end.Error.Code != code || !end.Error.Retryable || end.Text != "" {
				t.Errorf("the turn came to %+v %+v", end.Signal, end.Error)
			}
			if took := end.At.Sub(took.At); took < 3*time.Second {
				t.Errorf("it gave up after %s, before its second attempt", took)
			}
			a.Send("after")
			if end := a.Turn(); !strings.Contains(end.Text, "ANSWER[after]") || end.Error != nil {
				t.Errorf("the next turn came to %+v", end)
			}
		})
	}
}
