package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// event is a change that a watch tells.
type event struct {
	version int
	kind    string
	secret  map[string]any
}

// api is the part of the API of a cluster that the provider uses. It refuses what the real one refuses: other tokens, verbs
// that no role allows, watches from before what it keeps.
type api struct {
	*httptest.Server

	mu      sync.Mutex // guards all below
	cert    tls.Certificate
	ca      []byte // PEM, of cert
	token   string
	denied  map[string]bool // verbs
	secrets map[string]map[string]any
	history []event
	version int
	oldest  int // version of what it keeps of the past
	changed chan struct{}
	cut     chan struct{} // closed to end all watches
	status  int           // of every answer; 0: none
	hang    bool
	deaf    bool   // watches tell nothing and have no end, as through a proxy whose server is gone
	away    string // address of another host that every answer leads to; empty: none
	gets    int
	watches int
	answer  http.HandlerFunc // in place of every answer; nil: none
}

func newAPI(t testing.TB) *api {
	a := &api{
		token: "token-of-the-account", denied: map[string]bool{}, secrets: map[string]map[string]any{}, version: 100,
		changed: make(chan struct{}), cut: make(chan struct{}),
	}
	a.certify(t)
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(a.serve))
	a.EnableHTTP2 = true
	a.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		return &a.cert, nil
	}}
	a.StartTLS()
	a.TLS.Certificates = nil // the test server's own, which GetCertificate replaces
	t.Cleanup(func() {
		a.set(func() { close(a.cut) })
		a.CloseClientConnections()
		a.Close()
	})
	return a
}

// certify gives the server another certificate of another authority.
func (a *api) certify(t testing.TB) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: fmt.Sprint("ca ", time.Now().UnixNano())},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	a.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (a *api) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// put writes a secret; nil deletes it.
func (a *api) put(place string, data map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	kind := "MODIFIED"
	object := a.secrets[place]
	switch {
	case data == nil:
		kind = "DELETED"
		delete(a.secrets, place)
	case object == nil:
		kind = "ADDED"
		fallthrough
	default:
		namespace, name, _ := strings.Cut(place, "/")
		encoded := map[string]any{}
		for k, v := range data {
			encoded[k] = base64.StdEncoding.EncodeToString([]byte(v))
		}
		object = map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": encoded,
			"metadata": map[string]any{"name": name, "namespace": namespace, "resourceVersion": strconv.Itoa(a.version), "uid": "u"},
		}
		a.secrets[place] = object
	}
	a.history = append(a.history, event{a.version, kind, object})
	close(a.changed)
	a.changed = make(chan struct{})
}

// forget drops the past, and ends all watches: whoever comes back with an old version is told that it is gone.
func (a *api) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version += 10
	a.oldest = a.version
	a.history = nil
	close(a.cut)
	a.cut = make(chan struct{})
}

func (a *api) counts() (gets, watches int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gets, a.watches
}

func status(code int, reason, message string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message, "metadata": map[string]any{}}
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	answer := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
	a.mu.Lock()
	token, code, hang, away, other := a.token, a.status, a.hang, a.away, a.answer
	a.mu.Unlock()
	if other != nil {
		other(w, r)
		return
	}
	if away != "" {
		http.Redirect(w, r, away+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		return
	}
	if hang {
		<-r.Context().Done()
		return
	}
	switch {
	case code != 0:
		answer(code, status(code, "", "a text with hunter2-of-the-database"))
		return
	case r.Header.Get("Authorization") != "Bearer "+token:
		answer(http.StatusUnauthorized, status(http.StatusUnauthorized, "Unauthorized", "Unauthorized"))
		return
	case r.Method != http.MethodGet:
		answer(http.StatusMethodNotAllowed, status(http.StatusMethodNotAllowed, "MethodNotAllowed", ""))
		return
	case r.URL.Path == "/version":
		answer(http.StatusOK, map[string]any{"gitVersion": "v1.34.4"})
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/")
	if len(parts) < 2 || parts[1] != "secrets" || len(parts) > 3 {
		answer(http.StatusNotFound, status(http.StatusNotFound, "NotFound", "no such resource"))
		return
	}
	verb, name := "get", ""
	if len(parts) == 3 {
		name = parts[2]
	} else {
		verb, name = "list", strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		if r.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
	}
	a.mu.Lock()
	denied := a.denied[verb] || verb == "list" // which no role gives
	object := a.secrets[parts[0]+"/"+name]
	if verb == "get" {
		a.gets++
	} else {
		a.watches++
	}
	a.mu.Unlock()
	switch {
	case denied:
		text := fmt.Sprintf(`secrets %q is forbidden: User "u" cannot %s resource "secrets" in API group "" in the namespace %q`, name, verb, parts[0])
		answer(http.StatusForbidden, status(http.StatusForbidden, "Forbidden", text))
	case verb == "watch":
		a.watch(w, r, parts[0]+"/"+name)
	case object == nil:
		answer(http.StatusNotFound, status(http.StatusNotFound, "NotFound", "not found"))
	default:
		answer(http.StatusOK, object)
	}
}

// watch tells the changes of a secret from a version on, or from what is there.
func (a *api) watch(w http.ResponseWriter, r *http.Request, place string) {
	namespace, name, _ := strings.Cut(place, "/")
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	send := func(kind string, object any) {
		_ = encoder.Encode(map[string]any{"type": kind, "object": object})
		w.(http.Flusher).Flush()
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	a.mu.Lock()
	deaf := a.deaf
	a.mu.Unlock()
	if deaf {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	a.mu.Lock()
	cut := a.cut
	switch object := a.secrets[place]; {
	case from == 0:
		from = a.version
		if object != nil {
			send("ADDED", object)
		}
	case from < a.oldest:
		a.mu.Unlock()
		send("ERROR", status(http.StatusGone, "Expired", "too old resource version"))
		return
	}
	a.mu.Unlock()
	w.(http.Flusher).Flush()
	for {
		a.mu.Lock()
		changed := a.changed
		var events []event
		for _, e := range a.history {
			meta, _ := e.secret["metadata"].(map[string]any)
			if e.version > from && meta["namespace"] == namespace && meta["name"] == name {
				events = append(events, e)
			}
		}
		from = a.version
		a.mu.Unlock()
		for _, e := range events {
			send(e.kind, e.secret)
		}
		send("BOOKMARK", map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"resourceVersion": strconv.Itoa(from)}})
		select {
		case <-changed:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// kubeconfig writes how the server is reached now.
func (a *api) kubeconfig(t testing.TB, path string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test, namespace: agents}}, {name: bare, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: test, user: {token: %q}}]
`, a.URL, base64.StdEncoding.EncodeToString(a.ca), a.token)
	next := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}
