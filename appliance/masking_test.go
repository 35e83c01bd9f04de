package appliance_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api/apitest"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/client"
)

// protect opens a server with keys, audit records of all there is, a webhook, and sections of security.
func protect(t *testing.T, r *receiver, sections string) *secured {
	t.Helper()
	s := &secured{t: t, dir: t.TempDir(), log: new(log)}
	s.config = filepath.Join(s.dir, "wardroom.yaml")
	text := "server: {listen: '127.0.0.1:0', environment: development}\nstore: {path: store}\nplugins: {dir: plugins}\nlog: {level: trace}\n" +
		fmt.Sprintf("webhooks: {regions: [{region: lab, hosts: [127.0.0.1]}], endpoints: [{url: %q, events: ['*'], secret: %s}]}\n", r.server.URL, hookSecret) +
		withKeys + "  audit: {enabled: true, level: verbose}\n" + sections
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	key, err := os.ReadFile(filepath.Join(s.dir, "store", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	s.adminKey = strings.TrimSpace(string(key))
	return s
}

// answering runs an agent that answers with its input until the test is over.
func answering(t *testing.T, s *secured) {
	t.Helper()
	_, key := s.key("worker", "agents:manage")
	worker, err := agent.New(agent.Options{
		URL: "http://" + s.Addr(), Token: key.Key, Name: "echo", Capabilities: []string{"echo"},
		Handler: func(_ context.Context, task *agent.Task) (any, error) { return map[string]any{"said": task.Input}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	coretest.WaitFor(t, "the agent to connect", worker.Connected)
}

// read returns the whole body of an answer as a key gets it.
func (s *secured) read(token, path string) string {
	s.t.Helper()
	code, text := s.get(token, path)
	if code != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, code, text)
	}
	return text
}

// get returns status and body of an answer.
func (s *secured) get(token, path string) (code int, text string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.Addr()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.send(token, req)
}

// send makes a request with a key.
func (s *secured) send(token string, req *http.Request) (code int, text string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(req.Context(), 30*time.Second)
	defer cancel()
	req.Header.Set("Authorization", "Bearer "+token)
	req.Close = true
	resp, err := http.DefaultClient.Do(req.WithContext(ctx))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// A field that is masked is in clear where it is stored, for agents, and for callers with the scope; and nowhere else.
func TestMasking(t *testing.T) {
	r := newReceiver(t)
	s := protect(t, r, `
  dataProtection:
    masking: {enabled: true, fields: [input.customer.iban, 'said.**.iban', misspelt.path, actor.userAgent]}
`)
	defer s.Close()
	const iban = "DE89-canary-0532"
	admin := s.client(s.adminKey)
	if text := s.log.String(); !strings.Contains(text, "path=input.customer.iban") {
		t.Errorf("a path that nothing is known of is not told: %s", text)
	}
	if _, err := admin.CreatePattern(t.Context(), client.PatternInput{Definition: echo + "input:\n  customer: {type: object}\n"}); err != nil {
		t.Fatal(err)
	}
	answering(t, s)
	runner, ofRunner := s.key("runner", "execute", "audit:read")
	_, ofReader := s.key("reader", "read", "data:unmasked")
	e, err := runner.Execute(t.Context(), client.ExecuteRequest{Pattern: "echo", Input: json.RawMessage(`{"customer":{"iban":"` + iban + `","city":"Bonn"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(e.Result); !strings.Contains(text, "Bonn") || !strings.Contains(text, `"iban":"***"`) {
		t.Errorf("the answer to who runs it: %s", text)
	}
	path := "/api/executions/" + e.ExecutionID
	for _, part := range []string{"", "/events", "/stream", "/timeline"} {
		masked, clear := s.read(ofRunner.Key, path+part), s.read(ofReader.Key, path+part)
		if strings.Contains(masked, iban) {
			t.Errorf("%s shows it: %s", path+part, masked)
		}
		if part != "/timeline" && (!strings.Contains(clear, iban) || !strings.Contains(s.read(s.adminKey, path+part), iban)) {
			t.Errorf("%s hides it from those who may see it: %s", path+part, clear)
		}
	}
	// So is it among the tasks of a step, and in its result.
	_, err = admin.CreatePattern(t.Context(), client.PatternInput{Definition: "name: stepped\nversion: 1.0.0\nsteps:\n  - {id: only, pattern: echo}\n"})
	if err != nil {
		t.Fatal(err)
	}
	stepped, err := runner.Execute(t.Context(), client.ExecuteRequest{Pattern: "stepped", Input: json.RawMessage(`{"customer":{"iban":"` + iban + `"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	stepPath := "/api/executions/" + stepped.ExecutionID + "/steps/only"
	if masked, clear := s.read(ofRunner.Key, stepPath), s.read(ofReader.Key, stepPath); strings.Contains(masked, iban) || !strings.Contains(masked, "***") || !strings.Contains(clear, iban) {
		t.Errorf("the step is %s, and in clear %s", masked, clear)
	}
	started := r.await(core.EventExecutionStarted, func(data map[string]any) bool { return data["executionId"] == e.ExecutionID })
	r.await(core.EventExecutionCompleted, nil)
	r.mu.Lock()
	for _, event := range r.events {
		if bytes.Contains(event.Data, []byte(iban)) {
			t.Errorf("a webhook delivers it: %s", event.Data)
		}
	}
	r.mu.Unlock()
	if customer := started["input"].(map[string]any)["customer"].(map[string]any); customer["iban"] != "***" || customer["city"] != "Bonn" {
		t.Errorf("the webhook got %v", customer)
	}
	records := s.read(s.adminKey, "/api/audit/export")
	if strings.Contains(records, iban) || strings.Contains(records, "Go-http-client") || !strings.Contains(records, "Bonn") {
		t.Errorf("the audit trail: %s", records)
	}
	if text := s.log.String(); strings.Contains(text, iban) {
		t.Errorf("the log: %s", text)
	}
	before := len(s.log.String())
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if text := s.log.String()[before:]; !strings.Contains(text, "path=misspelt.path") || strings.Contains(text, "path=input.customer") || strings.Contains(text, "said.") {
		t.Errorf("the paths that a reload knows nothing of: %s", text)
	}
	public, err := os.ReadFile(filepath.Join(s.dir, "store", "audit.pub"))
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := trail.ParsePublicKey(string(public))
	if err != nil {
		t.Fatal(err)
	}
	v := &trail.Verifier{Keys: []ed25519.PublicKey{trusted}}
	if err := trail.VerifyFile(strings.NewReader(records), v); err != nil || !v.Report().OK {
		t.Errorf("the masked trail does not verify: %+v, %v", v.Report(), err)
	}

	// Everything may be masked: what programs go by stays, and a reload is enough.
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("fields: [input.customer.iban, 'said.**.iban', misspelt.path, actor.userAgent]"), []byte("method: hash, fields: ['**']"), 1)
	if err := os.WriteFile(s.config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	got, err := runner.GetExecution(t.Context(), e.ExecutionID)
	if err != nil {
		t.Fatal(err)
	}
	if raw := string(got.Raw()); strings.Contains(raw, "Bonn") || strings.Contains(raw, iban) || got.ExecutionID != e.ExecutionID || got.Status != client.StatusCompleted ||
		!strings.Contains(string(got.Input), `"city":"hmac:`) {
		t.Errorf("everything masked: %s", raw)
	}
	// Every answer is still what the document of the API says.
	checked := &http.Client{Transport: apitest.Wrap(t, bearer{ofRunner.Key}, "http://"+s.Addr())}
	for _, path := range []string{
		"/api/executions", path, path + "/events", path + "/timeline", path + "/stream", "/api/questions", "/api/workspaces", "/api/audit", "/api/audit/status",
		"/api/overview", "/api/schedules", "/api/managed-threads", "/api/health",
	} {
		resp, err := checked.Get("http://" + s.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || bytes.Contains(body, []byte(iban)) {
			t.Errorf("%s: %s, %v", path, body, err)
		}
	}
	pattern, err := runner.GetPattern(t.Context(), "echo", "")
	if err == nil && strings.Contains(string(pattern.Definition), "hmac:") {
		t.Errorf("a definition is masked: %s", pattern.Definition)
	}
}

// bearer sends requests with a key, on connections of their own.
type bearer struct{ token string }

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token)
	req.Close = true
	return http.DefaultTransport.RoundTrip(req)
}

// What input validation does is told, and what it refuses is refused.
func TestInputValidation(t *testing.T) {
	s := protect(t, newReceiver(t), `
  inputValidation: {enabled: true, maxSize: 2KiB, allowedContentTypes: [application/json], sanitize: {html: true, scripts: true}}
`)
	defer s.Close()
	admin := s.client(s.adminKey)
	if _, err := admin.CreatePattern(t.Context(), client.PatternInput{Definition: echo}); err != nil {
		t.Fatal(err)
	}
	answering(t, s)
	const input = `{"text":"Hello <b>you</b><script>alert(1)</script>","n":1.50}`
	for _, tt := range []struct {
		name, contentType, body string
		want                    int
	}{
		{"sync", "application/json", `{"input":` + input + `}`, 200},
		{"with a charset", "application/json; charset=utf-8", `{"input":` + input + `}`, 200},
		{"too large", "application/json", `{"input":{"text":"` + strings.Repeat("x", 2048) + `"}}`, 413},
		{"a name with a tag", "application/json", `{"input":{"<script>":1}}`, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, body := s.post("/api/patterns/echo/execute", tt.contentType, tt.body)
			if code != tt.want {
				t.Fatalf("%d %s", code, body)
			}
			if tt.want == 200 && !strings.Contains(body, `"sanitized":[{"field":"input.text","removed":["html","scripts"]}]`) {
				t.Errorf("what was changed is not told: %s", body)
			}
		})
	}
	if code, body := s.post("/api/patterns", "application/x-yaml", echo); code != 415 || !strings.Contains(body, "allowedContentTypes") {
		t.Errorf("a type that is not allowed: %d %s", code, body)
	}
	code, body := s.post("/api/patterns/echo/execute?async=true", "application/json", `{"input":`+input+`}`)
	var accepted struct {
		ExecutionID string                  `json:"executionId"`
		Sanitized   []client.SanitizedField `json:"sanitized"`
	}
	if err := json.Unmarshal([]byte(body), &accepted); err != nil || code != 202 || len(accepted.Sanitized) != 1 {
		t.Fatalf("async: %d %s", code, body)
	}
	got, err := admin.GetExecution(t.Context(), accepted.ExecutionID)
	if err != nil || string(got.Input) != `{"text":"Hello you","n":1.50}` || len(got.Sanitized) != 1 {
		t.Errorf("%s, %v", got.Raw(), err)
	}
}

// post sends a body as the administrator.
func (s *secured) post(path, contentType, body string) (code int, answer string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.Addr()+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	return s.send(s.adminKey, req)
}

// The plan of a thread shows the memory as the list of experiences does.
func TestMaskedPlan(t *testing.T) {
	s := newSite(t, "{finish: {commit: true}}")
	first := s.spawn("echo hello", nil)
	s.await(first.ID, "the first turn", func(thread *client.Thread) bool { return thread.TurnCount == 1 })
	s.send(first.ID, `printf '\140\140\140wardroom\n{"state":"complete","summary":"The patient is called Canary Jones."}\n\140\140\140\n'`)
	s.await(first.ID, "the end", func(thread *client.Thread) bool { return thread.Status == client.ThreadCompleted })
	s.app.Close()
	text, err := os.ReadFile(s.file())
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.file(), string(text)+withKeys+"  dataProtection: {masking: {enabled: true, fields: [summary]}}\n")
	s.open()
	key, err := os.ReadFile(filepath.Join(s.dir, "store", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	plan := func(token string) string {
		c, err := client.New("http://"+s.app.Addr(), client.Options{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		s.api = c
		plan, err := c.PrepareThread(t.Context(), client.ThreadSpec{ExecutionID: client.NewExecution, Role: "maker", Objective: "Make another widget"})
		if err != nil {
			t.Fatal(err)
		}
		return string(plan.Body)
	}
	if admin := strings.TrimSpace(string(key)); !strings.Contains(plan(admin), "Canary Jones") {
		t.Error("it is masked for who may read it in clear")
	}
	made, err := s.api.CreateKey(t.Context(), client.APIKeySpec{Name: "reader", Scopes: []string{"executions:read"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := plan(made.Key); strings.Contains(got, "Canary Jones") || !strings.Contains(got, "***") {
		t.Errorf("%s", got)
	}
}
