package appliance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/webhook"
)

// eventFields are the fields of the data of each type, as the interface has them.
var eventFields = map[core.EventType][]string{
	core.EventExecutionStarted:   {"executionId", "input", "metadata", "pattern"},
	core.EventExecutionCompleted: {"agents", "duration", "executionId", "pattern", "result"},
	core.EventExecutionFailed:    {"agents", "duration", "error", "executionId", "pattern"},
	core.EventExecutionCancelled: {"duration", "executionId", "pattern", "reason"},
	core.EventAgentConnected:     {"agentId", "capabilities", "metadata", "name", "region"},
	core.EventAgentDisconnected:  {"agentId", "connectedDuration", "graceful", "name", "reason"},
	core.EventAgentUnhealthy:     {"agentId", "lastHeartbeat", "reason"},
	core.EventPatternCreated:     {"createdBy", "name", "version"},
	core.EventPatternUpdated:     {"name", "previousVersion", "updatedBy", "version"},
	core.EventPatternDeleted:     {"deletedBy", "name"},
	core.EventSystemAlert:        {"details", "message", "severity"},
}

// innerFields are those of the objects within, by the name of the field that holds them.
var innerFields = map[string][][]string{
	"pattern": {{"name", "version"}},
	"error":   {{"code", "message"}, {"code", "details", "message"}},
}

const hookSecret = "whsec_of-the-test"

// receiver keeps what webhooks deliver.
type receiver struct {
	t      *testing.T
	server *httptest.Server
	refuse atomic.Bool
	mu     sync.Mutex // guards what follows
	events []webhook.Event

	deliveries []interfaceDelivery // the requests that brought them
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t}
	r.server = httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) take(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the appliance ends
	}
	if r.refuse.Load() {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	e, err := webhook.Verify(hookSecret, req.Header, body, 0, time.Now())
	if err != nil {
		r.t.Errorf("a delivery does not verify: %v", err)
	}
	if got := req.Header.Get("User-Agent"); got != "Wardroom/1.2.3" {
		r.t.Errorf("the user agent is %q", got)
	}
	r.mu.Lock()
	r.events = append(r.events, e)
	r.deliveries = append(r.deliveries, interfaceDelivery{e, req.Method, req.Header.Clone(), body})
	r.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// of returns the events of a type for which ok holds; nil takes all.
func (r *receiver) of(kind core.EventType, ok func(data map[string]any) bool) []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []map[string]any
	for _, e := range r.events {
		var data map[string]any
		if e.Type != string(kind) {
			continue
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			r.t.Errorf("data of %s: %v", kind, err)
		}
		if ok == nil || ok(data) {
			list = append(list, data)
		}
	}
	return list
}

func (r *receiver) await(kind core.EventType, ok func(data map[string]any) bool) map[string]any {
	r.t.Helper()
	coretest.WaitFor(r.t, "an event "+string(kind), func() bool { return len(r.of(kind, ok)) > 0 })
	return r.of(kind, ok)[0]
}

// checkFields compares everything that came with the interface.
func (r *receiver) checkFields() {
	r.t.Helper()
	for kind, want := range eventFields {
		for _, data := range r.of(kind, nil) {
			if got := keys(data); !slices.Equal(got, want) {
				r.t.Errorf("%s has the fields %v, want %v", kind, got, want)
			}
			for name, forms := range innerFields {
				inner, ok := data[name].(map[string]any)
				if ok && !slices.ContainsFunc(forms, func(form []string) bool { return slices.Equal(keys(inner), form) }) {
					r.t.Errorf("%s of %s has the fields %v, want one of %v", name, kind, keys(inner), forms)
				}
			}
			for name, value := range data {
				if value == nil && name != "result" {
					r.t.Errorf("%s of %s is null", name, kind)
				}
			}
			if list, ok := data["agents"].([]any); ok && kind == core.EventExecutionFailed {
				for _, entry := range list {
					if of, ok := entry.(map[string]any); !ok || of["id"] == nil || of["status"] == nil {
						r.t.Errorf("an agent of %s is %v", kind, entry)
					}
				}
			}
		}
	}
}

func keys(m map[string]any) []string {
	var list []string
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// hooked starts an appliance that delivers everything to a receiver.
func hooked(t *testing.T, r *receiver, more string) (*appliance.App, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "wardroom.yaml")
	t.Setenv("HOOK_SECRET", hookSecret)
	write(t, file, fmt.Sprintf(`
server: {listen: "127.0.0.1:0", environment: development}
engine: {taskRetries: 0}
agents: {heartbeatInterval: 1s, unhealthyAfter: 1, disconnectAfter: 2, resumeGrace: 100ms}
webhooks: {endpoints: [{url: %q, events: ["*"], secret: "${HOOK_SECRET}"}]}
%s`, r.server.URL, strings.ReplaceAll(more, "DIR", dir)))
	return open(t, appliance.Options{ConfigPath: file, Version: "1.2.3"}), file
}

// Every event happens, reaches the receiver, and has the fields of its type.
func TestEventFields(t *testing.T) {
	r := newReceiver(t)
	var disk unix.Statfs_t
	if err := unix.Statfs(t.TempDir(), &disk); err != nil {
		t.Fatal(err)
	}
	// The budget of free space is chosen so that what there is counts as low.
	a, _ := hooked(t, r, fmt.Sprintf("store: {path: DIR/store, minFree: %d}\n", disk.Bavail*uint64(disk.Bsize)*3/4))
	api := connect(t, a)
	makeExecutions(t, a, api)
	makePatterns(t, api)
	makeAgents(t, a, api)
	named := func(name string) func(map[string]any) bool {
		return func(data map[string]any) bool { return data["name"] == name }
	}
	r.await(core.EventExecutionCompleted, nil)
	r.await(core.EventExecutionFailed, func(data map[string]any) bool { return len(data["agents"].([]any)) == 0 })
	r.await(core.EventExecutionFailed, func(data map[string]any) bool { return len(data["agents"].([]any)) == 1 })
	if got := r.await(core.EventExecutionCancelled, nil); got["reason"] != "not needed" {
		t.Errorf("cancelled: %v", got)
	}
	if got := r.await(core.EventPatternUpdated, named("short-lived")); got["previousVersion"] != "1.0.0" || got["version"] != "1.1.0" {
		t.Errorf("updated: %v", got)
	}
	r.await(core.EventPatternCreated, named("short-lived"))
	r.await(core.EventPatternDeleted, named("short-lived"))
	if got := r.await(core.EventAgentConnected, named("silent")); got["region"] != "eu" || got["metadata"].(map[string]any)["model"] != "m" {
		t.Errorf("connected: %v", got)
	}
	r.await(core.EventAgentUnhealthy, nil)
	r.await(core.EventAgentDisconnected, func(data map[string]any) bool { return data["name"] == "silent" && data["graceful"] == false })
	r.await(core.EventAgentDisconnected, func(data map[string]any) bool { return data["name"] == "asked to go" && data["graceful"] == true })
	alert := r.await(core.EventSystemAlert, func(data map[string]any) bool { return strings.Contains(data["message"].(string), "low on space") })
	if alert["severity"] != "warning" || alert["details"].(map[string]any)["minFreeBytes"] == nil {
		t.Errorf("alert: %v", alert)
	}
	if got := len(r.of(core.EventSystemAlert, nil)); got != 1 {
		t.Errorf("%d alerts for one shortage", got)
	}
	r.checkFields()
}

// makeExecutions has one complete, one fail at its agent, one fail without agents, and one be cancelled.
func makeExecutions(t *testing.T, a *appliance.App, api *client.Client) {
	t.Helper()
	worker, err := agent.New(agent.Options{
		URL: "http://" + a.Addr(), Name: "worker", Capabilities: []string{"echo"},
		Handler: func(ctx context.Context, task *agent.Task) (any, error) {
			switch {
			case strings.Contains(string(task.Input), "fail"):
				return nil, errors.New("as asked")
			case strings.Contains(string(task.Input), "wait"):
				<-ctx.Done()
				return nil, ctx.Err()
			}
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
	for name, capability := range map[string]string{"echo": "echo", "lonely": "nobody"} {
		text := strings.Replace(strings.Replace(echo, "name: echo", "name: "+name, 1), "[echo]", "["+capability+"]", 1)
		if _, err := api.CreatePattern(t.Context(), client.PatternInput{Definition: text}); err != nil {
			t.Fatal(err)
		}
	}
	for _, run := range []struct{ pattern, input, status string }{
		{"echo", `{"do":"it"}`, client.StatusCompleted}, {"echo", `{"do":"fail"}`, client.StatusFailed}, {"lonely", `{}`, client.StatusFailed},
	} {
		e, err := api.ExecuteAsync(t.Context(), client.ExecuteRequest{
			Pattern: run.pattern, Input: json.RawMessage(run.input),
			Options: client.ExecuteOptions{Metadata: map[string]any{"team": "blue"}, Timeout: 5 * time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		coretest.WaitFor(t, "the end of "+run.pattern, func() bool {
			got, err := api.GetExecution(t.Context(), e.ExecutionID)
			return err == nil && string(got.Status) == run.status
		})
	}
	e, err := api.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "echo", Input: json.RawMessage(`{"do":"wait"}`)})
	if err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "it to run", func() bool {
		got, err := api.GetExecution(t.Context(), e.ExecutionID)
		return err == nil && got.Status == client.StatusRunning
	})
	if _, err := api.CancelExecution(t.Context(), e.ExecutionID, "not needed"); err != nil {
		t.Fatal(err)
	}
}

func makePatterns(t *testing.T, api *client.Client) {
	t.Helper()
	text := strings.Replace(echo, "name: echo", "name: short-lived", 1)
	if _, err := api.CreatePattern(t.Context(), client.PatternInput{Definition: text}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.UpdatePattern(t.Context(), "short-lived", client.PatternInput{Definition: strings.Replace(text, "1.0.0", "1.1.0", 1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.DeletePattern(t.Context(), "short-lived", ""); err != nil {
		t.Fatal(err)
	}
}

// makeAgents has one agent fall silent, and one sent away.
func makeAgents(t *testing.T, a *appliance.App, api *client.Client) {
	t.Helper()
	register(t, a, protocol.Register{Name: "silent", Capabilities: []string{"x"}, Region: "eu", Metadata: map[string]any{"model": "m"}})
	id := register(t, a, protocol.Register{Name: "asked to go", Capabilities: []string{"x"}})
	if _, err := api.DisconnectAgent(t.Context(), id, "enough"); err != nil {
		t.Fatal(err)
	}
}

// register connects an agent that says nothing from then on, and returns its id.
func register(t *testing.T, a *appliance.App, payload protocol.Register) string {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}}
	ws, resp, err := dialer.DialContext(t.Context(), "ws://"+a.Addr()+protocol.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	t.Cleanup(func() { _ = ws.Close() })
	raw, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.WriteJSON(protocol.Envelope{Type: protocol.TypeRegister, ID: "r", Timestamp: time.Now(), Payload: raw}); err != nil {
		t.Fatal(err)
	}
	var frame protocol.Envelope
	var registered protocol.Registered
	if err := ws.ReadJSON(&frame); err != nil || frame.Type != protocol.TypeRegistered {
		t.Fatalf("instead of registered: %+v, %v", frame, err)
	}
	if err := json.Unmarshal(frame.Payload, &registered); err != nil {
		t.Fatal(err)
	}
	return registered.AgentID
}

// The events of ad-hoc executions have the same fields.
func TestEventFieldsOfThreads(t *testing.T) {
	r := newReceiver(t)
	s := newSite(t, "{}")
	write(t, filepath.Join(mustDir(t, filepath.Join(s.dir, "conf.d")), "hooks.yaml"), fmt.Sprintf(
		"server: {environment: development}\nwebhooks: {endpoints: [{url: %q, events: ['*'], secret: %s}]}\n", r.server.URL, hookSecret))
	s.restart()
	done := s.spawn(`printf '\140\140\140wardroom\n{"state":"complete","summary":"done"}\n\140\140\140\n'`, nil)
	s.await(done.ID, "its end", func(thread *client.Thread) bool { return client.Terminal(thread.Status) })
	gone := s.spawn("ask shall we?", nil)
	if _, err := s.api.CancelExecution(t.Context(), gone.ExecutionID, "no"); err != nil {
		t.Fatal(err)
	}
	r.await(core.EventExecutionStarted, nil)
	r.await(core.EventExecutionCompleted, nil)
	r.await(core.EventExecutionCancelled, nil)
	s.app.Close()
	r.checkFields()
}

// Endpoints of the configuration come, change and go on a reload, and deliveries outlive the process.
func TestDeclaredWebhooks(t *testing.T) {
	r := newReceiver(t)
	a, file := hooked(t, r, "store: {path: DIR/store}\n")
	api := connect(t, a)
	list, err := api.ListWebhooks(t.Context(), client.WebhookFilter{})
	if err != nil || len(list.Webhooks) != 1 || !list.Webhooks[0].Declared || list.Webhooks[0].URL != r.server.URL {
		t.Fatalf("webhooks %+v, %v", list, err)
	}
	if err := api.DeleteWebhook(t.Context(), list.Webhooks[0].ID); core.ErrorCode(err) == "" || !strings.Contains(err.Error(), "configuration") {
		t.Errorf("a declared one was deleted: %v", err)
	}
	makePatterns(t, api)
	r.await(core.EventPatternDeleted, nil)
	r.refuse.Store(true)
	makePatterns(t, api)
	coretest.WaitFor(t, "three deliveries to wait", func() bool {
		metrics := scrape(t, a)
		return strings.Contains(metrics, "service_webhook_deliveries_pending 3") && strings.Contains(metrics, `service_webhook_attempts_total{answer="5xx"} 3`)
	})

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.Replace(string(text), "webhooks:", "streams: {heartbeat: 20s}\nwebhooks_:", 1))
	if err := a.Reload(); err == nil {
		t.Error("a bad file was taken over")
	}
	before, _, _ := strings.Cut(string(text), "webhooks:")
	_, store, _ := strings.Cut(string(text), "]}\n")
	write(t, file, before+store)
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	if list, err = api.ListWebhooks(t.Context(), client.WebhookFilter{}); err != nil || len(list.Webhooks) != 0 {
		t.Errorf("after a reload without it: %+v, %v", list, err)
	}
	metrics := scrape(t, a)
	if !strings.Contains(metrics, `service_webhook_attempts_total{answer="2xx"} 3`) || !strings.Contains(metrics, "service_webhook_behind_seconds 0") {
		t.Errorf("metrics:\n%s", metrics)
	}
}

func scrape(t *testing.T, a *appliance.App) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + a.Addr() + "/api/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRefusedEndpoints: of endpoints that cannot be, a start and a reload name each, with file, line and key.
func TestRefusedEndpoints(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "wardroom.yaml")
	good := fmt.Sprintf("server: {listen: '127.0.0.1:0'}\nstore: {path: %s, minFree: 64MiB}\n", filepath.Join(dir, "store"))
	bad := good + "# a comment\nwebhooks:\n  endpoints:\n" +
		"    - {url: 'https://127.0.0.1/a', events: ['*'], secret: " + hookSecret + "}\n" +
		"    - {url: 'https://localhost/b', events: ['*'], secret: " + hookSecret + "}\n"
	wants := func(when string, err error) {
		t.Helper()
		for _, want := range []string{file + ":6: webhooks.endpoints[0].url: must not lead to 127.0.0.1", file + ":7: webhooks.endpoints[1].url: must not name this machine"} {
			if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q: %v", when, want, err)
			}
		}
	}
	write(t, file, bad)
	a, err := appliance.New(appliance.Options{ConfigPath: file, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	wants("start", a.Open(t.Context()))
	a.Close()
	write(t, file, good)
	a = open(t, appliance.Options{ConfigPath: file, Version: "1.2.3"})
	write(t, file, bad)
	wants("reload", a.Reload())
}
