package aws

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/plugintest"
	"github.com/wardroom/wardroom/sdk/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "hunter2-of-the-database"

// settings are the plugin's for a service.
func (s *service) settings(t testing.TB, more map[string]any) json.RawMessage {
	t.Helper()
	all := map[string]any{"region": region, "secretPrefix": "wardroom/", "endpoint": s.URL, "pollInterval": "1s"}
	for k, v := range more {
		all[k] = v
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// environment has the SDK find credentials, or none.
func environment(t testing.TB, id, key string) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": key, "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"),
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
	} {
		t.Setenv(name, value)
	}
}

func (s *service) provider(t testing.TB, more map[string]any) *store {
	t.Helper()
	c, problems := decode(s.settings(t, more))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, err := open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.close(context.Background()) })
	return p
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
	s := newService(t)
	s.put("wardroom/db", version{id: "v1", stages: []string{"AWSCURRENT"}, text: `{"password": "` + password + `"}`})
	s.put("wardroom/text", version{id: "v1", stages: []string{"AWSCURRENT"}, text: "a text that is whole"})
	p := plugintest.Start(t, plugintest.Options{
		Path: plugintest.Build(t, ".."), Config: s.settings(t, nil),
		Env: []string{"AWS_ACCESS_KEY_ID=" + keyID, "AWS_SECRET_ACCESS_KEY=" + secretKey, "AWS_EC2_METADATA_DISABLED=true"},
	})
	conformance.Secret(t.Context(), t, conformance.SecretOptions{
		Provider: p.Conn().Secret(), Logs: p.Log().String, Unknown: secret.Ref{Path: "nothing"},
		Known: []conformance.KnownSecret{
			{Ref: secret.Ref{Path: "db", Key: "password"}, Value: []byte(password)},
			{Ref: secret.Ref{Path: "text"}, Value: []byte("a text that is whole")},
		},
	})
	for _, result := range conformance.Quick(t.Context(), p.Conn(), s.settings(t, nil)) {
		if !result.Passed() {
			t.Errorf("%s: %s: %v", result.Name, result.About, result.Err)
		}
	}
}

func TestSecrets(t *testing.T) {
	environment(t, keyID, secretKey)
	s := newService(t)
	old, now := strings.Repeat("0", 32), strings.Repeat("1", 32)
	large := strings.Repeat("x", 65536)
	s.put("wardroom/db",
		version{id: old, stages: []string{"AWSPREVIOUS"}, text: `{"password": "old"}`},
		version{id: now, stages: []string{"AWSCURRENT"}, text: `{"password": "` + password + `", "port": 5432, "empty": "", "tls": {"on": true}}`})
	s.put("wardroom/text", version{id: now, stages: []string{"AWSCURRENT"}, text: "no JSON"})
	s.put("wardroom/list", version{id: now, stages: []string{"AWSCURRENT"}, text: "[1]"})
	s.put("wardroom/large", version{id: now, stages: []string{"AWSCURRENT"}, text: large})
	s.put("wardroom/binary", version{id: now, stages: []string{"AWSCURRENT"}, binary: []byte{0, 0xff, 1}})
	s.put("wardroom/deleted")
	s.put("other", version{id: now, stages: []string{"AWSCURRENT"}, text: "by its ARN"})
	s.put("wardroom/denied", version{id: now, stages: []string{"AWSCURRENT"}, text: "x"})
	s.denied = "wardroom/denied"
	p := s.provider(t, nil)
	for _, test := range []struct {
		path, key, want string
		code            secret.Code
		text            string // of the error
	}{
		{path: "db", key: "password", want: password},
		{path: "wardroom/db", key: "password", want: password},
		{path: "db", key: "port", want: "5432"},
		{path: "db", key: "empty", want: ""},
		{path: "db", key: "tls", want: `{"on": true}`},
		{path: "db?stage=AWSPREVIOUS", key: "password", want: "old"},
		{path: "db?version=" + old, key: "password", want: "old"},
		{path: "text", want: "no JSON"},
		{path: "large", want: large},
		{path: "binary", want: "\x00\xff\x01"},
		{path: "arn:aws:secretsmanager:eu-central-1:123456789012:secret:other-AbCdEf", want: "by its ARN"},
		{path: "db", key: "nothing", code: secret.CodeNotFound, text: "wardroom/db has no field nothing"},
		{path: "text", key: "x", code: secret.CodeNotFound, text: "not a JSON object"},
		{path: "list", key: "x", code: secret.CodeNotFound, text: "not a JSON object"},
		{path: "nothing", code: secret.CodeNotFound, text: "wardroom/nothing"},
		{path: "db?stage=OTHER", code: secret.CodeNotFound, text: "stage=OTHER"},
		{path: "deleted", code: secret.CodeNotFound, text: "about to be deleted"},
		{path: "denied", code: secret.CodeForbidden, text: "wardroom/denied"},
		{path: "a b", code: secret.CodeInvalidRef, text: "512"},
		{path: "", code: secret.CodeInvalidRef, text: "512"},
		{path: "db?x=1", code: secret.CodeInvalidRef, text: "AWSPREVIOUS"},
		{path: "arn:aws:s3:::bucket", code: secret.CodeInvalidRef, text: "ARN"},
	} {
		t.Run(test.path+"#"+test.key, func(t *testing.T) {
			value, e := p.resolve(t, test.path, test.key)
			switch {
			case test.code == "" && (e != nil || value != test.want):
				t.Errorf("got %v, %d bytes", e, len(value))
			case test.code != "" && (e == nil || e.Code != test.code || !strings.Contains(e.Message, test.text)):
				t.Errorf("got %v", e)
			}
		})
	}
	if health := p.health(t.Context()); health.Status != plugin.StatusFailed || !strings.Contains(health.Reason, "secretsmanager:GetSecretValue") {
		t.Errorf("after a refusal, health is %+v", health)
	}
	if _, e := p.resolve(t, "text", ""); e != nil {
		t.Fatal(e)
	}
	if health := p.health(t.Context()); health.Status != plugin.StatusOK {
		t.Errorf("health is %+v", health)
	}
}

func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(s *service)
		code  secret.Code
		text  string
	}{
		{"throttled", func(s *service) {
			for range 20 {
				s.errs = append(s.errs, "ThrottlingException")
			}
		}, secret.CodeUnavailable, "too many requests"},
		{"expired", func(s *service) { s.errs = []string{"ExpiredTokenException"} }, secret.CodeForbidden, "ExpiredTokenException"},
		{"no key", func(s *service) { s.errs = []string{"DecryptionFailure"} }, secret.CodeForbidden, "cannot decrypt"},
		{"unknown", func(s *service) { s.errs = []string{"NewException"} }, secret.CodeUnavailable, "refuses the request"},
		{"no service", func(s *service) { s.status = http.StatusNotFound }, secret.CodeUnavailable, "404"},
		{"hung", func(s *service) { s.hang = make(chan struct{}) }, secret.CodeTimeout, "did not answer within 1s"},
		{"down", func(s *service) { s.CloseClientConnections(); s.Listener.Close() }, secret.CodeUnavailable, "cannot be reached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			environment(t, keyID, secretKey)
			s := newService(t)
			s.put("wardroom/db", version{id: "v", stages: []string{"AWSCURRENT"}, text: password})
			timeout := "30s"
			if test.code == secret.CodeTimeout {
				timeout = "1s"
			}
			p := s.provider(t, map[string]any{"timeout": timeout})
			s.set(func() { test.fault(s) })
			_, e := p.resolve(t, "db", "")
			if e == nil || e.Code != test.code || !strings.Contains(e.Message, test.text) || strings.Contains(e.Message+e.Hint, password) {
				t.Errorf("got %+v", e)
			}
			if health := p.health(t.Context()); health.Status != plugin.StatusFailed || e != nil && !strings.Contains(health.Reason, e.Message) {
				t.Errorf("health is %+v", health)
			}
			if s.hang != nil {
				close(s.hang)
			}
		})
	}
}

// What is over soon is nobody's matter: the SDK asks again.
func TestThrottledOnce(t *testing.T) {
	environment(t, keyID, secretKey)
	s := newService(t)
	s.put("wardroom/db", version{id: "v", stages: []string{"AWSCURRENT"}, text: password})
	s.errs = []string{"ThrottlingException"}
	if value, e := s.provider(t, nil).resolve(t, "db", ""); e != nil || value != password || s.count() != 2 {
		t.Errorf("got %v after %d calls", e, s.count())
	}
}

func TestCredentials(t *testing.T) {
	s := newService(t)
	s.put("wardroom/db", version{id: "v", stages: []string{"AWSCURRENT"}, text: password})
	for _, test := range []struct{ name, id, key, want string }{
		{"none", "", "", "no credentials"},
		{"unknown", "AKIDOTHER", secretKey, "UnrecognizedClientException"},
		{"wrong", keyID, "another", "InvalidSignatureException"},
	} {
		t.Run(test.name, func(t *testing.T) {
			environment(t, test.id, test.key)
			p := s.provider(t, nil)
			_, e := p.resolve(t, "db", "")
			if e == nil || e.Code != secret.CodeForbidden || !e.Retry || !strings.Contains(e.Message, test.want) {
				t.Errorf("got %+v", e)
			}
			if health := p.health(t.Context()); health.Status != plugin.StatusFailed || !strings.Contains(health.Reason, test.want) {
				t.Errorf("health is %+v", health)
			}
		})
	}
	t.Run("file", func(t *testing.T) {
		environment(t, "", "")
		path := filepath.Join(t.TempDir(), "credentials")
		if err := os.WriteFile(path, []byte("[wardroom]\naws_access_key_id = "+keyID+"\naws_secret_access_key = "+secretKey+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", path)
		t.Setenv("AWS_PROFILE", "wardroom")
		if _, e := s.provider(t, nil).resolve(t, "db", ""); e != nil {
			t.Errorf("got %+v", e)
		}
	})
}

func TestRotation(t *testing.T) {
	environment(t, keyID, secretKey)
	s := newService(t)
	s.put("wardroom/db", version{id: "1", stages: []string{"AWSCURRENT"}, text: "1"})
	p := s.provider(t, nil)
	if _, e := p.resolve(t, "db", ""); e != nil {
		t.Fatal(e)
	}
	ref := secret.Ref{Path: "db"}
	stream, err := p.provider.Watch(t.Context(), []secret.Ref{ref})
	if err != nil {
		t.Fatal(err)
	}
	s.put("wardroom/db", version{id: "1", stages: []string{"AWSPREVIOUS"}, text: "1"}, version{id: "2", stages: []string{"AWSCURRENT"}, text: "2"})
	end := time.AfterFunc(time.Minute, func() { _ = stream.Close() })
	defer end.Stop()
	if refs, err := stream.Next(); err != nil || len(refs) != 1 || refs[0] != ref {
		t.Errorf("got %v, %v", refs, err)
	}
	if value, e := p.resolve(t, "db", ""); e != nil || value != "2" {
		t.Errorf("got %s, %v", value, e)
	}
}

func TestProblems(t *testing.T) {
	definition := Definition("test")
	for _, test := range []struct{ config, path, severity, text string }{
		{`{"region": "eu-central-1"}`, "", "", ""},
		{`{}`, "", plugin.SeverityError, "lacks region"},
		{`{"region": "EU"}`, "/region", plugin.SeverityError, "must match"},
		{`{"region": "eu-central-1", "secretPrefix": "a b"}`, "/secretPrefix", plugin.SeverityError, "must match"},
		{`{"region": "eu-central-1", "endpoint": "http://example.com"}`, "/endpoint", plugin.SeverityWarning, "without TLS"},
		{`{"region": "eu-central-1", "timeout": "6m"}`, "/timeout", plugin.SeverityError, "up to 5m"},
		{`{"region": "eu-central-1", "pollInterval": "10ms"}`, "/pollInterval", plugin.SeverityError, "1s or more"},
		{`{"region": "eu-central-1", "accessKey": "x"}`, "", plugin.SeverityError, "unknown setting accessKey"},
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
