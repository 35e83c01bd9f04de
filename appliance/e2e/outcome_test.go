package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/sdk/client"
)

// The exit code of `agent send --wait`, the events of the agent and webhooks say the same of what a turn of a real command line
// comes to: an answer, a failure, an interrupt, a refusal; and that it waits for people, while it does.
func TestOutcomesOfRealCLIs(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			needs(t, tool.name)
			c, model := managed(t, toolPath(t), "server.environment: development"), startModel(t)
			hooks := newHookReceiver(t)
			if _, err := c.api.CreateWebhook(t.Context(), client.WebhookSpec{URL: hooks.URL, Events: []string{"*"}}); err != nil {
				t.Fatal(err)
			}
			env := fakemodel.Env(tool.name, model.URL())
			env["CLAUDE_CODE_MAX_RETRIES"] = "0" // of a 401, too; the others do not know it
			a := c.spawn(client.ManagedAgentSpec{Type: tool.name, Name: "ada", Env: env})
			a = c.await(a.ID, client.ManagedReady)
			send := func(message string) (<-chan string, <-chan int) {
				text, exit := make(chan string, 1), make(chan int, 1)
				go func() {
					out, code := c.command("agent", "send", "ada", "--wait", "--timeout", "5m", message)
					text <- out
					exit <- code
				}()
				return text, exit
			}
			want := func(what string, text <-chan string, exit <-chan int, answer string, code int) {
				t.Helper()
				if got, gotCode := strings.TrimSpace(<-text), <-exit; gotCode != code || !strings.Contains(got, answer) || answer == "" && got != "" {
					t.Errorf("%s: exit code %d, printed %q", what, gotCode, got)
				}
			}
			text, exit := send("hello")
			want("an answer", text, exit, "ANSWER[hello]", 0)
			text, exit = send("FAIL[400] now")
			want("a failure", text, exit, "", 1)

			text, exit = send("HANG[60] please")
			c.await(a.ID, client.ManagedBusy)
			slowly(t, "the interrupt", func() bool {
				_, code := c.command("agent", "interrupt", "ada")
				return code == 0
			})
			want("an interrupt", text, exit, "", 1)

			refused := filepath.Join(a.Workdir, "refused")
			text, exit = send(tool.approve(refused))
			p := c.blocked(a.ID, "approval")
			slowly(t, "the webhook of a blocked agent", func() bool {
				return hooks.has("X-Service-Event: managed_agent.blocked", a.ID, p.ID, "touch "+refused)
			})
			if out, code := c.command("agent", "get", "ada"); code != 0 || !strings.Contains(out, "touch "+refused) {
				t.Errorf("exit code %d, it shows %s", code, out)
			}
			if _, code := c.command("agent", "answer", "ada", "Deny"); code != 0 { // by its label
				t.Errorf("exit code %d", code)
			}
			out, code := <-text, <-exit
			if code != 1 || strings.Contains(out, "ANSWER[hello]") {
				t.Errorf("a refusal: exit code %d, printed %q", code, out)
			}
			if _, err := os.Stat(refused); err == nil {
				t.Error("what was refused was done")
			}
			text, exit = send("after all")
			want("an answer", text, exit, "ANSWER[after all]", 0)

			// The answer of a turn comes from the runtime, and may be here before the event of its end is stored.
			var events []client.ManagedAgentEvent
			slowly(t, "the event of the last turn", func() bool {
				events = c.events(a.ID)
				return slices.ContainsFunc(events, func(e client.ManagedAgentEvent) bool {
					d, err := e.Decode()
					return err == nil && e.Type == "managed_agent.turn_complete" && d.Turn == 5
				})
			})
			turns := map[int]string{}
			for _, e := range events {
				if e.Type != "managed_agent.turn_complete" {
					continue
				}
				d, err := e.Decode()
				if err != nil {
					t.Fatal(err)
				}
				if turns[d.Turn] != "" {
					t.Errorf("turn %d ended twice", d.Turn)
				}
				how := "answered"
				switch {
				case d.Error != nil:
					how = d.Error.Code
				case d.Refused:
					how = "refused"
				case d.Interrupted:
					how = "interrupted"
				}
				turns[d.Turn] = how
			}
			for i, how := range []string{"answered", "MODEL_ERROR", "interrupted", "refused", "answered"} {
				if turns[i+1] != how {
					t.Errorf("turn %d is told as %s, want %s", i+1, turns[i+1], how)
				}
			}

			text, exit = send("FAIL[401] now")
			want("a login", text, exit, "", 1)
			slowly(t, "the webhook of a login", func() bool {
				return hooks.has("X-Service-Event: managed_agent.login_required", a.ID)
			})
		})
	}
}

// has reports whether a delivery came that has all the words.
func (h *hookReceiver) has(words ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.got {
		all := true
		for _, w := range words {
			all = all && strings.Contains(d, w)
		}
		if all {
			return true
		}
	}
	return false
}
