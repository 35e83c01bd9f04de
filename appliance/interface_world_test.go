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
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api/apitest"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

// newInterfaceWorld starts servers, and has everything happen that the interface tells of.
func newInterfaceWorld(t *testing.T, headings map[string]bool) *interfaceWorld {
	t.Helper()
	w := &interfaceWorld{t: t, headings: headings, tests: map[string]map[string]bool{}, proved: map[string]error{}}
	settled, err := beside("design/decisions.md")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	w.settled = strings.Join(strings.Fields(settled), " ")
	w.root = cmd.New(cmd.Deps{})
	w.config = newConfigWorld(t)
	w.live()
	w.frames = newFrameWorld(t)
	w.runtimeServer()
	w.series = w.interfaceSeries()
	w.secured = openSecured(t, "  audit: {enabled: true}\n  rateLimit: {enabled: true}\n")
	return w
}

// live has executions, patterns and agents make every webhook event, one of whose deliveries is retried.
func (w *interfaceWorld) live() {
	w.t.Helper()
	var disk unix.Statfs_t
	if err := unix.Statfs(w.t.TempDir(), &disk); err != nil {
		w.t.Fatal(err)
	}
	r := newReceiver(w.t)
	app, _ := hooked(w.t, r, fmt.Sprintf("store: {path: DIR/store, minFree: %d}\n", disk.Bavail*uint64(disk.Bsize)*3/4))
	w.base, w.api = "http://"+app.Addr(), connect(w.t, app)
	w.readDocument()
	makeExecutions(w.t, app, w.api)
	makePatterns(w.t, w.api)
	makeAgents(w.t, app, w.api)
	w.runLate(app)
	for _, kind := range []core.EventType{
		core.EventExecutionStarted, core.EventExecutionCompleted, core.EventExecutionFailed, core.EventExecutionCancelled,
		core.EventAgentConnected, core.EventAgentUnhealthy, core.EventAgentDisconnected, core.EventPatternDeleted, core.EventSystemAlert,
	} {
		r.await(kind, nil)
	}
	r.await(core.EventAgentDisconnected, func(data map[string]any) bool { return data["graceful"] == false })
	w.retry(r)
	w.samples()
	r.mu.Lock()
	defer r.mu.Unlock()
	w.deliveries = r.deliveries
}

// readDocument reads the server's OpenAPI document.
func (w *interfaceWorld) readDocument() {
	w.t.Helper()
	status, _, root, err := w.call(w.base, "", http.MethodGet, "/api/openapi.json", "")
	if err != nil || status != http.StatusOK {
		w.t.Fatalf("%d %v", status, err)
	}
	w.doc = apitest.Contract{Root: root}
}

// runLate streams an execution, and has one run out of its time.
func (w *interfaceWorld) runLate(app *appliance.App) {
	w.t.Helper()
	worker, err := agent.New(agent.Options{
		URL: "http://" + app.Addr(), Name: "late", Capabilities: []string{"late"}, MaxConcurrentTasks: 4,
		Handler: func(ctx context.Context, task *agent.Task) (any, error) {
			if strings.Contains(string(task.Input), "wait") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return map[string]any{"said": "yes"}, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		<-done
	})
	coretest.WaitFor(w.t, "the agent to connect", worker.Connected)
	text := strings.NewReplacer("name: echo", "name: late", "[echo]", "[late]").Replace(echo)
	if _, err := w.api.CreatePattern(w.t.Context(), client.PatternInput{Definition: text}); err != nil {
		w.t.Fatal(err)
	}
	stream, err := w.api.ExecuteStream(w.t.Context(), client.ExecuteRequest{Pattern: "late", Input: json.RawMessage(`{"do":"it"}`)})
	if err != nil {
		w.t.Fatal(err)
	}
	defer stream.Close()
	w.stream = map[string]map[string]any{}
	for {
		event, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			w.t.Fatal(err)
		}
		var data map[string]any
		if err := json.Unmarshal(event.Data, &data); err != nil {
			w.t.Fatal(err)
		}
		w.stream[event.Type] = data
	}
	if status, _, answer, err := w.call(w.base, "", http.MethodPost, "/api/patterns/late/execute", `{"input":{"do":"wait"},"options":{"timeout":300}}`); err != nil ||
		status != http.StatusRequestTimeout {
		w.t.Errorf("an execution over its time: %d %v %v", status, answer, err)
	}
}

// retry has a delivery fail at first, and succeed when it is retried.
func (w *interfaceWorld) retry(r *receiver) {
	w.t.Helper()
	hooks, err := w.api.ListWebhooks(w.t.Context(), client.WebhookFilter{})
	if err != nil || len(hooks.Webhooks) != 1 {
		w.t.Fatalf("%+v, %v", hooks, err)
	}
	r.refuse.Store(true)
	if _, err := w.api.CreatePattern(w.t.Context(), client.PatternInput{Definition: strings.Replace(echo, "name: echo", "name: retried", 1)}); err != nil {
		w.t.Fatal(err)
	}
	var delivery string
	coretest.WaitFor(w.t, "the first attempt", func() bool {
		list, err := w.api.ListDeliveries(w.t.Context(), client.DeliveryFilter{WebhookID: hooks.Webhooks[0].ID})
		if err != nil {
			return false
		}
		for _, d := range list.Deliveries {
			if d.Event == string(core.EventPatternCreated) && d.StatusCode == http.StatusServiceUnavailable {
				delivery = d.ID
			}
		}
		return delivery != ""
	})
	r.refuse.Store(false)
	if _, err := w.api.RetryDelivery(w.t.Context(), hooks.Webhooks[0].ID, delivery, ""); err != nil {
		w.t.Fatal(err)
	}
	r.await(core.EventPatternCreated, func(data map[string]any) bool { return data["name"] == "retried" })
}

// samples has a made-up event of each type delivered.
func (w *interfaceWorld) samples() {
	w.t.Helper()
	hooks, err := w.api.ListWebhooks(w.t.Context(), client.WebhookFilter{})
	if err != nil {
		w.t.Fatal(err)
	}
	for kind := range eventFields {
		report, err := w.api.TestWebhook(w.t.Context(), hooks.Webhooks[0].ID, string(kind))
		if err != nil || report.Status != "succeeded" {
			w.t.Errorf("a sample of %s: %+v, %v", kind, report, err)
		}
	}
}

// runtimeServer has an agent of a runtime server make every event of /ws/events.
func (w *interfaceWorld) runtimeServer() {
	w.t.Helper()
	world := runtimetest.NewWorld()
	w.t.Cleanup(world.Close)
	server, err := runtimeserver.New(runtimeserver.Options{Runtime: world.Runtime()})
	if err != nil {
		w.t.Fatal(err)
	}
	listener := httptest.NewServer(server.Handler())
	w.t.Cleanup(listener.Close)
	ws, resp, err := websocket.DefaultDialer.DialContext(w.t.Context(), "ws"+strings.TrimPrefix(listener.URL, "http")+"/ws/events", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Body.Close()
	w.t.Cleanup(func() { _ = ws.Close() })
	must := func(want int, method, path, body string) map[string]any {
		w.t.Helper()
		status, _, answer, err := w.call(listener.URL, "", method, path, body)
		if err != nil || status != want {
			w.t.Fatalf("%s %s: %d %v %v", method, path, status, answer, err)
		}
		return answer
	}
	must(201, http.MethodPost, "/agents", `{"id":"a","type":"shell"}`)
	for _, message := range []string{"echo said", "login https://login.example/x"} {
		must(200, http.MethodPost, "/agents/a/send", `{"message":"`+message+`","expectResponse":true}`)
	}
	metrics := must(200, http.MethodGet, "/agents/a/metrics", "")
	must(200, http.MethodPost, "/agents/a/send", `{"message":"ask may I?"}`)
	w.sockets = map[string]map[string]any{"metrics": metrics}
	stopped := false
	_ = ws.SetReadDeadline(time.Now().Add(time.Minute))
	for w.sockets["agent_stopped"] == nil {
		var frame map[string]any
		if err := ws.ReadJSON(&frame); err != nil {
			w.t.Fatalf("after %v: %v", w.sockets, err)
		}
		name, _ := frame["event"].(string)
		if err := compareFields(frame, []string{"event:string", "data:object", "timestamp:time"}, false); err != nil {
			w.t.Errorf("%v: %v", frame, err)
		}
		w.sockets[name], _ = frame["data"].(map[string]any)
		if _, prompt := w.sockets["question"]["prompt"]; prompt && !stopped {
			stopped = true
			must(204, http.MethodDelete, "/agents/a", "")
		}
	}
}

// interfaceSeries are the series that the server shows, and those of a listener with a certificate.
func (w *interfaceWorld) interfaceSeries() map[string]*dto.MetricFamily {
	w.t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(w.request(http.MethodGet, "/api/metrics", ""))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	metrics.NewAccess(reg).WatchCertificate(func() (time.Duration, bool) { return time.Hour, true })
	families, err := reg.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		if byName[family.GetName()] == nil {
			byName[family.GetName()] = family
		}
	}
	return byName
}

func commandDeps(env map[string]string, stdout, stderr io.Writer) cmd.Deps {
	return cmd.Deps{
		Retention: appliance.Retention, Encryption: appliance.Encryption, Keys: appliance.OfflineKeys,
		AgentTokens: appliance.OfflineAgentTokens, Audit: appliance.OfflineAudit,
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Getenv: func(key string) string { return env[key] },
	}
}
