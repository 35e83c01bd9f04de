package appliance_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtimetest"
	"github.com/wardroom/wardroom/sdk/wire"

	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
)

// cell is an operation that names something by its id.
type cell struct{ method, path, action, scope string }

// cells reads the operations of a server from its document.
func (s *secured) cells() (list []cell) {
	s.t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			Action   string           `json:"x-action"`
			Scope    string           `json:"x-scope"`
			Security []map[string]any `json:"security"`
		} `json:"paths"`
	}
	_, text := s.ask("", http.MethodGet, "/api/openapi.json")
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		s.t.Fatal(err)
	}
	for path, methods := range document.Paths {
		for method, op := range methods {
			if len(op.Security) > 0 {
				list = append(list, cell{strings.ToUpper(method), path, op.Action, op.Scope})
			}
		}
	}
	return list
}

// ask sends a request whose query is wrong, so that nothing happens that is allowed.
func (s *secured) ask(token, method, path string) (status int, text string) {
	s.t.Helper()
	return s.askFor(token, method, path)
}

// askFor sends a request with a body that is none.
func (s *secured) askFor(token, method, path string) (status int, text string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.Addr()+path, strings.NewReader("no json"))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == http.MethodGet {
		req.Body = http.NoBody
		req.ContentLength = 0
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if s.http == nil {
		transport := &http.Transport{}
		s.t.Cleanup(transport.CloseIdleConnections)
		s.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	resp, err := s.http.Do(req)
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

// grants are what roles allow, by the scope that an operation needs and what it does. It is written down here once more:
// the test checks that the policy says the same.
func grants(role string, c cell) bool {
	family, _, _ := strings.Cut(c.scope, ":")
	word := c.action[strings.LastIndex(c.action, ".")+1:]
	read := slices.Contains([]string{"read", "prepare"}, word)
	switch {
	case c.scope == "any" || role == "admin":
		return true
	case c.scope == "admin" || c.scope == "audit:read": // who did what is for administrators, or who is given a role for it
		return false
	case role == "operator":
		return true
	case role == "developer":
		return family == "executions" || read || family == "patterns" && slices.Contains([]string{"create", "update"}, word)
	case role == "viewer":
		return read
	}
	return false
}

var requestID = regexp.MustCompile(`"requestId":"[^"]*"`)

// Every operation, by each role, with each scope, on what is one's own, somebody else's, and missing: without the right all three
// are refused alike, with it somebody else's is answered as what is missing is, to the letter, and one's own is neither. The
// operations are those of the document, which is made from the route table.
func TestMatrix(t *testing.T) {
	s, ids := openMatrix(t)
	missing := map[string]string{"{name}": "nothing"}
	for name, prefix := range map[string]string{
		"{executionId}": core.PrefixExecution, "{batchId}": core.PrefixBatch, "{threadId}": core.PrefixThread, "{workspaceId}": core.PrefixWorkspace,
		"{agentId}": core.PrefixManaged, "{questionId}": core.PrefixQuestion, "{keyId}": core.PrefixAPIKey, "{tokenId}": "atok_",
		"{webhookId}": core.PrefixWebhook, "{deliveryId}": core.PrefixDelivery, "{inputId}": core.PrefixInput, "{scheduleId}": core.PrefixSchedule,
		"{triggerId}": core.PrefixTrigger, "{erasureId}": core.PrefixErasure, "{sessionId}": core.PrefixSession,
	} {
		missing[name] = prefix + "01JGFJJZ8N4Q1W0000000000AB"
	}
	fill := func(path string, with map[string]string) string {
		for name, id := range missing {
			if own := with[name]; own != "" {
				id = own
			}
			path = strings.ReplaceAll(path, name, id)
		}
		return path + "?thereIsNoSuchParameter=1"
	}
	about := func(c cell) bool { // it names something that ann made
		for name := range ids {
			if strings.Contains(c.path, name) && (name != "{agentId}" || strings.Contains(c.path, "managed-agents")) {
				return true
			}
		}
		return false
	}
	var all []string // without what makes an administrator
	sets := [][]string{nil}
	for _, scope := range core.Scopes {
		if scope != core.ScopeAdmin {
			all = append(all, scope)
			sets = append(sets, []string{scope})
		}
	}
	sets[0] = slices.DeleteFunc(all, func(scope string) bool { return scope == core.ScopeExecute }) // the others are what it covers
	keyOf := func(owner, role string, scopes []string) string {
		t.Helper()
		spec := client.APIKeySpec{Name: strings.Join([]string{owner, role, scopes[0], fmt.Sprint(len(scopes))}, "-"), Owner: owner, Scopes: scopes}
		if role != "nothing" {
			spec.Roles = []string{role}
		}
		k, err := s.client(s.adminKey).CreateKey(t.Context(), spec, "")
		s.wants(err, 0)
		return k.Key
	}
	cells, seen := s.cells(), 0
	ask := func(key, method, path string) (int, string) {
		seen++
		return s.ask(key, method, path)
	}
	for _, role := range []string{"operator", "developer", "viewer", "nothing"} {
		for _, scopes := range sets {
			key, own := keyOf("eve", role, scopes), keyOf("ann", role, scopes)
			for _, c := range cells {
				may := c.scope == core.ScopeAny || core.Grants(scopes, c.scope) && grants(role, c)
				gone, none := ask(key, c.method, fill(c.path, nil))
				if (gone == http.StatusForbidden) == may || gone == http.StatusUnauthorized {
					t.Errorf("%s %s as %s with %v: %d %s", c.method, c.path, role, scopes, gone, none)
				}
				if !about(c) {
					continue
				}
				foreign, text := ask(key, c.method, fill(c.path, ids))
				for name, id := range ids {
					text = strings.ReplaceAll(text, id, missing[name])
				}
				if foreign != gone || requestID.ReplaceAllString(text, "") != requestID.ReplaceAllString(none, "") {
					t.Errorf("%s %s as %s with %v: somebody else's is %d %s, what is missing %d %s", c.method, c.path, role, scopes, foreign, text, gone, none)
				}
				status, text := ask(own, c.method, fill(c.path, ids))
				inner := strings.Contains(c.path, "{questionId}") || strings.Contains(c.path, "{inputId}") // of which there is none
				if (status == http.StatusForbidden) == may || status == http.StatusUnauthorized || may && status == http.StatusNotFound && !inner {
					t.Errorf("%s %s by the owner as %s with %v: %d %s", c.method, c.path, role, scopes, status, text)
				}
			}
		}
	}
	// Administrators are refused nothing, what is somebody else's included.
	for _, c := range cells {
		if status, text := ask(s.adminKey, c.method, fill(c.path, ids)); status == http.StatusForbidden || status == http.StatusUnauthorized {
			t.Errorf("%s %s as an administrator: %d %s", c.method, c.path, status, text)
		}
	}
	if t.Logf("%d cells of %d operations", seen, len(cells)); seen < 2000 {
		t.Errorf("only %d cells", seen)
	}
}

// openMatrix starts a server with roles, on which ann made what others may not see.
func openMatrix(t *testing.T) (*secured, map[string]string) {
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
		"security:\n  authentication: {apiKeys: {enabled: true}}\n  rbac: {enabled: true, defaultRole: '', bindings: [{subject: {name: admin}, role: admin}]}\n", runtime.URL)
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	key, err := os.ReadFile(filepath.Join(s.dir, "store", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	s.adminKey = strings.TrimSpace(string(key))
	ctx := t.Context()
	_, err = s.client(s.adminKey).CreatePattern(ctx, client.PatternInput{Definition: guardedEcho, Name: "echo"})
	s.wants(err, 0)
	made, err := s.client(s.adminKey).CreateKey(ctx, client.APIKeySpec{
		Name: "maker", Owner: "ann", Scopes: []string{"read", "execute", "agents:manage"}, Roles: []string{"operator"},
	}, "")
	s.wants(err, 0)
	ann := s.client(made.Key)
	e, err := ann.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 0)
	batch, err := ann.StartBatch(ctx, client.BatchRequest{Pattern: "echo", Inputs: []json.RawMessage{json.RawMessage(`{}`)}})
	s.wants(err, 0)
	thread, err := ann.SpawnThread(ctx, client.ThreadSpec{ExecutionID: e.ExecutionID, AgentType: runtimetest.Type, Objective: "true"})
	s.wants(err, 0)
	coretest.WaitFor(t, "the thread", func() bool {
		thread, err = ann.GetThread(ctx, thread.ID)
		return err == nil && thread.ManagedAgentID != "" && thread.Workspace != nil
	})
	if thread.CreatedBy != "ann" {
		t.Errorf("the thread was made by %q", thread.CreatedBy)
	}
	agent, err := ann.GetManagedAgent(ctx, thread.ManagedAgentID)
	s.wants(err, 0)
	if agent.CreatedBy != "ann" {
		t.Errorf("the agent was made by %q", agent.CreatedBy)
	}
	target := client.Target{Execution: &wire.ExecutionTarget{Pattern: "echo", Input: []byte(`{}`)}}
	schedule, err := ann.CreateSchedule(ctx, client.ScheduleSpec{
		ScheduleSpec: wire.ScheduleSpec{Name: "hers", ScheduleTiming: wire.ScheduleTiming{Cron: "0 0 1 1 *"}}, Target: target,
	})
	s.wants(err, 0)
	trigger, err := ann.CreateTrigger(ctx, client.TriggerSpec{TriggerSpec: wire.TriggerSpec{Name: "hers"}, Target: target})
	s.wants(err, 0)
	s.wants(s.client(s.adminKey).RevokeKey(ctx, made.ID), 0)
	return s, map[string]string{
		"{scheduleId}": schedule.ID, "{triggerId}": trigger.ID,
		"{executionId}": e.ExecutionID, "{batchId}": batch.BatchID, "{threadId}": thread.ID, "{workspaceId}": thread.Workspace.ID,
		"{agentId}": thread.ManagedAgentID,
	}
}
