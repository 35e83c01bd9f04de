package kubernetes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// commandConfig writes a kubeconfig whose credential a script gets, and returns its path.
func commandConfig(t *testing.T, server, script string) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": server, "insecure-skip-tls-verify": true}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "namespace": "ns", "user": "u"}}},
		"users": []any{map[string]any{"name": "u", "user": map[string]any{"exec": map[string]any{
			"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "sh", "args": []string{"-c", script},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hanging is a script that hangs in a child, whose process id it writes to a file; the test ends that where nothing else does.
func hanging(t *testing.T) (script, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "pid")
	t.Cleanup(func() {
		if data, err := os.ReadFile(file); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return "sleep 1000 & echo $! >" + file + "; wait", file
}

// TestCredentialCommandHangs has the command of a kubeconfig hang: a call ends with its time and names the command, and a runtime closes at
// once, with the command.
func TestCredentialCommandHangs(t *testing.T) {
	t.Parallel()
	script, file := hanging(t)
	config, err := decode([]byte(`{"image": "i", "kubeconfig": "`+commandConfig(t, "https://127.0.0.1:1", script)+`"}`), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(Options{Config: config, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := l.cluster.get(ctx, "p")
		done <- errors.Join(err, l.Close())
	}()
	select {
	case err = <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the call and Close hang with the command")
	}
	if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeUnavailable || !e.Retry || !strings.Contains(e.Message, "the command of the kubeconfig that gets the credential, sh, has not ended after ") {
		t.Errorf("the call ends with %v", err)
	}
	if data, err := os.ReadFile(file); err == nil {
		pid := strings.TrimSpace(string(data))
		limit := time.After(10 * time.Second) // the kernel ends it when it comes to that
		for tick := time.Tick(time.Millisecond); runs(pid); {
			select {
			case <-tick:
			case <-limit:
				t.Fatal("what the command started runs on")
			}
		}
	}
}

// runs reports whether a process has not ended. One that waits for its parent to take note has.
func runs(pid string) bool {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, state, ok := strings.Cut(string(data), ") ")
	return err == nil && ok && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// TestCredentialRenewed has a command give another certificate each time: calls and execs have it, and the next one once the API server
// knows it no more.
func TestCredentialRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"c1", "c2"} {
		writeCertificate(t, dir, name)
	}
	var seen sync.Map // who called, by path
	var known atomic.Value
	known.Store("c1")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := ""
		if len(r.TLS.PeerCertificates) > 0 {
			who = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		seen.Store(filepath.Base(r.URL.Path), who)
		if who != known.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		new(silentNode).ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	count := filepath.Join(dir, "count")
	k := openCommand(t, server, `echo >>`+count+`; n=$(grep -c "" `+count+`); `+
		`printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"clientCertificateData": "%s", "clientKeyData": "%s"}}' `+
		`"$(cat `+dir+`/c$n.crt)" "$(cat `+dir+`/c$n.key)"`)
	for _, name := range []string{"c1", "c2"} {
		if name == "c2" {
			known.Store("c2")
			if _, err := k.get(t.Context(), "p"); runtime.ErrorCode(err) != runtime.CodeUnavailable || !strings.Contains(err.Error(), "does not know the runtime's account") {
				t.Errorf("with a certificate that has ended: %v", err)
			}
		}
		if pod, err := k.get(t.Context(), "p"); pod != nil || err != nil {
			t.Errorf("a call of %s gets %v, %v", name, pod, err)
		}
		_ = k.stream("p", "holder")(t.Context(), nil, io.Discard, "look")
		for _, call := range []string{"p", "exec"} {
			if who, _ := seen.Load(call); who != name {
				t.Errorf("%s is called by %v, want %s", call, who, name)
			}
		}
	}
}

// TestCredentialRefused has the command of a kubeconfig give what is no credential: the error reports what is missing, and has none of it.
func TestCredentialRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(new(silentNode))
	defer server.Close()
	for name, tt := range map[string]struct{ script, words string }{
		"Missing": {"exit 127", "exit code 127"},
		"Text":    {"echo secret", "it is no ExecCredential of client.authentication.k8s.io/v1"},
		"Empty":   {giving(``), "neither a token nor a certificate"},
		"Half":    {giving(`"clientCertificateData": "secret"`), "a certificate or a key, and needs both"},
		"Damaged": {giving(`"clientCertificateData": "secret", "clientKeyData": "secret"`), "cannot be read"},
		"Endless": {"while echo secret; do :; done", "writes more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openCommand(t, server, tt.script).get(t.Context(), "p")
			e := runtime.AsError(err)
			if e == nil || e.Code != runtime.CodeUnavailable || !strings.Contains(e.Message, tt.words) || strings.Contains(err.Error(), "secret") {
				t.Errorf("it is %v", err)
			}
		})
	}
}

// giving is a script that gives a credential with a status.
func giving(status string) string {
	return `echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {` + status + `}}'`
}

// openCommand opens the cluster of a server with a credential that a script gets.
func openCommand(t *testing.T, server *httptest.Server, script string) *cluster {
	t.Helper()
	k, err := openCluster(&Config{Kubeconfig: commandConfig(t, server.URL, script)}, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.close)
	return k
}

// writeCertificate makes a certificate with a name, and its key, in two files whose lines can stand in JSON.
func writeCertificate(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: cert}, ".key": {Type: "PRIVATE KEY", Bytes: pkcs}} {
		text := strings.ReplaceAll(string(pem.EncodeToMemory(block)), "\n", `\n`)
		if err := os.WriteFile(filepath.Join(dir, name+file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
