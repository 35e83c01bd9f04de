package codex_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// nearLimit stands before the fake model, and says with each answer that nearly all is used that the account may use.
func nearLimit(t *testing.T) string {
	t.Helper()
	model, err := url.Parse(drivertest.StartModel(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(model)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("x-codex-primary-used-percent", "95.5")
		r.Header.Set("x-codex-primary-window-minutes", "300")
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// Behind a turn that nearly reached a limit codex asks whether to go on with another model: a message that comes just then does not
// answer that.
func TestRealNudge(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	a := started(t, codex.New(), modelEnv(nearLimit(t)))
	a.Send("one")
	model := a.Turn().Usage.Model
	a.WaitScreen("Switch to")
	a.Submit("two")
	p := a.Wait(agentcli.SignalBlocked).Prompt
	keep := ""
	for _, o := range p.Options {
		if keep == "" && strings.HasPrefix(o.Label, "Keep") {
			keep = o.ID
		}
	}
	if keep == "" || !strings.Contains(p.Text, "rate limits") {
		t.Fatalf("blocked with %+v\n%s", p, a.Screen())
	}
	a.MustAnswer(runtime.Answer{Choice: keep})
	a.Wait(agentcli.SignalUnblocked)
	a.Confirm()
	if end := a.Turn(); end.Text != "ANSWER[two]" || end.Usage == nil || end.Usage.Model != model {
		t.Errorf("turn ended with %+v, used %+v and not %s\n%s", end.Signal, end.Usage, model, a.Screen())
	}
}
