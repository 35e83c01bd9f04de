package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/api/apitest"
	"github.com/wardroom/wardroom/core/coretest"
)

// rig is a server over fakes, with a client that checks every answer against the OpenAPI document.
type rig struct {
	tb         testing.TB
	patterns   *fakePatterns
	drawings   *fakeDrawings
	executions *fakeExecutions
	batches    *fakeBatches
	agents     *fakeAgents
	managed    *fakeManaged
	plugins    *fakePlugins
	questions  *fakeQuestions
	overview   *fakeOverview
	threads    *fakeThreads
	memory     *fakeMemory
	workspaces *fakeWorkspaces
	webhooks   *fakeWebhooks
	schedules  *fakeSchedules
	triggers   *fakeTriggers
	apiKeys    *switchedKeys
	keys       *keys
	journal    *fakeJournal
	clock      *coretest.Clock
	log        *bytes.Buffer // read it only when no request is under way
	server     *api.Server
	http       *httptest.Server
	client     *http.Client
}

// testHosts are the hosts that package httptest and tests write into requests.
var testHosts = []string{"x", "example.com"}

func newRig(tb testing.TB, change ...func(*api.Options)) *rig {
	tb.Helper()
	r := &rig{
		tb: tb, patterns: &fakePatterns{}, drawings: &fakeDrawings{}, executions: &fakeExecutions{}, batches: &fakeBatches{},
		agents: &fakeAgents{}, managed: &fakeManaged{}, plugins: &fakePlugins{}, questions: &fakeQuestions{}, overview: &fakeOverview{},
		threads: &fakeThreads{}, memory: &fakeMemory{}, workspaces: &fakeWorkspaces{}, webhooks: &fakeWebhooks{}, schedules: &fakeSchedules{},
		triggers: &fakeTriggers{}, apiKeys: &switchedKeys{&fakeAPIKeys{}}, keys: newKeys(tb), journal: &fakeJournal{events: completedJournal(execID)},
		clock: coretest.NewClock(), log: &bytes.Buffer{},
	}
	o := api.Options{
		Patterns: r.patterns, Executions: r.executions, Timelines: r.executions, Batches: r.batches, Agents: r.agents,
		Idempotency: r.keys, Journal: r.journal, Gatherer: prometheus.NewRegistry(),
		ManagedAgents: r.managed, Questions: r.questions, Overview: r.overview,
		Parts: []api.Part{
			api.ServerLog(fakeServerLog{}), api.Secrets(fakeSecrets{}), api.Locations(fakeLocations{}), api.Schedules(r.schedules), api.Triggers(r.triggers),
			api.Erasures(fakeErasures{}), api.Compliance(fakeCompliance{}), api.Webhooks(r.webhooks), api.Plugins(r.plugins), api.Workspaces(r.workspaces),
			api.Keys(r.apiKeys), api.AgentTokens(&fakeAgentTokens{}),
		},
		PatternSchema: json.RawMessage(`{"type":"object"}`), Drawings: r.drawings,
		Threads: r.threads, Memory: r.memory,
		SignIn: signIn(&fakeSignIn{}), Audit: &fakeAudit{},
		AgentSocket: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusUpgradeRequired)
			_, _ = io.WriteString(w, `{"error":{"code":"VALIDATION_ERROR","message":"upgrade","details":{}},"requestId":"r"}`)
		}),
		Clock: r.clock, IDs: core.NewIDs(r.clock), Version: "1.2.3", Config: api.Config{Hosts: testHosts},
		Logger: hclog.New(&hclog.LoggerOptions{Output: r.log, Level: hclog.Debug}),
	}
	for _, f := range change {
		f(&o)
	}
	r.server = api.New(o)
	r.http = httptest.NewServer(r.server.Handler())
	transport := &http.Transport{}
	r.client = &http.Client{
		Transport:     apitest.Wrap(tb, transport, r.http.URL),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // pages lead elsewhere
	}
	tb.Cleanup(func() {
		r.server.Close()
		r.http.Close()
		transport.CloseIdleConnections()
	})
	return r
}

// reply is an answer with its body read.
type reply struct {
	status int
	header http.Header
	text   string
	json   map[string]any
}

// do sends a request. Headers are "Name: value"; a body without a Content-Type is JSON.
func (r *rig) do(method, path, body string, headers ...string) reply {
	r.tb.Helper()
	return r.send(r.request(method, path, body, headers...))
}

// doBeside is do beside the test, for any number of requests to one channel. Where no answer comes the test fails, and the reply
// is empty.
func (r *rig) doBeside(replies chan<- reply, method, path, body string, headers ...string) {
	req := r.request(method, path, body, headers...)
	go func() {
		out, err := r.try(req)
		if err != nil {
			r.tb.Error(err)
		}
		replies <- out
	}()
}

func (r *rig) request(method, path, body string, headers ...string) *http.Request {
	r.tb.Helper()
	req, err := http.NewRequest(method, r.http.URL+path, strings.NewReader(body))
	if err != nil {
		r.tb.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if value == "" {
			req.Header.Del(name)
		} else {
			req.Header.Set(name, value)
		}
	}
	return req
}

func (r *rig) send(req *http.Request) reply {
	r.tb.Helper()
	out, err := r.try(req)
	if err != nil {
		r.tb.Fatal(err)
	}
	return out
}

func (r *rig) try(req *http.Request) (reply, error) {
	resp, err := r.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	out := reply{status: resp.StatusCode, header: resp.Header, text: string(text)}
	_ = json.Unmarshal(text, &out.json)
	return out, nil
}

// at walks into a JSON object by keys.
func (p reply) at(keys ...string) any {
	var v any = p.json
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

// wants fails the test unless the reply has this status, and an error this code.
func (p reply) wants(tb testing.TB, status int, code core.Code) {
	tb.Helper()
	if p.status != status {
		tb.Fatalf("status %d, want %d: %s", p.status, status, p.text)
	}
	if got, _ := p.at("error", "code").(string); got != string(code) && status >= 300 {
		tb.Fatalf("code %q, want %q: %s", got, code, p.text)
	}
}
