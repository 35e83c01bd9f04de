package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/plugintest"
	"github.com/wardroom/wardroom/sdk/secret"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		err := goleak.Find()
		for until := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(until); { // idle connections end by themselves
			err = goleak.Find()
		}
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

const password = "hunter2-of-the-database"

// settings are the plugin's for an API, by a kubeconfig.
func (a *api) settings(t testing.TB, more map[string]any) (json.RawMessage, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	a.kubeconfig(t, path)
	all := map[string]any{"kubeconfig": path, "timeout": "5s", "pollInterval": "1s"}
	for k, v := range more {
		all[k] = v
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data, path
}

func provider(t testing.TB, settings json.RawMessage) *store {
	t.Helper()
	c, problems := decode(settings)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var log bytes.Buffer
	s := open(c, hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Trace}))
	t.Cleanup(func() {
		_ = s.close(context.Background())
		if strings.Contains(log.String(), password) {
			t.Error("the log holds a secret")
		}
	})
	return s
}

// resolve resolves one reference.
func (s *store) resolve(t testing.TB, path, key string) (string, *secret.Error) {
	t.Helper()
	results, err := s.provider.Resolve(t.Context(), []secret.Ref{{Path: path, Key: key}}, secret.Caller{})
	if err != nil {
		return "", secret.AsError(err)
	}
	return string(results[0].Value.Reveal()), results[0].Error
}

// TestPlugin checks the binary as the appliance runs it.
func TestPlugin(t *testing.T) {
	a := newAPI(t)
	a.put("agents/db", map[string]string{"user": "a user of the suite", "password": password})
	settings, _ := a.settings(t, nil)
	p := plugintest.Start(t, plugintest.Options{Path: plugintest.Build(t, ".."), Config: settings})
	conformance.Secret(t.Context(), t, conformance.SecretOptions{
		Provider: p.Conn().Secret(), Logs: p.Log().String, Unknown: secret.Ref{Path: "nothing", Key: "x"},
		Known: []conformance.KnownSecret{
			{Ref: secret.Ref{Path: "db", Key: "user"}, Value: []byte("a user of the suite")},
			{Ref: secret.Ref{Path: "agents/db", Key: "password"}, Value: []byte(password)},
		},
	})
	for _, result := range conformance.Quick(t.Context(), p.Conn(), settings) {
		if !result.Passed() {
			t.Errorf("%s: %s: %v", result.Name, result.About, result.Err)
		}
	}
	health, err := p.Conn().Health(t.Context())
	if err != nil || health.Status != plugin.StatusOK {
		t.Errorf("health is %+v, %v", health, err)
	}
}

func TestSecrets(t *testing.T) {
	a := newAPI(t)
	large := strings.Repeat("x", 1<<20-100)
	a.put("agents/db", map[string]string{"password": password, "tls.crt": "c", "empty": "", "binary": "\x00\xff"})
	a.put("agents/plain", map[string]string{"a": "1"})
	a.put("agents/large", map[string]string{"a": large})
	a.put("agents/none", map[string]string{})
	a.put("other/db", map[string]string{"password": "of another namespace"})
	settings, _ := a.settings(t, map[string]any{"secretRef": map[string]any{"name": "db", "key": "password"}})
	s := provider(t, settings)
	for _, test := range []struct {
		path, key, want string
		code            secret.Code
		text            string // of the error
	}{
		{path: "db", key: "password", want: password},
		{path: "agents/db", key: "tls.crt", want: "c"},
		{path: "other/db", key: "password", want: "of another namespace"},
		{path: "db", key: "binary", want: "\x00\xff"},
		{path: "db", key: "empty", want: ""},
		{path: "plain", want: `{"a":"1"}`},
		{path: "none", want: `{}`},
		{path: "large", key: "a", want: large},
		{path: "", want: password},
		{path: "", key: "tls.crt", want: "c"},
		{path: "db", code: secret.CodeInvalidRef, text: "binary"},
		{path: "db", key: "x", code: secret.CodeNotFound, text: "no field x"},
		{path: "nothing", key: "x", code: secret.CodeNotFound, text: "agents/nothing"},
		{path: "Db", code: secret.CodeInvalidRef, text: "NAMESPACE/NAME"},
		{path: "a/b/c", code: secret.CodeInvalidRef, text: "NAMESPACE/NAME"},
		{path: "/db", code: secret.CodeInvalidRef, text: "NAMESPACE/NAME"},
		{path: "../db", code: secret.CodeInvalidRef, text: "NAMESPACE/NAME"},
	} {
		t.Run(test.path+"#"+test.key, func(t *testing.T) {
			value, e := s.resolve(t, test.path, test.key)
			switch {
			case test.code == "" && (e != nil || value != test.want):
				t.Errorf("got %v, %d bytes", e, len(value))
			case test.code != "" && (e == nil || e.Code != test.code || !strings.Contains(e.Message, test.text)):
				t.Errorf("got %v", e)
			}
		})
	}
	bare, _ := a.settings(t, map[string]any{"context": "bare", "namespace": "other"})
	if value, e := provider(t, bare).resolve(t, "db", "password"); e != nil || value != "of another namespace" {
		t.Errorf("with a namespace of the configuration: %v", e)
	}
	if _, e := provider(t, bare).resolve(t, "", ""); e == nil || e.Code != secret.CodeInvalidRef || !strings.Contains(e.Message, "secretRef") {
		t.Errorf("without secretRef: %v", e)
	}
}

func TestInside(t *testing.T) {
	a := newAPI(t)
	a.put("pods/db", map[string]string{"password": password})
	dir := t.TempDir()
	for name, text := range map[string]string{"token": a.token, "ca.crt": string(a.ca), "namespace": "pods\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	former := accountDir
	accountDir = dir
	defer func() { accountDir = former }()
	u, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", u.Hostname())
	t.Setenv("KUBERNETES_SERVICE_PORT", u.Port())
	if value, e := provider(t, json.RawMessage(`{}`)).resolve(t, "db", "password"); e != nil || value != password {
		t.Errorf("got %v", e)
	}
	accountDir = filepath.Join(dir, "none")
	s := open(Config{timeout: time.Second, poll: time.Second}, hclog.NewNullLogger())
	defer func() { _ = s.close(t.Context()) }()
	if _, e := s.resolve(t, "db", "password"); e == nil || e.Code != secret.CodeNotConfigured || !strings.Contains(e.Hint, "kubeconfig") {
		t.Errorf("outside of a cluster: %+v", e)
	}
}

// follow returns what a watch of references tells.
func (s *store) follow(t testing.TB, refs ...secret.Ref) <-chan secret.Ref {
	t.Helper()
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

func told(t testing.TB, changes <-chan secret.Ref, want secret.Ref) {
	t.Helper()
	select {
	case ref := <-changes:
		if ref != want {
			t.Errorf("told of %v, want %v", ref, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("never told of %v", want)
	}
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("it never comes: %s", what)
		}
	}
}

func TestWatch(t *testing.T) {
	a := newAPI(t)
	a.put("agents/db", map[string]string{"password": "1"})
	settings, _ := a.settings(t, nil)
	s := provider(t, settings)
	db, late := secret.Ref{Path: "db", Key: "password"}, secret.Ref{Path: "late", Key: "a"}
	for _, ref := range []secret.Ref{db, late} {
		_, _ = s.resolve(t, ref.Path, ref.Key)
	}
	changes := s.follow(t, db, late)
	watching := func(n int) {
		t.Helper()
		eventually(t, "a watch", func() bool { _, watches := a.counts(); return watches >= n })
	}
	watching(2)
	gets, _ := a.counts()
	a.put("agents/db", map[string]string{"password": "2"})
	told(t, changes, db)
	if after, _ := a.counts(); after != gets {
		t.Error("a change was found by reading, not by the watch")
	}
	a.put("agents/late", map[string]string{"a": "1"})
	told(t, changes, late)
	a.put("agents/db", nil)
	told(t, changes, db)
	a.put("agents/db", map[string]string{"password": "3"})
	told(t, changes, db)
	a.forget() // the watch is cut, and its version is gone: it is read again
	a.put("agents/db", map[string]string{"password": "4"})
	told(t, changes, db)
	a.CloseClientConnections()
	a.put("agents/db", map[string]string{"password": "5"})
	told(t, changes, db)
	if value, e := s.resolve(t, "db", "password"); e != nil || value != "5" {
		t.Errorf("got %s, %v", value, e)
	}
}

// A watch that stays open and silent, as one through a proxy that lost its server, is ended from here: what changed is read.
func TestWatchSilent(t *testing.T) {
	a := newAPI(t)
	a.put("agents/db", map[string]string{"password": "1"})
	settings, _ := a.settings(t, map[string]any{"timeout": "1s"})
	s := provider(t, settings)
	s.watched = 100 * time.Millisecond
	db := secret.Ref{Path: "db", Key: "password"}
	_, _ = s.resolve(t, db.Path, db.Key)
	a.set(func() { a.deaf = true })
	changes := s.follow(t, db)
	eventually(t, "a watch", func() bool { _, watches := a.counts(); return watches >= 1 })
	a.put("agents/db", map[string]string{"password": "2"})
	told(t, changes, db)
}

func TestRights(t *testing.T) {
	a := newAPI(t)
	a.put("agents/db", map[string]string{"password": "1"})
	settings, _ := a.settings(t, nil)
	s := provider(t, settings)
	a.set(func() { a.denied["get"] = true })
	_, e := s.resolve(t, "db", "password")
	if e == nil || e.Code != secret.CodeForbidden || !strings.Contains(e.Message, "verb get on the secret agents/db") ||
		!strings.Contains(e.Hint, `namespace agents`) || !strings.Contains(e.Hint, `resourceNames: ["db"], verbs: ["get", "watch"]`) {
		t.Errorf("got %+v", e)
	}
	a.set(func() { a.denied = map[string]bool{"watch": true} })
	ref := secret.Ref{Path: "db", Key: "password"}
	changes := s.follow(t, ref)
	eventually(t, "health that tells of it", func() bool {
		health := s.health(t.Context())
		return health.Status == plugin.StatusDegraded && strings.Contains(health.Reason, "verb watch is missing")
	})
	for len(changes) > 0 {
		<-changes
	}
	a.put("agents/db", map[string]string{"password": "2"})
	told(t, changes, ref) // by reading
	a.set(func() { a.denied = map[string]bool{} })
	eventually(t, "health without it", func() bool { return s.health(t.Context()).Status == plugin.StatusOK })
}

// The authorities and the token of the cluster change, and with them kubeconfig: it is read again.
func TestRotation(t *testing.T) {
	a := newAPI(t)
	a.put("agents/db", map[string]string{"password": password})
	settings, path := a.settings(t, nil)
	s := provider(t, settings)
	if _, e := s.resolve(t, "db", "password"); e != nil {
		t.Fatal(e)
	}
	a.set(func() { a.token = "another" })
	_, e := s.resolve(t, "db", "password")
	if e == nil || e.Code != secret.CodeForbidden || !e.Retry || !strings.Contains(e.Hint, "kubeconfig") {
		t.Errorf("got %+v", e)
	}
	a.kubeconfig(t, path)
	eventually(t, "the new token", func() bool { _, e := s.resolve(t, "db", "password"); return e == nil })
	a.certify(t)
	a.CloseClientConnections()
	_, e = s.resolve(t, "db", "password")
	if e == nil || e.Code != secret.CodeUnavailable || !strings.Contains(e.Message, "not trusted") {
		t.Errorf("got %+v", e)
	}
	if health := s.health(t.Context()); health.Status != plugin.StatusFailed || !strings.Contains(health.Reason, "not trusted") {
		t.Errorf("health is %+v", health)
	}
	a.kubeconfig(t, path)
	eventually(t, "the new authorities", func() bool { _, e := s.resolve(t, "db", "password"); return e == nil })
	if health := s.health(t.Context()); health.Status != plugin.StatusOK {
		t.Errorf("health is %+v", health)
	}
}

func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(a *api)
		code  secret.Code
		text  string
	}{
		{"broken", func(a *api) { a.status = http.StatusInternalServerError }, secret.CodeUnavailable, "status 500"},
		{"busy", func(a *api) { a.status = http.StatusServiceUnavailable }, secret.CodeUnavailable, "status 503"},
		{"hung", func(a *api) { a.hang = true }, secret.CodeTimeout, "within 1s"},
		{"down", func(a *api) { a.Listener.Close() }, secret.CodeUnavailable, "cannot be reached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAPI(t)
			a.put("agents/db", map[string]string{"password": password})
			settings, _ := a.settings(t, map[string]any{"timeout": "1s"})
			s := provider(t, settings)
			a.set(func() { test.fault(a) })
			_, e := s.resolve(t, "db", "password")
			if e == nil || e.Code != test.code || !e.Retry || !strings.Contains(e.Message, test.text) || strings.Contains(e.Message+e.Hint, password) {
				t.Errorf("got %+v", e)
			}
			if health := s.health(t.Context()); health.Status != plugin.StatusFailed {
				t.Errorf("health is %+v", health)
			}
		})
	}
}

// TestRealCluster reads and watches a secret that it makes in the cluster of WARDROOM_KUBECONFIG.
func TestRealCluster(t *testing.T) {
	path := os.Getenv("WARDROOM_KUBECONFIG")
	if path == "" {
		t.Skip("WARDROOM_KUBECONFIG names no cluster")
	}
	settings, err := json.Marshal(map[string]any{"kubeconfig": path, "namespace": "default"})
	if err != nil {
		t.Fatal(err)
	}
	s := provider(t, settings)
	conn, e := s.connection(nil)
	if e != nil {
		t.Fatal(e)
	}
	name := fmt.Sprintf("wardroom-test-%d", time.Now().UnixNano())
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string][]byte{"password": []byte("\x00\xff1")}}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(conn.rest.Post().Namespace("default").Resource("secrets").Body(object).Do(t.Context()).Into(object))
	deleted := false
	remove := func() error {
		deleted = true
		return conn.rest.Delete().Namespace("default").Resource("secrets").Name(name).Do(context.Background()).Error()
	}
	defer func() {
		if !deleted {
			_ = remove()
		}
	}()
	ref := secret.Ref{Path: name, Key: "password"}
	if value, e := s.resolve(t, name, "password"); e != nil || value != "\x00\xff1" {
		t.Fatalf("got %q, %v", value, e)
	}
	changes := s.follow(t, ref)
	object.Data["password"] = []byte("2")
	do(conn.rest.Put().Namespace("default").Resource("secrets").Name(name).Body(object).Do(t.Context()).Into(object))
	told(t, changes, ref)
	if value, e := s.resolve(t, name, "password"); e != nil || value != "2" {
		t.Errorf("got %q, %v", value, e)
	}
	do(remove())
	told(t, changes, ref)
	if _, e := s.resolve(t, name, "password"); e == nil || e.Code != secret.CodeNotFound {
		t.Errorf("got %v", e)
	}
}

func TestProblems(t *testing.T) {
	a := newAPI(t)
	_, path := a.settings(t, nil)
	definition := Definition("test")
	for _, test := range []struct{ config, path, severity, text string }{
		{`{"kubeconfig": "` + path + `"}`, "", "", ""},
		{`{"kubeconfig": "` + path + `", "context": "none"}`, "/kubeconfig", plugin.SeverityWarning, "context"},
		{`{"kubeconfig": "/nowhere/kubeconfig"}`, "/kubeconfig", plugin.SeverityWarning, "cannot be used"},
		{`{}`, "", plugin.SeverityWarning, "no service account"},
		{`{"context": "x"}`, "/context", plugin.SeverityError, "without kubeconfig"},
		{`{"namespace": "A"}`, "/namespace", plugin.SeverityError, "must match"},
		{`{"secretRef": {"key": "a"}}`, "/secretRef", plugin.SeverityError, "lacks name"},
		{`{"timeout": "0s"}`, "/timeout", plugin.SeverityError, "above zero"},
		{`{"pollInterval": "1ms"}`, "/pollInterval", plugin.SeverityError, "1s or more"},
		{`{"token": "x"}`, "", plugin.SeverityError, "unknown setting token"},
	} {
		problems, err := definition.Check(context.Background(), json.RawMessage(test.config))
		if err != nil {
			t.Fatal(err)
		}
		found := test.severity == "" && len(problems) == 0
		for _, p := range problems {
			found = found || p.Path == test.path && p.Severity == test.severity && strings.Contains(p.Text, test.text)
		}
		if !found {
			t.Errorf("%s: %+v", test.config, problems)
		}
	}
}
