package appliance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// A secret is planted in every place of the configuration and of the API that takes one, and found nowhere: not in the log at its
// most talkative, answers, streams, audit records of the level verbose, metrics, what a support bundle is made of, files
// of the store, or a dump.
func TestNothingLeaks(t *testing.T) {
	r := newReceiver(t)
	dir, err := os.MkdirTemp("", "wr") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	planted := map[string]string{}
	plant := func(where string) string {
		planted[where] = fmt.Sprintf("c4nary%02dq7x", len(planted)) // without a form or a name that anything could know it by
		return planted[where]
	}
	s := &secured{t: t, dir: dir, log: new(log), config: filepath.Join(dir, "wardroom.yaml")}
	socket := filepath.Join(dir, "admin.sock")
	t.Setenv("CANARY_OF_THE_ENVIRONMENT", plant("the environment, for the configuration"))
	config := "server: {listen: '127.0.0.1:0', environment: development, adminSocket: " + socket + "}\nstore: {path: store}\nlog: {level: trace}\n" +
		"plugins: {dir: plugins, pen: {kind: runtime, enabled: false, env: {TOKEN: " + plant("the environment of a plugin") + "}, config: {token: '${CANARY_OF_THE_ENVIRONMENT}'}}}\n" +
		"runtimes: {away: {url: 'http://127.0.0.1:1', token: " + plant("the token of a runtime") + "}}\n" +
		"agentTypes: {shell: {command: sh, env: {API_TOKEN: " + plant("the environment of an agent type") + "}}}\n" +
		"threads: {repositories: {tools: {url: 'https://git.example.com/tools.git', username: ci, password: " + plant("the password of a repository") + "}}}\n" +
		fmt.Sprintf("webhooks: {endpoints: [{url: %q, events: ['*'], secret: %s}]}\n", r.server.URL, hookSecret) +
		withKeys + "  audit: {enabled: true, level: verbose}\n"
	planted["the secret of a webhook of the configuration"] = hookSecret
	if err := os.WriteFile(s.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	key, err := os.ReadFile(filepath.Join(dir, "store", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	s.adminKey = strings.TrimSpace(string(key))
	planted["the first key"] = s.adminKey

	ctx := t.Context()
	admin := s.client(s.adminKey)
	_, made := s.key("ci", "execute")
	planted["a key"] = made.Key
	rotated, err := admin.RotateKey(ctx, made.ID, 0)
	s.wants(err, 0)
	planted["a rotated key"] = rotated.Key
	token, err := admin.CreateAgentToken(ctx, client.AgentTokenSpec{Capabilities: []string{"echo"}}, "")
	s.wants(err, 0)
	planted["a token of agents"] = token.Token
	_, err = admin.CreatePattern(ctx, client.PatternInput{Definition: echo})
	s.wants(err, 0)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer other.Close()
	hook, err := admin.CreateWebhook(ctx, client.WebhookSpec{URL: other.URL, Events: []string{"agent.connected"}, Secret: plant("the secret of a webhook") + "-long-enough"})
	s.wants(err, 0)
	changed := plant("a changed secret of a webhook") + "-long-enough"
	_, err = admin.UpdateWebhook(ctx, hook.ID, client.WebhookPatch{Secret: &changed})
	s.wants(err, 0)
	target := client.Target{Execution: &client.ExecutionTarget{Pattern: "echo", Input: []byte(`{}`)}}
	trigger, err := admin.CreateTrigger(ctx, client.TriggerSpec{TriggerSpec: wire.TriggerSpec{Name: "t", Secret: plant("the secret of a trigger") + "-long-enough"}, Target: target})
	s.wants(err, 0)
	_, err = admin.RotateTrigger(ctx, trigger.ID, plant("a rotated secret of a trigger")+"-long-enough", 0)
	s.wants(err, 0)
	// Refused, and so told of in the log and the trail: a wrong key, and a body that is no request.
	_, err = s.client("wr_" + plant("a wrong key")).GetSession(ctx)
	s.wants(err, 401)
	if code, body := s.post("/api/webhooks", "application/json", `{"url":1,"secret":"`+plant("a body that is refused")+`"}`); code != 400 {
		t.Errorf("%d %s", code, body)
	}
	answering(t, s)
	if _, err := admin.Execute(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{"text":"x"}`)}); err != nil {
		t.Fatal(err)
	}
	s.wants(s.Reload(), 0)

	found := map[string]string{} // what was looked at, by name
	for _, path := range []string{
		"/api/auth/keys", "/api/auth/agent-tokens", "/api/webhooks", "/api/webhooks/" + hook.ID, "/api/webhooks/" + hook.ID + "/deliveries", "/api/triggers",
		"/api/triggers/" + trigger.ID, "/api/patterns", "/api/executions", "/api/agents", "/api/runtimes", "/api/admin/plugins", "/api/audit", "/api/audit/export",
		"/api/metrics", "/api/health?detailed=true", "/api/openapi.json",
	} {
		if code, text := s.get(s.adminKey, path); code == http.StatusOK {
			found["GET "+path] = text
		} else {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	operator, err := os.ReadFile(filepath.Join(dir, "admin.token"))
	s.wants(err, 0)
	planted["the token of the admin socket"] = strings.TrimSpace(string(operator))
	local := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	for _, path := range []string{"/admin/status", "/admin/config", "/admin/recent-log", "/admin/debug/pprof/goroutine?debug=2"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://local"+path, nil)
		s.wants(err, 0)
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(operator)))
		resp, err := local.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, resp.StatusCode, err)
		}
		found["GET "+path] = string(text)
	}
	s.Close()
	found["the log"] = s.log.String()
	r.mu.Lock()
	for _, e := range r.events {
		found["the event "+e.ID] = string(e.Data)
	}
	r.mu.Unlock()
	found["a dump"] = dumped(t, filepath.Join(dir, "store"))
	err = filepath.WalkDir(filepath.Join(dir, "store"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "admin.key" { // which is for whoever installs it
			return err
		}
		text, err := os.ReadFile(path)
		found["the file "+d.Name()] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(planted) < 15 || len(found) < 20 {
		t.Errorf("%d secrets were planted, %d places looked at", len(planted), len(found))
	}
	for where, secret := range planted {
		for place, text := range found {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s has %s: ...%q", place, where, text[max(0, i-80):min(len(text), i+40)])
			}
		}
	}
}

// dumped returns the text of a dump of a store that no server has open.
func dumped(t *testing.T, dir string) string {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: dir, Logger: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var text bytes.Buffer
	if _, err := st.Dump(t.Context(), &text, nil); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
