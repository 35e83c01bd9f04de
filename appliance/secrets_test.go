package appliance_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/webhook"
)

const secretPattern = `name: keyed
version: 1.0.0
agents: {capabilities: [echo]}
config: {password: "secrets-drawer:db#password", mode: plain}
aggregation: {strategy: first}
output: {said: $first.said}
`

// seen is what agents and receivers were given.
type seen struct {
	mu   sync.Mutex // guards list
	list []string
}

func (s *seen) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, text)
}

func (s *seen) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.list {
		if one == text {
			return true
		}
	}
	return false
}

// Secrets of a plugin reach agents and signatures, those of the moment, and nothing else: neither log, nor store, nor answers
// hold one.
func TestSecrets(t *testing.T) {
	dir, canary := t.TempDir(), "canary-8c1f-"
	put := func(generation string) {
		data, err := json.Marshal(map[string]string{"password": canary + "password-" + generation, "hook": canary + "hook-" + generation})
		if err != nil {
			t.Fatal(err)
		}
		temp := filepath.Join(dir, "temp")
		write(t, temp, string(data))
		if err := os.Rename(temp, filepath.Join(dir, "db.json")); err != nil {
			t.Fatal(err)
		}
	}
	put("1")
	plugins := filepath.Join(dir, "bin")
	binary := filepath.Join(plugins, "secrets-drawer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./testdata/secrets-drawer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)

	var signed, given seen
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if bytes.Contains(body, []byte(canary)) {
			t.Error("an event holds a secret")
		}
		for _, generation := range []string{"1", "2"} {
			if _, err := webhook.Verify(canary+"hook-"+generation, req.Header, body, 0, time.Now()); err == nil {
				signed.add(generation)
			}
		}
	}))
	defer receiver.Close()

	file, written := filepath.Join(dir, "wardroom.yaml"), &log{}
	write(t, file, fmt.Sprintf(`
server: {listen: "127.0.0.1:0", environment: development}
store: {path: store}
log: {level: trace}
plugins:
  dir: %q
  secrets-drawer: {kind: secret, sha256: %s, config: {directory: %q}}
security: {secrets: {refresh: 1s}}
webhooks: {endpoints: [{url: %q, events: ["*"], secret: "secrets-drawer:db#hook"}]}
`, plugins, hex.EncodeToString(sum[:]), dir, receiver.URL))
	a := open(t, appliance.Options{ConfigPath: file, Version: "1.2.3", Stderr: written})
	api := connect(t, a)
	worker, err := agent.New(agent.Options{
		URL: "http://" + a.Addr(), Name: "echo", Capabilities: []string{"echo"},
		Handler: func(_ context.Context, task *agent.Task) (any, error) {
			var config struct{ Password, Mode string }
			if err := task.BindConfig(&config); err != nil {
				return nil, err
			}
			given.add(config.Mode + " " + config.Password)
			return map[string]any{"said": "yes"}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	coretest.WaitFor(t, "the agent to connect", worker.Connected)
	if _, err := api.CreatePattern(t.Context(), client.PatternInput{Definition: secretPattern}); err != nil {
		t.Fatal(err)
	}
	unknown := strings.NewReplacer("name: keyed", "name: other", "secrets-drawer:", "vault:").Replace(secretPattern)
	if _, err := api.CreatePattern(t.Context(), client.PatternInput{Definition: unknown}); err == nil || !strings.Contains(err.Error(), "vault:db#password") {
		t.Errorf("a pattern with a provider that is not configured: %v", err)
	}
	var answers strings.Builder
	run := func() {
		t.Helper()
		e, err := api.Execute(t.Context(), client.ExecuteRequest{Pattern: "keyed", Input: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		answers.Write(e.Raw())
	}
	run()
	if !given.has("plain " + canary + "password-1") {
		t.Error("the agent was not given the secret")
	}
	coretest.WaitFor(t, "a signature by the secret", func() bool { return signed.has("1") })

	put("2")
	coretest.WaitFor(t, "the new secrets", func() bool {
		run()
		return given.has("plain "+canary+"password-2") && signed.has("2")
	})

	test, err := api.TestSecret(t.Context(), "secrets-drawer:db#password")
	if err != nil || !test.Resolves || test.Size != "16 to 63 bytes" {
		t.Errorf("%+v, %v", test, err)
	}
	answers.Write(test.Raw())
	if test, err = api.TestSecret(t.Context(), "secrets-drawer:db#nothing"); err != nil || test.Resolves || test.Code != "NOT_FOUND" {
		t.Errorf("%+v, %v", test, err)
	}
	providers, err := api.ListSecretProviders(t.Context())
	if err != nil || providers.Total != 4 || providers.Providers[3].Name != "secrets-drawer" || providers.Providers[3].Secrets != 2 {
		t.Errorf("%+v, %v", providers, err)
	}
	list, err := api.ListPlugins(t.Context())
	if err != nil || len(list.Plugins) != 1 || list.Plugins[0].Reason != "" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, show := range []func() (interface{ Raw() json.RawMessage }, error){
		func() (interface{ Raw() json.RawMessage }, error) {
			return api.ListWebhooks(t.Context(), client.WebhookFilter{})
		},
		func() (interface{ Raw() json.RawMessage }, error) { return api.GetPattern(t.Context(), "keyed", "") },
	} {
		shown, err := show()
		if err != nil {
			t.Fatal(err)
		}
		answers.Write(shown.Raw())
	}

	// While the drawer is shut, what is known stays in use.
	if err := os.Rename(filepath.Join(dir, "db.json"), filepath.Join(dir, "away.json")); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the provider to be degraded", func() bool {
		providers, err := api.ListSecretProviders(t.Context())
		return err == nil && providers.Providers[3].Status == "degraded"
	})
	run()
	a.Close()

	if strings.Contains(answers.String(), canary) {
		t.Error("an answer holds a secret")
	}
	if text := written.String(); strings.Contains(text, canary) || !strings.Contains(text, "secret changed") {
		t.Error("the log holds a secret, or does not tell of the change")
	}
	err = filepath.WalkDir(filepath.Join(dir, "store"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A provider whose program ends at once keeps nothing from starting: who needs a secret of it gets an error with the reference,
// and everything else runs.
func TestProviderThatNeverStarts(t *testing.T) {
	dir := t.TempDir()
	plugins := filepath.Join(dir, "bin")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	program := []byte("#!/bin/sh\necho the license is missing >&2\nexit 3\n")
	if err := os.WriteFile(filepath.Join(plugins, "secrets-gone"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	file, written := filepath.Join(dir, "wardroom.yaml"), &log{}
	write(t, file, fmt.Sprintf(`
server: {listen: "127.0.0.1:0", environment: development}
store: {path: store}
plugins:
  dir: %q
  secrets-gone: {kind: secret, sha256: %s}
security: {secrets: {timeout: 500ms}}
`, plugins, hex.EncodeToString(sum[:])))
	a := open(t, appliance.Options{ConfigPath: file, Version: "1.2.3", Stderr: written})
	defer a.Close()
	api := connect(t, a)
	worker, err := agent.New(agent.Options{
		URL: "http://" + a.Addr(), Name: "echo", Capabilities: []string{"echo"},
		Handler: func(context.Context, *agent.Task) (any, error) { return map[string]any{"said": "yes"}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	coretest.WaitFor(t, "the agent to connect", worker.Connected)
	needs := strings.ReplaceAll(secretPattern, "secrets-drawer", "secrets-gone")
	without := strings.NewReplacer("name: keyed", "name: plain", `password: "secrets-drawer:db#password", `, "").Replace(secretPattern)
	for _, text := range []string{needs, without} {
		if _, err := api.CreatePattern(t.Context(), client.PatternInput{Definition: text}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.Execute(t.Context(), client.ExecuteRequest{Pattern: "plain", Input: json.RawMessage(`{}`)}); err != nil {
		t.Errorf("what needs no secret: %v", err)
	}
	failed, err := api.Execute(t.Context(), client.ExecuteRequest{Pattern: "keyed", Input: json.RawMessage(`{}`)})
	if err != nil || failed.Status != "failed" || !strings.Contains(string(failed.Raw()), "secrets-gone:db#password") {
		t.Errorf("what needs one: %s, %v", failed.Raw(), err)
	}
	test, err := api.TestSecret(t.Context(), "secrets-gone:db#password")
	if err != nil || test.Resolves || test.Code == "" || test.Reason == "" {
		t.Errorf("%+v, %v", test, err)
	}
	list, err := api.ListSecretProviders(t.Context())
	if err != nil || len(list.Providers) != 4 || list.Providers[3].Status == "ok" {
		t.Errorf("%+v, %v", list, err)
	}
	plugin, err := api.GetPlugin(t.Context(), "secrets-gone")
	if err != nil || plugin.State == "ready" || !strings.Contains(plugin.Reason, "license") {
		t.Errorf("%+v, %v", plugin, err)
	}
}
