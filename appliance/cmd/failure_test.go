package cmd_test

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// TestHintsOfAnswers: what to type next fits what was asked for.
func TestHintsOfAnswers(t *testing.T) {
	const id = "00000000000000000000000001"
	missing := func(resource, id string) string {
		return `{"error":{"code":"NOT_FOUND","message":"` + resource + ` does not exist","details":{"resource":"` + resource + `","id":"` + id + `"}}}`
	}
	unknown := func(of, path, reason string) string {
		return `{"error":{"code":"VALIDATION_ERROR","message":"` + of + `: ` + path + `: ` + reason + `","details":{"field":"` + path + `","reason":"` + reason + `"}}}`
	}
	for _, tt := range []struct {
		args   []string
		status int
		body   string
		code   int
		want   string
	}{
		{[]string{"auth", "list-keys"}, 404, missing("route", "GET /api/auth/keys"), 3, "no security is configured there"},
		{[]string{"auth", "sessions", "list"}, 404, missing("route", "GET /api/auth/sessions"), 3, "no security is configured there"},
		{[]string{"overview"}, 404, missing("route", "GET /api/overview"), 3, "another version"},
		{
			[]string{"schedule", "list", "--created-by", "ann"}, 400,
			unknown("invalid query", "createdBy", "unknown query parameter; known are limit, cursor, status"), 2, "another version",
		},
		{
			[]string{"thread", "send", "thread_" + id, "hello", "--wait"}, 400,
			unknown("invalid request body", "expectResponse", "unknown field; known are message, raw, keys"), 2, "another version",
		},
		{[]string{"schedule", "get", "sched_" + id}, 404, missing("schedule", "sched_"+id), 3, "`wardroom schedule list`"},
		{[]string{"trigger", "get", "trig_" + id}, 404, missing("trigger", "trig_"+id), 3, "`wardroom trigger list`"},
		{[]string{"batch", "get", "batch_" + id}, 404, missing("batch", "batch_"+id), 3, "`wardroom batch list`"},
		{[]string{"data", "erasure", "ers_" + id}, 404, missing("erasure", "ers_"+id), 3, "`wardroom data erasures`"},
		{[]string{"auth", "sessions", "revoke", "sess_" + id}, 404, missing("session", "sess_"+id), 3, "`wardroom auth sessions list`"},
		{[]string{"webhook", "retry", "wh_" + id, "dlv_" + id}, 404, missing("delivery", "dlv_"+id), 3, "`wardroom webhook deliveries ID`"},
		{
			[]string{"trigger", "test", "trig_" + id, "--secret", "of another trigger"}, 401,
			`{"error":{"code":"UNAUTHORIZED","message":"there is no trigger of that id for a request with that signature","details":{"reason":"invalid"}},"requestId":"req_1"}`,
			5, "`wardroom trigger rotate`",
		},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		r := execute(t, url, tt.args...)
		r.expect(t, tt.code, "hint: ", tt.want)
		if strings.Contains(tt.body, "req_1") {
			r.expect(t, tt.code, "request: req_1")
		}
	}
}

// TestPatternsOfAnOlderServer: one that does not count the use of patterns lists them without.
func TestPatternsOfAnOlderServer(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Has("use") {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"code":"VALIDATION_ERROR","message":"invalid query: use: unknown query parameter; known are limit, offset, cursor, search",`+
				`"details":{"errors":[{"path":"use","reason":"unknown query parameter; known are limit, offset, cursor, search"}],`+
				`"field":"use","reason":"unknown query parameter; known are limit, offset, cursor, search"}},"requestId":"req_1"}`)
			return
		}
		_, _ = io.WriteString(w, `{"patterns":[{"name":"flat","version":"2.0.0","updatedAt":"2026-11-23T10:00:00Z"}],"total":1}`)
	})
	r := execute(t, url, "pattern", "list")
	r.expect(t, 0)
	if !strings.Contains(r.stdout.String(), "flat") {
		t.Errorf("the list is\n%s", &r.stdout)
	}
}

// TestAddressesOfAnotherKind: a server with TLS that is asked in plain text, one without that is asked with, and one that is not
// trusted are not taken for a server that is away, for which run and batch run wait.
func TestAddressesOfAnotherKind(t *testing.T) {
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	quiet := log.New(io.Discard, "", 0)
	secure := httptest.NewUnstartedServer(handler)
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewUnstartedServer(handler)
	plain.Config.ErrorLog = quiet
	plain.Start()
	defer plain.Close()
	for _, args := range [][]string{{"pattern", "list"}, {"run", "x"}} {
		execute(t, secure.URL, args...).expect(t, 7, "cannot connect to "+secure.URL, "hint: ", "`wardroom context add NAME --server "+secure.URL+" --ca FILE`")
		execute(t, strings.Replace(plain.URL, "http:", "https:", 1), args...).expect(t, 7, "cannot connect to https:", "hint: ", "begin its address with http://")
		execute(t, strings.Replace(secure.URL, "https:", "http:", 1), args...).expect(t, 2, "begin its address with https://")
	}
}

// TestLivesOfKeys: the error about a time that is none names its flag.
func TestLivesOfKeys(t *testing.T) {
	execute(t, "", "auth", "create-key", "--name", "n", "--scopes", "read", "--expires", "30").expect(t, 2, `--expires: "30" is not a time such as 90d`)
	execute(t, "", "agent", "create-token", "--capabilities", "c", "--expires", "-1d").expect(t, 2, `--expires: "-1d" is not a time such as 90d`)
}

// TestFilesOfTheService: who has no right to them hears that, and not that there is no store.
func TestFilesOfTheService(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this takes root")
	}
	dir, _ := dumped(t)
	first := filepath.Join(dir, "first")
	config := filepath.Join(dir, "wardroom.yaml")
	if err := os.WriteFile(config, []byte("store: {path: "+first+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "dump", filepath.Join(dir, "nowhere", "dump"), "--data-dir", first).expect(t, 2, "error: "+filepath.Join(dir, "nowhere")+": no such file")
	if err := os.Chown(config, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Dir(dir), dir} { // first stays for root alone
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args  []string
		code  int
		wants []string
	}{
		{[]string{"store", "check", "--config", config}, 5, []string{"permission denied", "hint: try again with sudo"}},
		{[]string{"store", "dump", "-", "--data-dir", first}, 5, []string{"permission denied", "hint: try again with sudo"}},
		{[]string{"doctor", "--config", config}, 0, []string{"its socket is for root and the user of the service"}},
	} {
		code, out := executeAs(t, 65534, tt.args...)
		for _, want := range tt.wants {
			if code != tt.code || !strings.Contains(out, want) {
				t.Errorf("%v: exit code %d, no %q: %s", tt.args, code, want, out)
			}
		}
	}
}

// executeAs runs a command line with the rights of another user on files.
func executeAs(t *testing.T, uid int, args ...string) (code int, output string) {
	t.Helper()
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine, and its rights with it
		if err := syscall.Setfsuid(uid); err != nil {
			t.Error(err)
		}
		code = cmd.Execute(t.Context(), cmd.Deps{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}, args)
	}()
	<-done
	return code, out.String()
}
