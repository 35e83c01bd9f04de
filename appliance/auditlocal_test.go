package appliance_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// What the operator of the machine changes or takes out over the admin socket is in the trail, refusals too; and the record of
// a pattern that is made names it.
func TestAuditOfTheMachine(t *testing.T) {
	dir, err := os.MkdirTemp("", "wr") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &secured{t: t, dir: dir, log: new(log), config: filepath.Join(dir, "wardroom.yaml")}
	socket := filepath.Join(dir, "admin.sock")
	config := "server: {listen: '127.0.0.1:0', adminSocket: " + socket + "}\nstore: {path: store}\n" + withKeys + "  audit: {enabled: true}\n"
	if err := os.WriteFile(s.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	key, err := os.ReadFile(filepath.Join(dir, "store", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	admin := s.client(strings.TrimSpace(string(key)))
	if _, err := admin.CreatePattern(t.Context(), client.PatternInput{Definition: echo}); err != nil {
		t.Fatal(err)
	}
	operator, err := os.ReadFile(filepath.Join(dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	local := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	do := func(method, path, body string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://local"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(operator)))
		resp, err := local.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		action, outcome    string
		detail             string
	}{
		{"PUT", "/admin/log", `{"level":"debug"}`, 200, "log.level", wire.AuditSuccess, `"level":"debug"`},
		{"PUT", "/admin/log", `{"level":"loud"}`, 400, "", "", ""},
		{"GET", "/admin/backup", "", 200, "store.backup", wire.AuditSuccess, `"secrets":false`},
		{"POST", "/admin/store/key/rotate", "", 409, "store.key.rotate", wire.AuditFailure, `"code":"CONFLICT"`},
	} {
		if got := do(c.method, c.path, c.body); got != c.status {
			t.Errorf("%s %s: %d", c.method, c.path, got)
		}
		if c.action == "" {
			continue
		}
		var list *client.AuditList
		coretest.WaitFor(t, "the record of "+c.action, func() bool {
			list, err = admin.ListAudit(t.Context(), client.AuditFilter{Action: c.action})
			return err != nil || len(list.Records) > 0
		})
		if err != nil || len(list.Records) != 1 || list.Records[0].Outcome != c.outcome || list.Records[0].Actor.ID == "" ||
			!strings.Contains(string(list.Records[0].Details), c.detail) || list.Records[0].Request.Path != c.path {
			t.Errorf("%s: %+v, %v", c.action, list, err)
		}
	}
	made, err := admin.ListAudit(t.Context(), client.AuditFilter{Action: "patterns.create"})
	if err != nil || len(made.Records) != 1 || made.Records[0].Resource.ID != "echo" || made.Records[0].Resource.Version == "" {
		t.Errorf("%+v, %v", made, err)
	}
}
