package cmd_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// A credential that no request can carry is named at once; spaces and line ends around one are not part of it.
func TestCredentialOfOneLine(t *testing.T) {
	var sent []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		say(w, 200, `{"status":"healthy","version":"1","uptime":1}`)
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("wk_one\nwk_two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, token string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		env := map[string]string{"WARDROOM_SERVER": url, "WARDROOM_TOKEN": token}
		code := cmd.Execute(t.Context(), cmd.Deps{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(key string) string { return env[key] },
		}, append([]string{"status", "--timeout", "5s"}, args...))
		if code != want {
			t.Errorf("%q: exit %d, want %d: %s", token, code, want, out.String())
		}
		return out.String()
	}
	run(0, "wk_one\r\n")
	if got := strings.Join(sent, " "); got != "Bearer wk_one" {
		t.Errorf("sent %q", got)
	}
	for _, text := range []string{run(2, "wk_one\nwk_two"), run(2, "", "--token", "wk\x1b[31m"), run(2, "", "--token-file", file)} {
		if !strings.Contains(text, "the credential holds a line break or another control character") {
			t.Errorf("%q", text)
		}
	}
	if len(sent) != 1 {
		t.Errorf("%d requests were sent", len(sent))
	}
}
