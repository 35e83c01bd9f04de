package appliance_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
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

// An agent, and the command that hosts threads, take certificate, key and authorities as files. A renewed certificate is
// shown without a restart.
func TestAgentTLSFiles(t *testing.T) {
	s := newTLSSite(t, "    clientAuth: request\n  agentAuth: {method: mtls}\n")
	dir := t.TempDir()
	files := agent.TLSFiles{Cert: filepath.Join(dir, "agent.crt"), Key: filepath.Join(dir, "agent.key"), CA: filepath.Join(dir, "ca.crt")}
	issue := func(name string) {
		t.Helper()
		certText, keyText := s.Issue(x509.Certificate{Subject: pkix.Name{CommonName: name}})
		write(t, files.Cert, string(certText))
		write(t, files.Key, string(keyText))
	}
	issue("first-agent")
	write(t, files.CA, string(s.PEM()))
	for name, bad := range map[string]agent.TLSFiles{
		"KeyMissing": {Cert: files.Cert}, "NoFile": {Cert: "none", Key: "none"}, "NoAuthority": {CA: files.Key},
	} {
		if _, err := bad.Config(); err == nil {
			t.Errorf("%s: the files are taken", name)
		}
	}
	config, err := files.Config()
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.agentOf(t, "", func(c *tls.Config) { *c = *config.Clone() })
	coretest.WaitFor(t, "the agent", a.Connected)
	issue("second-agent")
	pair, err := config.GetClientCertificate(nil)
	if err != nil || pair.Leaf == nil || pair.Leaf.Subject.CommonName != "second-agent" {
		t.Errorf("after a renewal it shows %+v, %v", pair, err)
	}

	// On its own machine a server with TLS is reached over its admin socket, and so are its keys.
	var out log
	if code := cmd.Execute(t.Context(), commandDeps(nil, &out, &out), []string{
		"agent", "create-token", "--config", s.config, "--capabilities", "echo",
	}); code != 0 {
		t.Errorf("exit code %d: %s", code, out.String())
	}

	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	server, err := runtimeserver.New(runtimeserver.Options{Runtime: world.Runtime()})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server.Handler())
	t.Cleanup(listener.Close)
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr log
	ended := make(chan int, 1)
	go func() {
		ended <- cmd.Execute(ctx, commandDeps(nil, &stdout, &stderr), []string{
			"edge", "--server", "https://" + s.app.Addr(), "--root", filepath.Join(dir, "edge"), "--name", "site", "--runtime", listener.URL,
			"--cert", files.Cert, "--key", files.Key, "--ca", files.CA,
		})
	}()
	coretest.WaitFor(t, "the edge to connect", func() bool {
		_, text, _, err := s.get(t, "/api/metrics", nil)
		return err == nil && strings.Contains(text, `service_agents_connected{region=""} 2`)
	})
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s%s", code, stdout.String(), stderr.String())
	}
}
