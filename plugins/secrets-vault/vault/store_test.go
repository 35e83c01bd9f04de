package vault

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/plugintest"
	"github.com/wardroom/wardroom/sdk/secret"
)

// TestPlugin checks the binary as the appliance runs it.
func TestPlugin(t *testing.T) {
	s := need(t)
	s.put(t, "conformance", map[string]any{"first": "a value of the suite", "second": "another value of the suite"})
	config := s.settings(t, s.role(t, "plugin", nil), map[string]any{"secretPath": "secret/data"})
	p := plugintest.Start(t, plugintest.Options{Path: plugintest.Build(t, ".."), Config: config})
	conformance.Secret(t.Context(), t, conformance.SecretOptions{
		Provider: p.Conn().Secret(), Logs: p.Log().String, Unknown: secret.Ref{Path: "secret/data/nothing", Key: "x"},
		Known: []conformance.KnownSecret{
			{Ref: secret.Ref{Path: "secret/data/conformance", Key: "first"}, Value: []byte("a value of the suite")},
			{Ref: secret.Ref{Path: "secret/data/conformance", Key: "second"}, Value: []byte("another value of the suite")},
		},
	})
	for _, result := range conformance.Quick(t.Context(), p.Conn(), config) {
		if !result.Passed() {
			t.Errorf("%s: %s: %v", result.Name, result.About, result.Err)
		}
	}
	health, err := p.Conn().Health(t.Context())
	if err != nil || health.Status != plugin.StatusOK {
		t.Errorf("health is %+v, %v", health, err)
	}
}

// reviewer is the part of a cluster that Vault asks: it knows one token of a service account. The real method of Vault asks
// it; the cluster is not real here.
func reviewer(t testing.TB, token string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Spec struct {
				Token     string
				Audiences []string
			}
		}
		if r.Method != http.MethodPost || r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" ||
			json.NewDecoder(r.Body).Decode(&in) != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		status := map[string]any{"authenticated": false}
		if in.Spec.Token == token && slices.Equal(in.Spec.Audiences, []string{"vault"}) {
			status = map[string]any{"authenticated": true, "audiences": in.Spec.Audiences, "user": map[string]any{
				"username": "system:serviceaccount:agents:wardroom", "uid": "0d1", "groups": []string{"system:serviceaccounts"},
			}}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// serviceToken is one in the form that a cluster gives out.
func serviceToken(t testing.TB, name string) string {
	t.Helper()
	part := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	return part(map[string]any{"alg": "RS256", "kid": "k"}) + "." + part(map[string]any{
		"iss": "https://kubernetes.default.svc", "sub": "system:serviceaccount:agents:" + name, "aud": []string{"vault"},
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "nbf": time.Now().Unix(),
		"kubernetes.io": map[string]any{"namespace": "agents", "serviceaccount": map[string]any{"name": name, "uid": "0d1"}},
	}) + "." + base64.RawURLEncoding.EncodeToString([]byte("signature"))
}

func TestMethods(t *testing.T) {
	s := need(t)
	jwt := serviceToken(t, "wardroom")
	s.write(t, "auth/kubernetes/config", map[string]any{
		"kubernetes_host": reviewer(t, jwt), "token_reviewer_jwt": serviceToken(t, "reviewer"), "disable_local_ca_jwt": true,
	})
	s.write(t, "auth/kubernetes/role/wardroom", map[string]any{
		"bound_service_account_names": "wardroom", "bound_service_account_namespaces": "agents", "token_policies": "wardroom", "audience": "vault",
	})
	token, _ := s.token(t, &api.TokenCreateRequest{TTL: "1h"})
	cluster := map[string]any{"method": methodKubernetes, "role": "wardroom", "jwtFile": file(t, jwt)}
	foreign := map[string]any{"method": methodKubernetes, "role": "wardroom", "jwtFile": file(t, serviceToken(t, "another"))}
	used := s.role(t, "used", map[string]any{"secret_id_num_uses": 1})
	if _, e := s.provider(t, used, nil).resolve(t, "secret/data/db", "password"); e != nil {
		t.Fatal(e)
	}
	for _, test := range []struct {
		name string
		auth map[string]any
		hint string // of the error; empty: none
	}{
		{"token", token, ""},
		{"approle", s.role(t, "method", nil), ""},
		{"kubernetes", cluster, ""},
		{"token wrong", map[string]any{"method": methodToken, "tokenFile": file(t, "hvs.nobody")}, "write a new token to"},
		{"token missing", map[string]any{"method": methodToken, "tokenFile": "/nowhere/token"}, "/nowhere/token"},
		{"approle used up", used, "used up"},
		{"approle elsewhere", map[string]any{"method": methodAppRole, "mount": "other", "roleId": "x"}, "auth.roleId"},
		{"kubernetes another account", foreign, "role wardroom"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := s.provider(t, test.auth, nil)
			value, e := p.resolve(t, "secret/data/db", "password")
			if test.hint == "" {
				if e != nil || value != password {
					t.Errorf("got %v", e)
				}
				return
			}
			if e == nil || e.Code != secret.CodeForbidden || !e.Retry || !strings.Contains(e.Hint, test.hint) {
				t.Errorf("got %+v", e)
			}
			if health := p.health(t.Context()); health.Status != plugin.StatusFailed || !strings.Contains(health.Reason, test.hint) {
				t.Errorf("health is %+v", health)
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	s := need(t)
	large := strings.Repeat("x", 1<<20)
	control := "a\x00b\nc\u007f\u2028"
	s.put(t, "kinds", map[string]any{"text": "one"})
	s.put(t, "kinds", map[string]any{"text": "two", "number": 5432, "flag": true, "list": []any{"a", 1}, "large": large, "control": control, "empty": "", "markup": "<a&b>"})
	s.put(t, "deleted", map[string]any{"text": "gone"})
	if _, err := s.admin.Logical().Delete("secret/data/deleted"); err != nil {
		t.Fatal(err)
	}
	s.put(t, "small", map[string]any{"b": "<2>", "a": 1})
	s.put(t, "team/db", map[string]any{"text": "relative"})
	s.write(t, "plain/db", map[string]any{"text": "plain", "data": "d", "metadata": "m"})
	p := s.provider(t, s.role(t, "secrets", nil), map[string]any{"secretPath": "secret/data/team"})
	for _, test := range []struct {
		path, key, want string
		code            secret.Code
		text            string // of the error
	}{
		{path: "secret/data/kinds", key: "text", want: "two"},
		{path: "secret/kinds", key: "text", want: "two"},
		{path: "/secret/data/kinds", key: "text", want: "two"},
		{path: "secret/data/kinds?version=1", key: "text", want: "one"},
		{path: "secret/kinds?version=1", key: "text", want: "one"},
		{path: "secret/data/kinds", key: "number", want: "5432"},
		{path: "secret/data/kinds", key: "flag", want: "true"},
		{path: "secret/data/kinds", key: "list", want: `["a",1]`},
		{path: "secret/data/kinds", key: "large", want: large},
		{path: "secret/data/kinds", key: "control", want: control},
		{path: "secret/data/kinds", key: "empty", want: ""},
		{path: "secret/data/small", want: `{"a":"1","b":"<2>"}`},
		{path: "db", key: "text", want: "relative"},
		{path: "/plain/db", key: "text", want: "plain"},
		{path: "/plain/db", key: "metadata", want: "m"},
		{path: "secret/data/kinds", key: "nothing", code: secret.CodeNotFound, text: "no field nothing"},
		{path: "secret/data/nothing", key: "x", code: secret.CodeNotFound, text: "secret/data/nothing"},
		{path: "nothing", key: "x", code: secret.CodeNotFound, text: "secret/data/team/nothing"},
		{path: "/plain/nothing", key: "x", code: secret.CodeNotFound, text: "plain/nothing"},
		{path: "secret/data/kinds?version=9", key: "text", code: secret.CodeNotFound, text: "version=9"},
		{path: "secret/data/deleted", key: "text", code: secret.CodeNotFound, text: " of secret/data/deleted was deleted"},
		{path: "secret/data/forbidden", key: "x", code: secret.CodeForbidden, text: "refuses to read secret/data/forbidden: permission denied"},
		{path: "/elsewhere/x", key: "x", code: secret.CodeForbidden, text: "elsewhere/x"},
		{path: "/sys/mounts", code: secret.CodeInvalidRef, text: "sys/"},
		{path: "secret/../sys/mounts", code: secret.CodeInvalidRef, text: ".."},
		{path: "secret/data/db?list=true", code: secret.CodeInvalidRef, text: "version=N"},
		{path: "", code: secret.CodeInvalidRef, text: "no empty parts"},
	} {
		t.Run(test.path+"#"+test.key, func(t *testing.T) {
			value, e := p.resolve(t, test.path, test.key)
			switch {
			case test.code == "" && (e != nil || value != test.want):
				t.Errorf("got %v, %d bytes", e, len(value))
			case test.code != "" && (e == nil || e.Code != test.code || !strings.Contains(e.Message, test.text)):
				t.Errorf("got %v", e)
			case test.code == secret.CodeForbidden && !strings.Contains(e.Hint, `path "`+strings.TrimPrefix(test.path, "/")+`" { capabilities = ["read"] }`):
				t.Errorf("the hint is %s", e.Hint)
			}
		})
	}
}

// follow returns what a watch tells, one reference at a time.
func (s *store) follow(t testing.TB, paths ...string) <-chan secret.Ref {
	t.Helper()
	var refs []secret.Ref
	for _, path := range paths {
		refs = append(refs, secret.Ref{Path: path, Key: "password"})
	}
	stream, err := s.provider.Watch(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan secret.Ref, 100)
	go func() { // ends with the stream
		defer close(out)
		for {
			refs, err := stream.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				return
			}
			for _, ref := range refs {
				out <- ref
			}
		}
	}()
	t.Cleanup(func() { _ = stream.Close() })
	return out
}

func told(t testing.TB, changes <-chan secret.Ref, path string) {
	t.Helper()
	select {
	case ref := <-changes:
		if ref.Path != path {
			t.Errorf("told of %v, want %s", ref, path)
		}
	case <-time.After(time.Minute):
		t.Fatalf("never told of %s", path)
	}
}

func TestWatch(t *testing.T) {
	s := need(t)
	s.put(t, "watched", map[string]any{"password": "1"})
	p := s.provider(t, s.role(t, "watch", nil), nil)
	if _, e := p.resolve(t, "secret/data/watched", "password"); e != nil {
		t.Fatal(e)
	}
	changes := p.follow(t, "secret/data/watched", "secret/data/db")
	s.put(t, "watched", map[string]any{"password": "2"})
	told(t, changes, "secret/data/watched")
	if value, e := p.resolve(t, "secret/data/watched", "password"); e != nil || value != "2" {
		t.Errorf("got %s, %v", value, e)
	}
	if _, err := s.admin.Logical().Delete("secret/data/watched"); err != nil {
		t.Fatal(err)
	}
	told(t, changes, "secret/data/watched")
}

// A token is renewed before its end, replaced at the end of its longest life, and replaced at once when it was revoked.
func TestTokenLives(t *testing.T) {
	s := need(t)
	p := s.provider(t, s.role(t, "renewed", map[string]any{"token_ttl": "9s"}), nil)
	if _, e := p.resolve(t, "secret/data/db", "password"); e != nil {
		t.Fatal(e)
	}
	first, _ := p.session.current()
	eventually(t, "a renewal", func() bool { now, _ := p.session.current(); return now.expires.After(first.expires) })
	if now, _ := p.session.current(); now.generation != first.generation {
		t.Error("it was replaced, not renewed")
	}
	short := s.provider(t, s.role(t, "short", map[string]any{"token_ttl": "3s", "token_max_ttl": "4s"}), nil)
	if _, e := short.resolve(t, "secret/data/db", "password"); e != nil {
		t.Fatal(e)
	}
	eventually(t, "another token", func() bool { now, _ := short.session.current(); return now.generation > 1 })
	if err := s.admin.Auth().Token().RevokeTree(p.session.reader.Token()); err != nil {
		t.Fatal(err)
	}
	if value, e := p.resolve(t, "secret/data/db", "password"); e != nil || value != password {
		t.Errorf("after the token was revoked: %v", e)
	}
	before := p.session.reader.Token()
	if err := p.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.admin.Auth().Token().Lookup(before); err == nil {
		t.Error("the token lives on after the end of the provider")
	}
}

// The token of a file is read again when it changes, and its end says what to do.
func TestTokenFile(t *testing.T) {
	s := need(t)
	auth, token := s.token(t, &api.TokenCreateRequest{TTL: "1h", Renewable: new(bool)})
	p := s.provider(t, auth, nil)
	if _, e := p.resolve(t, "secret/data/db", "password"); e != nil {
		t.Fatal(e)
	}
	if health := p.health(t.Context()); health.Status != plugin.StatusDegraded || !strings.Contains(health.Reason, "cannot be renewed") {
		t.Errorf("health is %+v", health)
	}
	if err := s.admin.Auth().Token().RevokeTree(token); err != nil {
		t.Fatal(err)
	}
	if _, e := p.resolve(t, "secret/data/db", "password"); e == nil || e.Code != secret.CodeForbidden || !strings.Contains(e.Hint, "write a new token") {
		t.Errorf("got %v", e)
	}
	_, another := s.token(t, &api.TokenCreateRequest{TTL: "1h"})
	path, _ := auth["tokenFile"].(string)
	if err := os.WriteFile(path, []byte(another), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new token", func() bool { value, _ := p.resolve(t, "secret/data/db", "password"); return value == password })
	if err := p.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.admin.Auth().Token().Lookup(another); err != nil {
		t.Error("the token of a file, which is somebody else's, was revoked")
	}
}

// ended reports whether Vault has taken a credential back. Those of other tests end when they do.
func (s *server) ended(t testing.TB, username string) bool {
	t.Helper()
	answer, err := s.admin.Logical().Read("leased/ended/" + username)
	if err != nil {
		t.Fatal(err)
	}
	is, _ := answer.Data["ended"].(bool)
	return is
}

func TestLeases(t *testing.T) {
	s := need(t)
	p := s.provider(t, s.role(t, "leases", nil), nil)
	refs := []secret.Ref{{Path: "leased/creds/app", Key: "username"}, {Path: "leased/creds/app", Key: "password"}}
	read := func() (string, secret.Value) {
		t.Helper()
		results, err := p.provider.Resolve(t.Context(), refs, secret.Caller{})
		if err != nil || results[0].Error != nil || results[1].Error != nil {
			t.Fatal(results, err)
		}
		return string(results[0].Value.Reveal()), results[1].Value
	}
	user, value := read()
	if left := time.Until(value.NotAfter()); left <= 0 || left > leasedFor {
		t.Errorf("it ends in %s", left)
	}
	changes := p.follow(t, "leased/creds/app")
	eventually(t, "a renewal", func() bool { _, now := read(); return now.NotAfter().After(value.NotAfter().Add(time.Second)) })
	if again, _ := read(); again != user {
		t.Error("each reading makes another credential")
	}
	if err := s.admin.Sys().RevokePrefix("leased/creds/app"); err != nil {
		t.Fatal(err)
	}
	told(t, changes, "leased/creds/app")
	if again, _ := read(); again == user {
		t.Error("a credential that was taken back is given out")
	}
	for _, path := range []string{"leased/fixed/app", "short/creds/app"} { // not renewable; of a short longest life
		changes := p.follow(t, path)
		first, e := p.resolve(t, path, "username")
		if e != nil {
			t.Fatal(e)
		}
		told(t, changes, path)
		if second, e := p.resolve(t, path, "username"); e != nil || second == first {
			t.Errorf("%s is not replaced before its end: %v", path, e)
		}
	}
	last, _ := read()
	if s.ended(t, last) {
		t.Error("a credential that was taken back is given out")
	}
	if err := p.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range changes { // what was told at the end
	}
	eventually(t, "the end of the credential", func() bool { return s.ended(t, last) })
}

// With a token of a file, which lives on, each lease is given back by itself.
func TestLeasesOfAForeignToken(t *testing.T) {
	s := need(t)
	if err := s.admin.Sys().PutPolicy("revoker", `path "sys/leases/revoke" { capabilities = ["update"] }`+policy); err != nil {
		t.Fatal(err)
	}
	answer, err := s.admin.Auth().Token().CreateOrphan(&api.TokenCreateRequest{Policies: []string{"revoker"}, TTL: "1h"})
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "sys/mounts/leased/tune", map[string]any{"default_lease_ttl": "10m"})
	defer s.write(t, "sys/mounts/leased/tune", map[string]any{"default_lease_ttl": leasedFor.String()})
	p := s.provider(t, map[string]any{"method": methodToken, "tokenFile": file(t, answer.Auth.ClientToken)}, nil)
	username, e := p.resolve(t, "leased/creds/own", "username")
	if e != nil {
		t.Fatal(e)
	}
	if s.ended(t, username) {
		t.Error("a credential that was taken back is given out")
	}
	if err := p.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the credential", func() bool { return s.ended(t, username) })
}

// Sealed, hung, killed: each is reported as what it is, and nothing needs a restart afterwards.
func TestFaults(t *testing.T) {
	s := fresh(t)
	p := s.provider(t, s.role(t, "faults", nil), map[string]any{"timeout": "5s"})
	good := func() bool { value, _ := p.resolve(t, "secret/data/db", "password"); return value == password }
	eventually(t, "it works without faults", good)
	bad := func(code secret.Code, text, hint string) {
		t.Helper()
		_, e := p.resolve(t, "secret/data/db", "password")
		if e == nil || e.Code != code || !e.Retry || !strings.Contains(e.Message, text) || !strings.Contains(e.Hint, hint) {
			t.Errorf("got %+v, want %s: %s; %s", e, code, text, hint)
		}
		if health := p.health(t.Context()); health.Status != plugin.StatusFailed || !strings.Contains(health.Reason, text) || !strings.Contains(health.Reason, hint) {
			t.Errorf("health is %+v", health)
		}
	}
	if err := s.admin.Sys().Seal(); err != nil {
		t.Fatal(err)
	}
	bad(secret.CodeUnavailable, "sealed", "vault operator unseal")
	if err := s.unseal(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "unsealed", good)

	s.stop(t)
	bad(secret.CodeTimeout, "did not answer within 5s", "timeout")
	s.signal(syscall.SIGCONT)
	eventually(t, "awake", good)

	s.kill()
	bad(secret.CodeUnavailable, "cannot be reached", "that Vault runs")
	other := filepath.Join(t.TempDir(), "ca.pem")
	if err := certify(other, filepath.Join(t.TempDir(), "key.pem")); err != nil {
		t.Fatal(err)
	}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	if err := s.unseal(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "back", good)
	if health := p.health(t.Context()); health.Status != plugin.StatusOK {
		t.Errorf("health is %+v", health)
	}

	// Its authorities are read again when the file changes.
	config, _ := decode(s.settings(t, map[string]any{"method": methodAppRole, "roleId": "x"}, map[string]any{"caCert": other}))
	distrusts := openFor(t, config)
	_, e := distrusts.resolve(t, "secret/data/db", "password")
	if e == nil || e.Code != secret.CodeUnavailable || !strings.Contains(e.Message, "not trusted") || !strings.Contains(e.Hint, "caCert") {
		t.Errorf("got %+v", e)
	}
	right, err := os.ReadFile(s.ca)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, right, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "trust", func() bool {
		_, e := distrusts.resolve(t, "secret/data/db", "password")
		return e != nil && e.Code == secret.CodeForbidden
	})
}

// fake is a server that answers as a test says, behind a login that works.
func fake(t *testing.T, answer http.HandlerFunc) *store {
	t.Helper()
	return openFor(t, fakeConfig(t, answer))
}

// fakeConfig is the configuration of a provider for such a server.
func fakeConfig(t *testing.T, answer http.HandlerFunc) Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Vault-Namespace") != "team/a" || r.Header.Get("X-Vault-Request") != "true" {
			t.Errorf("the headers of %s are %v", r.URL, r.Header)
		}
		if r.URL.Path == "/v1/auth/approle/login" {
			_, _ = io.WriteString(w, `{"auth": {"client_token": "hvs.t", "lease_duration": 3600, "renewable": true}}`)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return Config{
		Address: server.URL, Namespace: "team/a", Auth: Auth{Method: methodAppRole, Mount: methodAppRole, RoleID: "r"},
		timeout: 5 * time.Second, poll: time.Minute,
	}
}

// What a server of another kind, or one in trouble, answers.
func TestStrangeAnswers(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		code   secret.Code
		text   string
	}{
		{"too long", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"data": {"a": "`+strings.Repeat("x", maxAnswer)+`"}}`)
		}, secret.CodeInvalidRef, "more than 8 MiB"},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>"+password) }, secret.CodeUnavailable, ""},
		{"busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, secret.CodeUnavailable, "429"},
		{"standby", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(473) }, secret.CodeUnavailable, "standby"},
		{"broken", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"errors": ["`+password+`"]}`)
		}, secret.CodeUnavailable, "status 500"},
		{"not readable", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }, secret.CodeInvalidRef, "405"},
		{"upgraded", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"errors": ["Upgrading from non-versioned to versioned data. This backend will be unavailable for a brief period and will resume service shortly."]}`)
		}, secret.CodeUnavailable, "version 2"},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"data"`)
		}, secret.CodeUnavailable, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, e := fake(t, test.answer).resolve(t, "secret/data/db", "a")
			if e == nil || e.Code != test.code || !strings.Contains(e.Message, test.text) || strings.Contains(e.Message+e.Hint, password) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// A lease that is over when it comes is not made anew at once, over and over.
func TestLeaseWithoutLife(t *testing.T) {
	made := make(chan time.Time, 100)
	p := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/leased/creds/app" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		made <- time.Now()
		_, _ = io.WriteString(w, `{"lease_id": "leased/creds/app/1", "lease_duration": 0, "renewable": true, "data": {"username": "u"}}`)
	})
	changes := p.follow(t, "leased/creds/app")
	var first time.Time
	for i := range 3 {
		if _, e := p.resolve(t, "leased/creds/app", "username"); e != nil {
			t.Fatal(e)
		}
		at := <-made
		for len(made) > 0 { // who watches may have asked as well
			at = <-made
		}
		if i == 0 {
			first = at
		} else if least := time.Duration(i) * leastHold; at.Sub(first) < least {
			t.Errorf("credential %d is asked for after %s, want %s at least", i, at.Sub(first), least)
		}
		told(t, changes, "leased/creds/app")
	}
}

// A token of a file that nears its end, and cannot or may not be renewed, is used until then: it is not asked about over and over, nor
// are credentials made anew for it.
func TestEndOfATokenFile(t *testing.T) {
	for name, renewable := range map[string]bool{"cannot be renewed": false, "may not be renewed": true} {
		t.Run(name, func(t *testing.T) {
			var looks, renewals, made atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/v1/auth/token/lookup-self":
					looks.Add(1)
					_, _ = fmt.Fprintf(w, `{"data": {"creation_ttl": 3600, "ttl": 600, "renewable": %t}}`, renewable)
				case "/v1/auth/token/renew-self":
					renewals.Add(1)
					w.WriteHeader(http.StatusForbidden)
					_, _ = io.WriteString(w, `{"errors": ["permission denied"]}`)
				case "/v1/leased/creds/app":
					n := made.Add(1)
					_, _ = fmt.Fprintf(w, `{"lease_id": "leased/creds/app/%d", "lease_duration": 300, "renewable": true, "data": {"username": "u%d"}}`, n, n)
				case "/v1/sys/health":
					_, _ = io.WriteString(w, `{"initialized": true}`)
				case "/v1/plain/db":
					_, _ = io.WriteString(w, `{"data": {"password": "p"}}`)
				default:
					w.WriteHeader(http.StatusForbidden)
				}
			}))
			t.Cleanup(server.Close)
			p := openFor(t, Config{
				Address: server.URL, Auth: Auth{Method: methodToken, TokenFile: file(t, "hvs.t")}, timeout: 5 * time.Second, poll: time.Minute,
			})
			eventually(t, "its state", func() bool {
				health := p.health(t.Context())
				return health.Status == plugin.StatusDegraded && strings.Contains(health.Reason, "cannot be renewed")
			})
			for range 200 { // which takes a time
				for place, field := range map[string]string{"plain/db": "password", "leased/creds/app": "username"} {
					if _, e := p.resolve(t, place, field); e != nil {
						t.Fatal(e)
					}
				}
			}
			if looks.Load() > 1 || renewals.Load() > 1 || made.Load() > 1 {
				t.Errorf("asked about %d times, for a renewal %d times, and for %d credentials", looks.Load(), renewals.Load(), made.Load())
			}
		})
	}
}

// Without a right to look at mounts, the form of an answer tells what it is.
func TestMountsAreNotNeeded(t *testing.T) {
	p := fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v1/sys/internal/ui/mounts/"):
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errors": ["preflight capability check returned 403"]}`)
		case r.URL.Path == "/v1/secret/data/db":
			_, _ = io.WriteString(w, `{"data": {"data": {"a": "1"}, "metadata": {"version": 4, "created_time": "2026-01-01T00:00:00Z"}}}`)
		default:
			_, _ = io.WriteString(w, `{"data": {"a": "2"}}`)
		}
	})
	for path, want := range map[string]string{"secret/data/db": "1", "kv/db": "2"} {
		if value, e := p.resolve(t, path, "a"); e != nil || value != want {
			t.Errorf("%s: got %s, %v", path, value, e)
		}
	}
}

func TestProblems(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	definition := Definition("test")
	for _, test := range []struct {
		config, path, severity, text string
	}{
		{`{"address": "http://127.0.0.1:8200", "auth": {"method": "approle", "roleId": "r"}}`, "", "", ""},
		{`{"auth": {"method": "token", "tokenFile": "/x"}}`, "", plugin.SeverityError, "lacks address"},
		{`{"address": "vault:8200", "auth": {"method": "approle", "roleId": "r"}}`, "/address", plugin.SeverityError, "must match"},
		{`{"address": "http://vault:8200", "auth": {"method": "approle", "roleId": "r"}}`, "/address", plugin.SeverityWarning, "without TLS"},
		{`{"address": "https://v", "auth": {"method": "ldap"}}`, "/auth/method", plugin.SeverityError, ""},
		{`{"address": "https://v", "auth": {"method": "approle"}}`, "/auth/roleId", plugin.SeverityError, "is needed"},
		{`{"address": "https://v", "auth": {"method": "kubernetes"}}`, "/auth/role", plugin.SeverityError, "is needed"},
		{`{"address": "https://v", "auth": {"method": "token"}}`, "/auth/tokenFile", plugin.SeverityError, "is needed"},
		{`{"address": "https://v", "auth": {"method": "approle", "roleId": "r", "jwtFile": "/x"}}`, "/auth/jwtFile", plugin.SeverityError, "does nothing"},
		{`{"address": "https://v", "auth": {"method": "token", "tokenFile": "` + empty + `"}}`, "/auth/tokenFile", plugin.SeverityWarning, "at the moment"},
		{`{"address": "https://v", "auth": {"method": "token", "tokenFile": "/x", "mount": "m"}}`, "/auth/mount", plugin.SeverityError, "does nothing"},
		{`{"address": "https://v", "caCert": "` + empty + `", "auth": {"method": "approle", "roleId": "r"}}`, "/caCert", plugin.SeverityError, "no certificate"},
		{`{"address": "https://v", "caCert": "/nowhere", "auth": {"method": "approle", "roleId": "r"}}`, "/caCert", plugin.SeverityWarning, "at the moment"},
		{`{"address": "https://v", "timeout": "0s", "auth": {"method": "approle", "roleId": "r"}}`, "/timeout", plugin.SeverityError, "above zero"},
		{`{"address": "https://v", "pollInterval": "1ms", "auth": {"method": "approle", "roleId": "r"}}`, "/pollInterval", plugin.SeverityError, "1s or more"},
		{`{"address": "https://v", "token": "x", "auth": {"method": "approle", "roleId": "r"}}`, "", plugin.SeverityError, "unknown setting token"},
	} {
		problems, err := definition.Check(context.Background(), json.RawMessage(test.config))
		if err != nil {
			t.Fatal(err)
		}
		if test.severity == "" {
			if len(problems) > 0 {
				t.Errorf("%s: %+v", test.config, problems)
			}
			continue
		}
		found := false
		for _, p := range problems {
			found = found || p.Path == test.path && p.Severity == test.severity && strings.Contains(p.Text, test.text)
		}
		if !found {
			t.Errorf("%s: %+v", test.config, problems)
		}
	}
}
