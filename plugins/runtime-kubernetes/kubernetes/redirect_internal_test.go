package kubernetes

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// An answer that leads elsewhere is not followed, neither by calls nor by the streams to pods: the credential of the runtime, which
// may make pods and run commands in them, would go there.
func TestNoRedirect(t *testing.T) {
	var token atomic.Value
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token.Store(r.Method + " with " + r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}`)
	}))
	defer elsewhere.Close()
	for name, status := range map[string]int{"found": http.StatusFound, "temporary": http.StatusTemporaryRedirect} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // credentials go over TLS only
			http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), status)
		}))
		defer server.Close()
		path := kubeconfigOf(t, t.TempDir(), server.URL)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		user := strings.NewReplacer(`"server"`, `"insecure-skip-tls-verify": true, "server"`, `"contexts"`, `"users": [{"name": "u", "user": {"token": "hunter2"}}], "contexts"`, `"cluster": "c"`, `"cluster": "c", "user": "u"`)
		if err := os.WriteFile(path, []byte(user.Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := openCluster(&Config{Kubeconfig: path}, "test")
		if err != nil {
			t.Fatal(err)
		}
		defer k.close()
		calls := map[string]func(ctx context.Context) error{
			"call":   func(ctx context.Context) error { _, err := k.get(ctx, "p"); return err },
			"stream": func(ctx context.Context) error { return k.stream("p", "/holder")(ctx, nil, io.Discard, "version") },
		}
		for what, call := range calls {
			if err := call(t.Context()); err == nil {
				t.Errorf("%s: the %s succeeds", name, what)
			}
			if got := token.Swap(""); got != nil && got != "" {
				t.Errorf("%s: another host had the %s: %s", name, what, got)
			}
		}
	}
}
