package cmd_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMisspeltThreads: a member that threads do not have is refused, whichever flag gives the thread.
func TestMisspeltThreads(t *testing.T) {
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the server was asked: %s %s", r.Method, r.URL) })
	file := filepath.Join(t.TempDir(), "thread.json")
	for text, want := range map[string]string{
		`{"agentType":"claude","objektive":"x"}`:                `unknown field "objektive"`,
		`{"agentType":"claude","policy":{"idleTimeout":5}}`:     `unknown field "idleTimeout"`,
		`{"agentType":"claude","policy":{"idleTimeoutMs":"5"}`:  "not JSON",
		`{"agentType":"claude","policy":{"idleTimeoutMs":"5"}}`: "policy.idleTimeoutMs: cannot be of the type string",
		`["claude"]`: "must be a JSON object",
		``:           "there is no JSON",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for flag, args := range map[string][]string{
			"--from":   {"thread", "spawn", "--from", file},
			"--thread": {"schedule", "create", "--name", "n", "--cron", "@daily", "--thread", "@" + file},
		} {
			hint := "hint: make it with `wardroom thread prepare -o json`"
			if member, ok := strings.CutPrefix(want, "unknown field "); ok {
				hint = "hint: if a server printed " + member + ", this wardroom may be older than that server: see `wardroom version`"
			}
			execute(t, url, args...).expect(t, 2, flag+": not the JSON of a thread: ", want, hint)
		}
	}
}
