package appliance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/configs"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtimetest"
	"github.com/wardroom/wardroom/sdk/wire"

	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
)

// openWithRuntime starts a server whose callers need keys, with a runtime whose agents do nothing.
func openWithRuntime(t *testing.T, security string) *secured {
	t.Helper()
	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	handler, err := runtimeserver.New(runtimeserver.Options{Runtime: world.Runtime()})
	if err != nil {
		t.Fatal(err)
	}
	runtime := httptest.NewServer(handler.Handler())
	t.Cleanup(runtime.Close)
	s := &secured{t: t, dir: t.TempDir(), log: new(log)}
	s.config = filepath.Join(s.dir, "wardroom.yaml")
	text := fmt.Sprintf("server: {listen: '127.0.0.1:0'}\nstore: {path: store}\nplugins: {dir: plugins}\nruntimes: {local: {url: %q, required: true}}\n"+
		"security:\n  authentication: {apiKeys: {enabled: true}}\n%s", runtime.URL, security)
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

// terminal opens the terminal of an agent; a refusal is returned by its status.
func (s *secured) terminal(c *client.Client, agent string) (*websocket.Conn, int) {
	s.t.Helper()
	address, header := c.TerminalRequest(agent)
	conn, resp, err := websocket.DefaultDialer.DialContext(s.t.Context(), strings.Replace(address, "http", "ws", 1), header)
	if err != nil && resp == nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err == nil {
		s.t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, resp.StatusCode
}

// events opens the stream of all events; the answer is closed at the end of the test at the latest.
func (s *secured) events(token string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.Addr()+"/api/events", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// Somebody who opens what lasts without end gets no more than their part, others get theirs, and what ends makes room.
func TestOpenLimits(t *testing.T) {
	s := openWithRuntime(t, "  rateLimit:\n    enabled: true\n    perClient: {requestsPerSecond: 10000, burstSize: 10000}\n"+
		"    open: {streams: 1, terminals: 1, agents: 1, executions: 2}\n")
	ctx := t.Context()
	_, err := s.client(s.adminKey).CreatePattern(ctx, client.PatternInput{Definition: echo, Name: "echo"})
	s.wants(err, 0)
	ann, annKey := s.key("ann", "read", "execute", "agents:manage")
	bob, bobKey := s.key("bob", "read", "execute", "agents:manage")

	first := s.events(annKey.Key)
	second := s.events(annKey.Key)
	if first.StatusCode != 200 || second.StatusCode != 429 || second.Header.Get("Retry-After") == "" {
		t.Errorf("streams: %d, then %d %v", first.StatusCode, second.StatusCode, second.Header)
	}
	if other := s.events(bobKey.Key); other.StatusCode != 200 {
		t.Errorf("the stream of another: %d", other.StatusCode)
	}
	_ = first.Body.Close()
	coretest.WaitFor(t, "room for a stream", func() bool { return s.events(annKey.Key).StatusCode == 200 })

	agent, err := ann.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: runtimetest.Type, Name: "one"})
	s.wants(err, 0)
	if _, status := s.terminal(ann, agent.ID); status != 101 {
		t.Fatalf("a terminal: %d", status)
	}
	if _, status := s.terminal(ann, agent.ID); status != 429 {
		t.Errorf("a second terminal: %d", status)
	}
	if _, status := s.terminal(bob, agent.ID); status != 101 {
		t.Errorf("the terminal of another: %d", status)
	}

	for range 2 {
		_, err = ann.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
		s.wants(err, 0)
	}
	_, err = ann.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 429)
	_, err = ann.StartBatch(ctx, client.BatchRequest{Pattern: "echo", Inputs: []json.RawMessage{json.RawMessage(`{}`)}})
	s.wants(err, 429)
	var limited *client.Error
	if !errors.As(err, &limited) || limited.Code != string(core.CodeRateLimited) {
		t.Errorf("%v", err)
	}
	_, err = bob.StartBatch(ctx, client.BatchRequest{Pattern: "echo", Inputs: []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`{}`)}})
	s.wants(err, 0)

	worker, _ := s.runs(annKey.Key, "worker", "other")
	coretest.WaitFor(t, "an agent", worker.Connected)
	_, ended := s.runs(annKey.Key, "worker-2", "other")
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "RATE_LIMITED") && !strings.Contains(err.Error(), "429") {
			t.Errorf("a second agent: %v", err)
		}
	case <-time.After(2 * time.Second): // the library tries again as long as it is refused for a limit
		list, err := s.client(s.adminKey).ListAgents(ctx, client.AgentFilter{Status: "connected"})
		s.wants(err, 0)
		if len(list.Agents) != 1 {
			t.Errorf("%d agents are connected", len(list.Agents))
		}
	}
}

// A terminal whose key is revoked ends within five seconds, and another's goes on.
func TestWithdrawnTerminal(t *testing.T) {
	s := openWithRuntime(t, "")
	ctx := t.Context()
	ann, annKey := s.key("ann", "read", "agents:manage")
	bob, _ := s.key("bob", "read")
	agent, err := ann.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: runtimetest.Type, Name: "one"})
	s.wants(err, 0)
	open := func(c *client.Client) <-chan struct{} {
		conn, status := s.terminal(c, agent.ID)
		if status != 101 {
			t.Fatalf("a terminal: %d", status)
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			for {
				if _, _, err := conn.ReadMessage(); err != nil {
					return
				}
			}
		}()
		return over
	}
	mine, other := open(ann), open(bob)
	began := time.Now()
	s.wants(s.client(s.adminKey).RevokeKey(ctx, annKey.ID), 0)
	<-mine
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it ended after %v", took)
	}
	select {
	case <-other:
		t.Error("the terminal of another ended")
	default:
	}
}

// Text of a caller reaches neither the headers of answers nor another line of the log.
func TestInjection(t *testing.T) {
	s := openSecured(t, "")
	for _, hostile := range []string{"a%0d%0aSet-Cookie:%20x=1", "a%0aINFO%20forged", "%1b%5d0;owned%07", "a%00b", "%e2%80%ae", "..%2f..%2fetc%2fpasswd"} {
		for _, path := range []string{"/api/patterns/" + hostile, "/api/executions/" + hostile, "/api/keys/" + hostile, "/auth/login?returnTo=" + hostile, "/" + hostile} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+s.adminKey)
			req.Header.Set("User-Agent", "x\x1b]0;owned\x07")
			req.Header.Set("X-Request-Id", "r\x1b[2J")
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			if err != nil {
				if strings.Contains(err.Error(), "invalid header") {
					req.Header.Del("User-Agent")
					req.Header.Del("X-Request-Id")
					resp, err = (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			_ = resp.Body.Close()
			for name, values := range resp.Header {
				for _, value := range values {
					if strings.ContainsAny(value, "\r\n\x1b\x07\x00") || strings.Contains(value, "x=1") && name == "Set-Cookie" {
						t.Errorf("%s: the header %s is %q", path, name, value)
					}
				}
			}
			if resp.StatusCode >= 500 {
				t.Errorf("%s: %d", path, resp.StatusCode)
			}
		}
	}
	for line := range strings.Lines(s.log.String()) {
		if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\r\x1b\x07\x00") || strings.HasPrefix(line, "INFO forged") {
			t.Errorf("the log has the line %q", line)
		}
	}
}

// What the package installs wants a credential and a role from everybody, bounds how often they ask and records what they do. The
// first start leaves a key for whoever owns the machine, and keys that are made with it do what they are for.
func TestPackagedConfiguration(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "wardroom.yaml")
	write(t, path, strings.NewReplacer("/var/lib/wardroom", filepath.Join(dir, "store"), "127.0.0.1:8080", "127.0.0.1:0").Replace(string(configs.Packaged)))
	s := &secured{t: t, dir: dir, config: path, log: new(log)}
	s.App = open(t, appliance.Options{ConfigPath: path, Version: "1.2.3", Stderr: s.log})
	if status, text := s.ask("", http.MethodGet, "/api/patterns"); status != 401 {
		t.Errorf("without a credential: %d %s", status, text)
	}
	first := filepath.Join(dir, "store", "admin.key")
	key, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(first); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	s.adminKey = strings.TrimSpace(string(key))
	admin, ctx := s.client(s.adminKey), t.Context()
	who, err := admin.GetSession(ctx)
	s.wants(err, 0)
	if !slices.Equal(who.Roles, []string{"admin"}) || !slices.Contains(who.Actions, "keys.grant") {
		t.Errorf("the first key: %+v", who.Session)
	}

	// Roles: a key for something may do that, and nothing else, and its answer says by which role.
	_, err = admin.CreatePattern(ctx, client.PatternInput{Definition: echo, Name: "echo"})
	s.wants(err, 0)
	ci, made := s.key("ci", "execute")
	if !slices.Equal(made.Roles, []string{"developer"}) || made.Warning != "" {
		t.Errorf("a key that executes: %+v", made.NewAPIKey)
	}
	begun, err := ci.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 0)
	_, err = ci.CreatePattern(ctx, client.PatternInput{Definition: echo, Name: "echo"})
	s.wants(err, 403) // its role could, its scopes do not
	reader, made := s.key("reader", "read")
	if len(made.Roles) != 0 || made.Warning != "" {
		t.Errorf("a key that reads has the default role: %+v", made.NewAPIKey)
	}
	_, err = reader.GetExecution(ctx, begun.ExecutionID)
	s.wants(err, 0)
	cut, err := admin.CreateKey(ctx, client.APIKeySpec{Name: "cut", Scopes: []string{"read", "execute"}, Roles: []string{"viewer"}}, "")
	s.wants(err, 0)
	if !strings.Contains(cut.Warning, "execute") || strings.Contains(cut.Warning, "read") || !slices.Equal(cut.Roles, []string{"viewer"}) {
		t.Errorf("a key with more scopes than its role grants: %+v", cut.NewAPIKey)
	}
	_, err = s.client(cut.Key).ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 403)

	// Limits: those of the interface, for each client by itself.
	for status, sent := 0, 1; status != 429; sent++ { // what comes back meanwhile is let through as well
		if status, _ = s.ask(made.Key, http.MethodPost, "/api/patterns/echo/execute"); status == 429 && sent <= 100 || sent > 500 {
			t.Fatalf("execution %d: %d", sent, status)
		}
	}
	_, err = ci.GetExecution(ctx, begun.ExecutionID)
	s.wants(err, 0)

	// The trail has what was done, and what was refused.
	for action, outcome := range map[string]string{"keys.create": "success", "patterns.create": "denied", "executions.create": "success"} {
		coretest.WaitFor(t, "the record of "+action, func() bool {
			_, text := s.ask(s.adminKey, http.MethodGet, "/api/audit?action="+action+"&outcome="+outcome)
			return strings.Contains(text, `"action":"`+action)
		})
	}
}

// Whoever may spawn agents, and not see those of a pattern with an allow-list, gets at nothing of them by what they knew: the session
// of one, its thread, its workspace. What goes on elsewhere with what such a pattern made stays its own.
func TestGuardedSessions(t *testing.T) {
	s := openWithRuntime(t, "")
	ctx, admin := t.Context(), s.client(s.adminKey)
	open := strings.Replace(echo, "name: echo", "name: open", 1)
	for name, text := range map[string]string{"echo": guardedEcho, "open": open} {
		_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: text, Name: name})
		s.wants(err, 0)
	}
	ann, _ := s.key("ann", "execute", "read", "agents:manage")
	bob, _ := s.key("bob", "execute", "read", "agents:manage")
	execute := func(c *client.Client, pattern string) string {
		e, err := c.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: pattern, Input: []byte(`{}`)})
		s.wants(err, 0)
		return e.ExecutionID
	}
	hers := execute(ann, "echo")
	thread, err := ann.SpawnThread(ctx, client.ThreadSpec{ExecutionID: hers, AgentType: runtimetest.Type, Objective: "true"})
	s.wants(err, 0)
	coretest.WaitFor(t, "the thread", func() bool {
		thread, err = ann.GetThread(ctx, thread.ID)
		return err == nil && thread.ManagedAgentID != "" && thread.Workspace != nil
	})
	agent, err := ann.GetManagedAgent(ctx, thread.ManagedAgentID)
	s.wants(err, 0)
	if agent.SessionID == "" {
		t.Fatal("the agent has no session")
	}

	resume := func(c *client.Client, session string) error {
		_, err := c.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: runtimetest.Type, Resume: session})
		return err
	}
	_, err = bob.GetManagedAgent(ctx, agent.ID)
	s.wants(err, 404)
	foreign, unknown := resume(bob, agent.SessionID), resume(bob, "session-of-none")
	s.wants(foreign, 404)
	s.wants(unknown, 404)
	var a, b *client.Error
	if errors.As(foreign, &a); !errors.As(unknown, &b) || strings.ReplaceAll(a.Message, agent.SessionID, "session-of-none") != b.Message {
		t.Errorf("a foreign session answers %q, a missing one %q", a.Message, b.Message)
	}
	own, err := bob.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: runtimetest.Type})
	s.wants(err, 0)
	s.wants(resume(bob, own.SessionID), 0)
	s.wants(resume(ann, agent.SessionID), 0)
	s.wants(resume(admin, "session-of-none"), 0)

	_, err = bob.RetryExecution(ctx, hers, "")
	s.wants(err, 404)
	_, err = bob.RerunExecution(ctx, hers, "", "")
	s.wants(err, 404)
	spec := client.ThreadSpec{ExecutionID: execute(bob, "open"), AgentType: runtimetest.Type, Objective: "look"}
	spec.Preparation.Workspace = &client.WorkspaceSpec{WorkspaceID: thread.Workspace.ID}
	_, err = bob.SpawnThread(ctx, spec)
	s.wants(err, 404)
	s.wants(ann.StopThread(ctx, thread.ID, false, 0), 0)
	_, err = bob.ContinueThread(ctx, thread.ID, client.ThreadContinue{Message: "what did you do?"})
	s.wants(err, 404)

	// Nor does somebody on the list lay it open by the way: an execution of another pattern does not take it over.
	_, err = ann.SpawnThread(ctx, spec)
	s.wants(err, 409)
	spec.ExecutionID = execute(ann, "echo")
	taken, err := ann.SpawnThread(ctx, spec)
	s.wants(err, 0)
	coretest.WaitFor(t, "the thread", func() bool {
		taken, err = ann.GetThread(ctx, taken.ID)
		return err == nil && taken.ManagedAgentID != ""
	})
	s.wants(ann.StopThread(ctx, taken.ID, false, 0), 0)
	spec.ExecutionID = "new"
	beside, err := ann.SpawnThread(ctx, spec)
	s.wants(err, 0)
	for _, c := range []struct {
		by   *client.Client
		want int
	}{{bob, 404}, {ann, 0}} {
		_, err = c.by.GetThread(ctx, beside.ID)
		s.wants(err, c.want)
		_, err = c.by.GetWorkspace(ctx, thread.Workspace.ID)
		s.wants(err, c.want)
	}
}

// What started a run is not for its caller to say: webhooks and lists go by it.
func TestOriginIsNotSaidByCallers(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	_, err := s.client(s.adminKey).CreatePattern(ctx, client.PatternInput{Definition: echo, Name: "echo"})
	s.wants(err, 0)
	bob, _ := s.key("bob", "execute", "read")
	metadata := map[string]any{"scheduleId": "sched_hers", "triggerId": "trig_hers", "ticket": "7"}
	options := client.ExecuteOptions{Metadata: metadata}
	began, err := bob.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`), Options: options})
	s.wants(err, 0)
	batch, err := bob.StartBatch(ctx, client.BatchRequest{Pattern: "echo", Inputs: []json.RawMessage{json.RawMessage(`{}`)}, Options: options})
	s.wants(err, 0)
	target := client.Target{Execution: &wire.ExecutionTarget{Pattern: "echo", Input: []byte(`{}`), Options: wire.ExecuteOptions{Metadata: metadata}}}
	schedule, err := bob.CreateSchedule(ctx, client.ScheduleSpec{
		ScheduleSpec: wire.ScheduleSpec{Name: "his", ScheduleTiming: wire.ScheduleTiming{Cron: "0 0 1 1 *"}}, Target: target,
	})
	s.wants(err, 0)
	run, err := bob.RunSchedule(ctx, schedule.ID, "")
	s.wants(err, 0)
	for id, want := range map[string]string{began.ExecutionID: "", run.ExecutionID: schedule.ID} {
		e, err := bob.GetExecution(ctx, id)
		s.wants(err, 0)
		got := e.Options.Metadata
		if got["ticket"] != "7" || got["triggerId"] != nil || want == "" && got["scheduleId"] != nil || want != "" && got["scheduleId"] != want {
			t.Errorf("%v, want the schedule %q", got, want)
		}
	}
	list, err := bob.ListExecutions(ctx, client.ExecutionFilter{BatchID: batch.BatchID})
	s.wants(err, 0)
	if len(list.Executions) != 1 || list.Executions[0].Metadata["ticket"] != "7" || list.Executions[0].Metadata["scheduleId"] != "" {
		t.Errorf("of a batch: %+v", list.Executions)
	}
}

// Only callers on the allow-list of an execution can answer its questions, by whichever execution the request goes.
func TestGuardedAnswers(t *testing.T) {
	s := openWithRuntime(t, "")
	ctx, admin := t.Context(), s.client(s.adminKey)
	_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: guardedEcho, Name: "echo"})
	s.wants(err, 0)
	_, err = admin.CreatePattern(ctx, client.PatternInput{Definition: strings.Replace(echo, "name: echo", "name: open", 1), Name: "open"})
	s.wants(err, 0)
	ann, annKey := s.key("ann", "execute", "read")
	bob, key := s.key("bob", "execute", "read")
	hers, err := ann.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 0)
	his, err := bob.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "open", Input: []byte(`{}`)})
	s.wants(err, 0)
	thread, err := ann.SpawnThread(ctx, client.ThreadSpec{ExecutionID: hers.ExecutionID, AgentType: runtimetest.Type, Objective: "ask shall we?"})
	s.wants(err, 0)
	coretest.WaitFor(t, "the prompt", func() bool {
		thread, err = ann.GetThread(ctx, thread.ID)
		return err == nil && thread.Status == client.ThreadBlocked
	})
	asked := &core.Question{
		ID: core.NewIDs(core.SystemClock{}).New(core.PrefixQuestion), ExecutionID: hers.ExecutionID, Kind: core.QuestionApproval, Status: core.QuestionOpen,
		Content: json.RawMessage(toolPrompt), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
	}
	s.Close()
	stored, err := store.Open(ctx, store.Options{Path: filepath.Join(s.dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stored.Update(ctx, func(tx core.Tx) error { return tx.PutQuestion(asked) }), stored.Close()); err != nil {
		t.Fatal(err)
	}
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	ann, bob = s.client(annKey.Key), s.client(key.Key)
	before, err := ann.GetQuestion(ctx, asked.ID)
	s.wants(err, 0)
	yes := json.RawMessage(`"yes"`)
	_, err = bob.GetQuestion(ctx, asked.ID)
	s.wants(err, 404)
	for _, execution := range []string{hers.ExecutionID, his.ExecutionID} {
		_, err = bob.AnswerQuestion(ctx, execution, asked.ID, yes)
		s.wants(err, 404)
		if status, text := s.ask(key.Key, http.MethodGet, "/api/executions/"+execution+"/questions/"+asked.ID); status != 404 || strings.Contains(text, "May I") {
			t.Errorf("in %s: %d %s", execution, status, text)
		}
	}
	_, err = bob.AnswerThread(ctx, thread.ID, client.ThreadAnswer{Choice: "yes"})
	s.wants(err, 404)
	list, err := bob.ListQuestions(ctx, client.QuestionFilter{})
	s.wants(err, 0)
	if len(list.Questions) != 0 {
		t.Errorf("bob lists %+v", list.Questions)
	}
	still, err := ann.GetQuestion(ctx, asked.ID)
	s.wants(err, 0)
	if still.Status != before.Status || still.AnsweredBy != "" {
		t.Errorf("the question is %s, answered by %q", still.Status, still.AnsweredBy)
	}
}
