package appliance_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtimetest"
	"github.com/wardroom/wardroom/sdk/wire"

	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
)

// What a client has open ends within seconds of the withdrawal of its certificate, and nothing is opened with it any more; the others
// go on.
func TestWithdrawnCertificate(t *testing.T) {
	s := newTLSSite(t, "    clientAuth: request\n    scopes: [read]\n    clientCRL: clients.crl\n", func(s *tlsSite, dir string) {
		s.crl = filepath.Join(dir, "clients.crl")
		write(t, s.crl, string(s.Withdraw(time.Now().Add(time.Hour))))
	})
	certificate := func(name string) (text []byte, as func(*tls.Config)) {
		text, key := s.Issue(x509.Certificate{Subject: pkix.Name{CommonName: name}})
		pair, err := tls.X509KeyPair(text, key)
		if err != nil {
			t.Fatal(err)
		}
		return text, func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} }
	}
	text, alice := certificate("alice")
	_, bob := certificate("bob")
	config := &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS12}
	alice(config)
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	kept := &http.Client{Transport: transport}
	open := func(path string) *http.Response {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://"+s.app.Addr()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := kept.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	stream := open("/api/events")
	if stream.StatusCode != http.StatusOK {
		t.Fatal(stream.Status)
	}
	idle := open("/api/session")
	if _, err := io.Copy(io.Discard, idle.Body); err != nil || idle.StatusCode != http.StatusOK {
		t.Fatal(idle.Status, err)
	}

	write(t, s.crl, string(s.Withdraw(time.Now().Add(time.Hour), text)))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stream.Body)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the stream goes on")
	}
	if again := open("/api/session"); again.StatusCode != http.StatusUnauthorized {
		t.Errorf("on the connection that was open: %s", again.Status)
	}
	if status, _, _, err := s.get(t, "/api/session", alice); err == nil {
		t.Errorf("on a new connection: %d", status)
	}
	if status, _, _, err := s.get(t, "/api/session", bob); err != nil || status != http.StatusOK {
		t.Errorf("another certificate: %d, %v", status, err)
	}
	write(t, s.crl, "nonsense")
	coretest.WaitFor(t, "an alert", func() bool {
		return s.logs("The new list of withdrawn certificates of clients is not in use, and what was before stays: ")
	})
	if s.logs("The new certificate of the server is not in use") {
		t.Error("the certificate of the server is blamed for the list")
	}
	if status, _, _, err := s.get(t, "/api/session", alice); err == nil {
		t.Errorf("a list that is none lets in again: %d", status)
	}
}

// When a CA of clients is taken out of its file, what was opened by it ends, and a client that has another certificate by then goes on
// with that after one refusal on each connection.
func TestFormerCA(t *testing.T) {
	former := coretest.NewAuthority(t)
	var file string
	s := newTLSSite(t, "    clientAuth: require\n    scopes: [read]\n", func(s *tlsSite, dir string) {
		file = filepath.Join(dir, "ca.crt")
		write(t, file, string(s.PEM())+string(former.PEM()))
	})
	pair := func(a *coretest.Authority) *tls.Certificate {
		text, key := a.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "ann"}})
		pair, err := tls.X509KeyPair(text, key)
		if err != nil {
			t.Fatal(err)
		}
		return &pair
	}
	var current atomic.Pointer[tls.Certificate]
	current.Store(pair(former))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS12, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return current.Load(), nil
	}}}
	defer transport.CloseIdleConnections()
	get := func(path string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.app.Addr()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	status := func() int {
		resp := get("/api/session")
		defer func() { _ = resp.Body.Close() }()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	stream := get("/api/events")
	defer func() { _ = stream.Body.Close() }()
	if got := status(); got != http.StatusOK || stream.StatusCode != http.StatusOK {
		t.Fatal(got, stream.Status)
	}
	current.Store(pair(s.Authority))
	write(t, file, string(s.PEM()))
	_, _ = io.Copy(io.Discard, stream.Body) // until it ends
	refused := 0
	for refused < 5 && status() == http.StatusUnauthorized {
		refused++
	}
	if refused == 0 || refused > 2 { // there were two connections
		t.Errorf("%d requests are refused", refused)
	}
	if got := status(); got != http.StatusOK {
		t.Errorf("with a certificate of the CA that stays: %d", got)
	}
}

// What is opened with a key ends with the certificate of its connection as well, and a ticket from before opens nothing.
func TestWithdrawnCertificateBesideKey(t *testing.T) {
	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	handler, err := runtimeserver.New(runtimeserver.Options{Runtime: world.Runtime()})
	if err != nil {
		t.Fatal(err)
	}
	runtime := httptest.NewServer(handler.Handler())
	t.Cleanup(runtime.Close)
	s := newTLSSite(t, "    clientAuth: require\n    clientCRL: clients.crl\n  authentication: {apiKeys: {enabled: true}}\n"+
		"plugins: {dir: plugins}\nruntimes: {local: {url: '"+runtime.URL+"', required: true}}\n", func(s *tlsSite, dir string) {
		s.crl = filepath.Join(dir, "clients.crl")
		write(t, s.crl, string(s.Withdraw(time.Now().Add(time.Hour))))
	})
	key, err := os.ReadFile(filepath.Join(filepath.Dir(s.config), "store", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	text, private := s.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "alice"}})
	pair, err := tls.X509KeyPair(text, private)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	admin, err := client.New("https://"+s.app.Addr(), client.Options{Token: strings.TrimSpace(string(key)), HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := admin.SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Type: runtimetest.Type, Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	address, header := admin.TerminalRequest(agent.ID)
	address = strings.Replace(address, "https", "wss", 1)
	dialer := websocket.Dialer{TLSClientConfig: config}
	terminal, resp, err := dialer.Dial(address, header)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	_ = resp.Body.Close()
	ticket, err := admin.CreateTerminalTicket(t.Context(), agent.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := admin.CreateAgentToken(t.Context(), client.AgentTokenSpec{Capabilities: []string{"echo"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	worker, ended := s.agentOf(t, tok.Token, func(c *tls.Config) { c.Certificates = config.Certificates })
	coretest.WaitFor(t, "the agent", worker.Connected)
	kept, err := tls.Dial("tcp", s.app.Addr(), config) // before the withdrawal; no handshake succeeds after it
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()

	write(t, s.crl, string(s.Withdraw(time.Now().Add(time.Hour), text)))
	_ = terminal.SetReadDeadline(time.Now().Add(8 * time.Second)) // within which the ticket is valid, and the connection open
	for err == nil {
		_, _, err = terminal.ReadMessage()
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		t.Error("the terminal goes on")
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the agent that registered by a token goes on")
	}
	dialer.Subprotocols = []string{wire.TicketProtocol + ticket.Ticket}
	dialer.NetDialTLSContext = func(context.Context, string, string) (net.Conn, error) { return kept, nil }
	again, resp, err := dialer.Dial(address, nil)
	if err == nil {
		_ = again.Close()
	}
	if resp == nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("by a ticket, on a connection that was open: %v %v", resp, err)
	}
}

// A session that a browser begins with a key ends with the key, and not with the certificate of the connection that it was sent over:
// the next connection may have another.
func TestKeySessionOutlivesCertificate(t *testing.T) {
	s := newTLSSite(t, "    clientAuth: request\n  authentication: {apiKeys: {enabled: true}}\n")
	key, err := os.ReadFile(filepath.Join(filepath.Dir(s.config), "store", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	ends := time.Now().Add(time.Hour)
	text, private := s.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "alice"}, NotAfter: ends})
	pair, err := tls.X509KeyPair(text, private)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.app.Addr()+"/api/session", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var made wire.Session
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d, %v", resp.StatusCode, err)
	}
	if made.ExpiresAt == nil || !made.ExpiresAt.After(ends) {
		t.Errorf("the session ends at %v, and the certificate at %v", made.ExpiresAt, ends)
	}
}
