package cmd_test

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// TestContexts: commands talk to the chosen server, with its certificates, unless an address is given.
func TestContexts(t *testing.T) {
	answer := func(version string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"status":"healthy","version":"` + version + `","uptime":1}`))
		})
	}
	secure := httptest.NewTLSServer(answer("9.9.1"))
	defer secure.Close()
	plain := httptest.NewServer(answer("9.9.2"))
	defer plain.Close()
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(ca, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"XDG_CONFIG_HOME": filepath.Join(dir, "config")}
	run := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		code := cmd.Execute(t.Context(), cmd.Deps{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(key string) string { return env[key] },
		}, args)
		if code != want {
			t.Fatalf("%s: exit %d, want %d: %s", args, code, want, out.String())
		}
		return out.String()
	}
	wants := func(text, part string) {
		t.Helper()
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
	wants(run(0, "context", "list"), "no contexts")
	run(2, "context", "add", "plant")
	run(2, "context", "add", "no good", "--server", plain.URL)
	run(2, "context", "add", "plant", "--server", "ftp://x")
	wants(run(0, "context", "add", "plant", "--server", secure.URL, "--ca", ca), "added plant")
	run(0, "context", "add", "lab", "--server", plain.URL)
	wants(run(0, "context", "list"), "*  plant")
	wants(run(0, "version"), "9.9.1")
	wants(run(0, "version", "--context", "lab"), "9.9.2")
	env["WARDROOM_CONTEXT"] = "lab"
	wants(run(0, "version"), "9.9.2")
	delete(env, "WARDROOM_CONTEXT")
	env["WARDROOM_SERVER"] = plain.URL
	wants(run(0, "version"), "9.9.2")
	delete(env, "WARDROOM_SERVER")
	wants(run(2, "version", "--context", "nowhere"), "there is lab, plant")
	run(2, "context", "use", "nowhere")
	run(0, "context", "use", "lab")
	wants(run(0, "version"), "9.9.2")
	run(0, "context", "remove", "lab")
	if text := run(0, "context", "list"); strings.Contains(text, "lab") || strings.Contains(text, "*") {
		t.Errorf("after the removal: %s", text)
	}
	credentials(t, dir, run)
	info, err := os.Stat(filepath.Join(dir, "config", "wardroom", "contexts.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// credentials: a context is reached with the file that it names, or with its login, and neither goes to another server.
func credentials(t *testing.T, dir string, run func(want int, args ...string) string) {
	t.Helper()
	got := make(chan string, 10)
	serve := func() *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got <- r.Header.Get("Authorization")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"id":"ann","actions":[]}`))
		}))
		t.Cleanup(s.Close)
		return s
	}
	sent := func(want string, args ...string) {
		t.Helper()
		run(0, append([]string{"auth", "whoami"}, args...)...)
		if header := <-got; header != want {
			t.Errorf("%v sends %q, want %q", args, header, want)
		}
	}
	one, other := serve(), serve()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(0, "context", "add", "keyed", "--server", one.URL, "--token-file", file, "--use")
	run(2, "context", "add", "keyed", "--server", one.URL, "--token", "secret")
	run(2, "context", "add", "keyed", "--server", one.URL, "--token-file", "-")
	sent("Bearer first")
	if err := os.WriteFile(file, []byte("second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sent("Bearer second")
	sent("Bearer third", "--token", "third")
	sent("", "--server", other.URL)
	if text := run(0, "context", "list"); !strings.Contains(text, file) {
		t.Errorf("%s", text)
	}
	// A login counts for the server that it was made at, until it ends, and only as long as nobody else can read it.
	login := func(server, until string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, "config", "wardroom", "logins", "signed.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := `{"server":"` + server + `","token":"wrs_x","sessionId":"sess_1","user":"ann","expiresAt":"` + until + `"}`
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	run(0, "context", "add", "signed", "--server", one.URL, "--use")
	sent("")
	login(one.URL, "2999-01-01T00:00:00Z", 0o600)
	sent("Bearer wrs_x")
	login(other.URL, "2999-01-01T00:00:00Z", 0o600)
	sent("")
	login(one.URL, "2001-01-01T00:00:00Z", 0o600)
	if text := run(5, "auth", "whoami"); !strings.Contains(text, "ended at") || !strings.Contains(text, "wardroom login --context signed") {
		t.Errorf("%s", text)
	}
	login(one.URL, "2999-01-01T00:00:00Z", 0o644)
	if text := run(2, "auth", "whoami"); !strings.Contains(text, "can be read by others") {
		t.Errorf("%s", text)
	}
	login(one.URL, "2999-01-01T00:00:00Z", 0o600)
	run(0, "context", "remove", "signed")
	run(0, "context", "add", "signed", "--server", one.URL, "--use")
	sent("")
	run(0, "context", "remove", "signed")
	run(0, "context", "remove", "keyed")
}

func TestHelpOfNothing(t *testing.T) {
	var out bytes.Buffer
	deps := cmd.Deps{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
	if code := cmd.Execute(t.Context(), deps, []string{"help", "nope"}); code != 2 || !strings.Contains(out.String(), "nope") {
		t.Errorf("exit %d: %s", code, out.String())
	}
	for _, args := range [][]string{{"help"}, {"help", "execution", "list"}, {"help", "exit-codes"}} {
		if code := cmd.Execute(t.Context(), deps, args); code != 0 {
			t.Errorf("%s: exit %d", args, code)
		}
	}
}

// TestRejectedReview: a review that did not approve is no tick, and says why.
func TestRejectedReview(t *testing.T) {
	const timeline = `{"executionId":"exec_1","pattern":{"name":"p","version":"1.0.0"},"status":"completed","duration":3,"lastSequence":9,
		"startedAt":"2026-01-02T03:04:05.000Z","entries":[
		{"kind":"step","id":"3","type":"approve","name":"Review loop","role":"rita","status":"completed","verdict":"revise","detail":"version 1 has no test yet",
		 "startedAt":"2026-01-02T03:04:05.000Z","endedAt":"2026-01-02T03:04:05.001Z","duration":1},
		{"kind":"step","id":"4","type":"review","role":"rita","status":"completed","verdict":"reject",
		 "startedAt":"2026-01-02T03:04:05.000Z","endedAt":"2026-01-02T03:04:05.001Z","duration":1},
		{"kind":"step","id":"5","type":"review","role":"rita","status":"completed","verdict":"approve","detail":"good",
		 "startedAt":"2026-01-02T03:04:05.000Z","endedAt":"2026-01-02T03:04:05.001Z","duration":1}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/timeline") {
			_, _ = w.Write([]byte(`{"questions":[],"executions":[],"total":0,"limit":20,"offset":0,"hasMore":false}`))
			return
		}
		_, _ = w.Write([]byte(timeline))
	}))
	defer server.Close()
	var out bytes.Buffer
	deps := cmd.Deps{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
	if code := cmd.Execute(t.Context(), deps, []string{"--server", server.URL, "execution", "timeline", "exec_01KDYAM0C1D3F5H7J9K1M3N5P7"}); code != 0 {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	for _, want := range []string{
		`~ 3 approve  "Review loop"  rita  revise: version 1 has no test yet`, `x 4 review  rita  reject`, `+ 5 review  rita`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\ndoes not say %q", out.String(), want)
		}
	}
}
