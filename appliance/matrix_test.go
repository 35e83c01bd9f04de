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
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtimetest"

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
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
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
// that the policy says the same is what the test is about.
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

// Every operation, by each role, on what is one's own, somebody else's, and missing: without the right all three are refused
// alike, with it somebody else's is answered as what is missing is, to the letter, and one's own is neither.
func TestMatrix(t *testing.T) {
	s, ids := openMatrix(t)
	missing := map[string]string{
		"{executionId}": "exec_01JGFJJZ8N4Q1W0000000000AB", "{batchId}": "batch_01JGFJJZ8N4Q1W0000000000AB", "{threadId}": "thread_01JGFJJZ8N4Q1W0000000000AB",
		"{workspaceId}": "ws_01JGFJJZ8N4Q1W0000000000AB", "{agentId}": "magent_01JGFJJZ8N4Q1W0000000000AB", "{questionId}": "q_01JGFJJZ8N4Q1W0000000000AB",
		"{keyId}": "key_01JGFJJZ8N4Q1W0000000000AB", "{tokenId}": "atok_01JGFJJZ8N4Q1W0000000000AB", "{webhookId}": "wh_01JGFJJZ8N4Q1W0000000000AB",
		"{deliveryId}": "dlv_01JGFJJZ8N4Q1W0000000000AB", "{inputId}": "in_01JGFJJZ8N4Q1W0000000000AB", "{name}": "nothing",
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
	all := []string{"read", "execute", "patterns:write", "patterns:delete", "agents:manage", "audit:read"}
	seen := 0
	for _, role := range []string{"operator", "developer", "viewer", "nothing"} {
		_, k := s.key(role, all...)
		for _, c := range s.cells() {
			about := false
			for name := range ids {
				about = about || strings.Contains(c.path, name)
			}
			if name := "{agentId}"; strings.Contains(c.path, name) && !strings.Contains(c.path, "managed-agents") {
				about = false
			}
			gone, none := s.ask(k.Key, c.method, fill(c.path, nil))
			seen++
			if allowed := grants(role, c) && c.scope != "admin"; (gone == http.StatusForbidden) == allowed || gone == http.StatusUnauthorized {
				t.Errorf("%s %s as %s: %d %s", c.method, c.path, role, gone, none)
			}
			if !about {
				continue
			}
			foreign, text := s.ask(k.Key, c.method, fill(c.path, ids))
			seen++
			for name, id := range ids {
				text = strings.ReplaceAll(text, id, missing[name])
			}
			if foreign != gone || requestID.ReplaceAllString(text, "") != requestID.ReplaceAllString(none, "") {
				t.Errorf("%s %s as %s: somebody else's is %d %s, what is missing %d %s", c.method, c.path, role, foreign, text, gone, none)
			}
		}
	}
	_, ann := s.key("ann", all...) // the owner of what is there
	for _, c := range s.cells() {
		for name := range ids {
			if !strings.Contains(c.path, name) || c.scope == "admin" || name == "{agentId}" && !strings.Contains(c.path, "managed-agents") {
				continue
			}
			seen++
			if status, text := s.ask(ann.Key, c.method, fill(c.path, ids)); status == 401 || status == 403 || status == 404 && !strings.Contains(c.path, "{questionId}") && !strings.Contains(c.path, "{inputId}") {
				t.Errorf("%s %s by the owner: %d %s", c.method, c.path, status, text)
			}
		}
	}
	t.Logf("%d cells", seen)
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
	bindings := "[{subject: {name: admin}, role: admin}, {subject: {name: ann}, role: operator}"
	for _, role := range []string{"operator", "developer", "viewer"} {
		bindings += fmt.Sprintf(", {subject: {name: %s}, role: %s}", role, role)
	}
	text := fmt.Sprintf("server: {listen: '127.0.0.1:0'}\nstore: {path: store}\nplugins: {dir: plugins}\nruntimes: {local: {url: %q, required: true}}\n"+
		"security:\n  authentication: {apiKeys: {enabled: true}}\n  rbac: {enabled: true, defaultRole: '', bindings: %s]}\n", runtime.URL, bindings)
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
	ann, made := s.key("ann", "read", "execute", "agents:manage")
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
	s.wants(s.client(s.adminKey).RevokeKey(ctx, made.ID), 0)
	return s, map[string]string{
		"{executionId}": e.ExecutionID, "{batchId}": batch.BatchID, "{threadId}": thread.ID, "{workspaceId}": thread.Workspace.ID,
		"{agentId}": thread.ManagedAgentID,
	}
}
