package appliance_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// agentOf starts an agent with a TLS configuration.
func (s *tlsSite) agentOf(t *testing.T, token string, change func(*tls.Config)) (*agent.Agent, <-chan error) {
	t.Helper()
	config := &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS12}
	if change != nil {
		change(config)
	}
	a, err := agent.New(agent.Options{
		URL: "https://" + s.app.Addr(), Token: token, TLS: config, Name: "a", Capabilities: []string{"echo"},
		Handler: func(context.Context, *agent.Task) (any, error) { return map[string]any{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return a, ended
}

// An agent shows a certificate, or a certificate and a token, as the configuration says; nothing goes in plain text, and
// browsers are told so.
func TestAgentsByCertificate(t *testing.T) {
	const transit = "  encryption: {inTransit: {enabled: true}}\n"
	refused := func(ended <-chan error) {
		t.Helper()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), string(core.CodeUnauthorized)) {
			t.Errorf("%v", err)
		}
	}
	t.Run("MTLS", func(t *testing.T) {
		s := newTLSSite(t, "    clientAuth: request\n  agentAuth: {method: mtls}\n"+transit)
		a, _ := s.agentOf(t, "", s.client(t))
		coretest.WaitFor(t, "the agent", a.Connected)
		_, ended := s.agentOf(t, "", nil)
		refused(ended)
		resp, err := (&http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
		}}).Get("https://" + s.app.Addr() + "/api/health/live") //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got := resp.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("HSTS is %q", got)
		}
		plain, err := http.Get("http://" + s.app.Addr() + "/api/health/live") //nolint:noctx // a test
		if err == nil {
			_ = plain.Body.Close()
			if plain.StatusCode != http.StatusBadRequest {
				t.Errorf("in plain text: %d", plain.StatusCode)
			}
		}
	})
	t.Run("Both", func(t *testing.T) {
		s := newTLSSite(t, "    clientAuth: request\n    scopes: [admin]\n  agentAuth: {method: both}\n"+transit)
		config := &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS12}
		s.client(t)(config)
		transport := &http.Transport{TLSClientConfig: config}
		t.Cleanup(transport.CloseIdleConnections)
		api, err := client.New("https://"+s.app.Addr(), client.Options{HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		token, err := api.CreateAgentToken(t.Context(), client.AgentTokenSpec{Capabilities: []string{"echo"}}, "")
		if err != nil || token.CreatedBy != "alice" {
			t.Fatalf("%+v, %v", token, err)
		}
		a, _ := s.agentOf(t, token.Token, s.client(t))
		coretest.WaitFor(t, "the agent", a.Connected)
		_, ended := s.agentOf(t, token.Token, nil)
		refused(ended)
		_, ended = s.agentOf(t, "", s.client(t))
		refused(ended)
	})
}
