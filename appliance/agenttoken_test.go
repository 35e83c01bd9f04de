package appliance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// runs starts an agent with a credential and returns it with the channel that its end comes on.
func (s *secured) runs(token, name string, capabilities ...string) (*agent.Agent, <-chan error) {
	s.t.Helper()
	a, err := agent.New(agent.Options{
		URL: "http://" + s.Addr(), Token: token, Name: name, Capabilities: capabilities,
		Handler: func(context.Context, *agent.Task) (any, error) { return map[string]any{"said": "hi"}, nil },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	go func() { ended <- a.Run(ctx) }()
	return a, ended
}

// refused waits for the end of an agent that the server does not take.
func (s *secured) refused(ended <-chan error, code core.Code, says string) {
	s.t.Helper()
	var refused *agent.ConnectError
	var err error
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		s.t.Fatalf("an agent is taken, want %s: %s", code, says)
	}
	if !errors.As(err, &refused) || refused.Code != string(code) || !strings.Contains(refused.Message, says) {
		s.t.Errorf("%v, want %s: %s", err, code, says)
	}
}

// another returns a token that differs from one in a single character.
func another(token string) string {
	const at = 40
	other := "x"
	if token[at:at+1] == other {
		other = "y"
	}
	return token[:at] + other + token[at+1:]
}

// A token registers the agents that it is for, as many as it may, and is nothing else; with its end they are disconnected.
func TestAgentTokens(t *testing.T) {
	s := openSecured(t, "  agentAuth: {method: token}\n  rbac: {enabled: true}\n")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: echo, Name: "echo"})
	s.wants(err, 0)
	reader, _ := s.key("reader", "read", "agents:manage")
	_, err = reader.CreateAgentToken(ctx, client.AgentTokenSpec{Capabilities: []string{"echo"}}, "")
	s.wants(err, 403)
	token, err := admin.CreateAgentToken(ctx, client.AgentTokenSpec{Capabilities: []string{"echo"}, Names: []string{"worker-*"}, Uses: 2}, "")
	s.wants(err, 0)

	first, firstEnded := s.runs(token.Token, "worker-1", "echo")
	coretest.WaitFor(t, "the agent to connect", first.Connected)
	e, err := admin.Execute(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)})
	s.wants(err, 0)
	if e.Status != "completed" {
		t.Errorf("%+v", e)
	}
	got, err := admin.GetAgent(ctx, first.ID())
	s.wants(err, 0)
	if got.CreatedBy != token.ID {
		t.Errorf("created by %q", got.CreatedBy)
	}

	_, ended := s.runs(token.Token, "other", "echo")
	s.refused(ended, core.CodeForbidden, "name")
	_, ended = s.runs(token.Token, "worker-2", "echo", "deploy")
	s.refused(ended, core.CodeForbidden, "capability deploy")
	_, ended = s.runs(s.adminKey, "worker-2", "echo")
	s.refused(ended, core.CodeUnauthorized, "")
	_, ended = s.runs(another(token.Token), "worker-2", "echo")
	s.refused(ended, core.CodeUnauthorized, "not valid")
	second, secondEnded := s.runs(token.Token, "worker-2", "echo")
	coretest.WaitFor(t, "the second agent to connect", second.Connected)
	_, ended = s.runs(token.Token, "worker-3", "echo")
	s.refused(ended, core.CodeUnauthorized, "2 times")

	_, err = s.client(token.Token).ListPatterns(ctx, client.PatternFilter{})
	s.wants(err, 401)
	list, err := admin.ListAgentTokens(ctx, "admin", client.Page{})
	s.wants(err, 0)
	if len(list.Tokens) != 1 || list.Tokens[0].Used != 2 || list.Tokens[0].Status != "exhausted" || strings.Contains(string(list.Raw()), token.Token[31:63]) {
		t.Errorf("%s", list.Raw())
	}
	began := time.Now()
	s.wants(admin.RevokeAgentToken(ctx, token.ID), 0)
	s.refused(firstEnded, core.CodeForbidden, "")
	s.refused(secondEnded, core.CodeForbidden, "")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the sessions ended after %s", took)
	}
	_, ended = s.runs(token.Token, "worker-1", "echo")
	s.refused(ended, core.CodeUnauthorized, "")
	_, err = admin.GetAgentToken(ctx, "atok_1")
	s.wants(err, 404)
	if text := s.log.String(); strings.Contains(text, token.Token[31:63]) {
		t.Error("the log has a token")
	}
}

// Without agentAuth, tokens count beside keys; the owner of the machine makes them without a server.
func TestAgentTokensBesideKeys(t *testing.T) {
	s := openSecured(t, "")
	_, forAgents := s.key("worker", "agents:manage")
	byKey, _ := s.runs(forAgents.Key, "by key", "echo")
	coretest.WaitFor(t, "the agent with a key", byKey.Connected)
	s.Close()
	var token *core.NewAgentToken
	err := appliance.OfflineAgentTokens(t.Context(), store.Location{Path: filepath.Join(s.dir, "store")}, func(ctx context.Context, tokens core.AgentTokenService) (err error) {
		token, err = tokens.CreateAgentToken(ctx, core.AgentTokenSpec{Capabilities: []string{"*"}})
		return err
	})
	s.wants(err, 0)
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	byToken, _ := s.runs(token.Token, "by token", "echo")
	coretest.WaitFor(t, "the agent with a token", byToken.Connected)
}

// A pepper that vanished is not made anew while there are keys, and the way out works.
func TestPepperVanished(t *testing.T) {
	s := openSecured(t, "")
	s.Close()
	dir := filepath.Join(s.dir, "store")
	if err := os.Remove(filepath.Join(dir, "keys.pepper")); err != nil {
		t.Fatal(err)
	}
	if err := starts(t, s.config); core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), "keys.pepper") || !strings.Contains(err.Error(), "auth reset") {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "keys.pepper")); err == nil {
		t.Error("it was made anew")
	}
	if n, err := appliance.ResetKeys(t.Context(), store.Location{Path: dir}); err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	key, err := os.ReadFile(filepath.Join(dir, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.client(strings.TrimSpace(string(key))).ListKeys(t.Context(), client.APIKeyFilter{})
	s.wants(err, 0)
}

// starts opens and closes a server.
func starts(t *testing.T, config string) error {
	t.Helper()
	a, err := appliance.New(appliance.Options{ConfigPath: config, Version: "1.2.3"})
	if err == nil {
		if err = a.Open(t.Context()); err == nil {
			a.Close()
		}
	}
	return err
}

// A directory in which everyone may write is warned about, and not served from once it holds keys.
func TestStoreForEveryone(t *testing.T) {
	s := openSecured(t, "")
	s.Close()
	dir := filepath.Join(s.dir, "store")
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := starts(t, s.config); core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), "0777") {
		t.Errorf("with keys: %v", err)
	}
	open := filepath.Join(t.TempDir(), "wardroom.yaml")
	text := fmt.Sprintf("server: {listen: '127.0.0.1:0'}\nstore: {path: %s}\nplugins: {dir: plugins}\n", t.TempDir())
	if err := os.WriteFile(open, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := starts(t, open); err != nil {
		t.Error(err)
	}
}
