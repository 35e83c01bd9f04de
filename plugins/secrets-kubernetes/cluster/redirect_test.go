package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/sdk/secret"
)

// An answer that leads elsewhere is not followed: the token of the account would go there, and what comes from there is no secret
// of the cluster.
func TestNoRedirect(t *testing.T) {
	var token atomic.Value
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token.Store(r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "db"}, "data": {"password": "eA=="}}`)
	}))
	defer elsewhere.Close()
	a := newAPI(t)
	settings, _ := a.settings(t, nil)
	s := provider(t, settings)
	a.set(func() { a.away = elsewhere.URL })
	if value, err := s.resolve(t, "agents/db", "password"); err == nil || err.Code != secret.CodeUnavailable {
		t.Errorf("the secret is %q, %v", value, err)
	}
	if got := token.Load(); got != nil {
		t.Errorf("another host was asked, with the token %q", got)
	}
}
