package plugintest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/plugintest"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/runtimetest"
	"github.com/wardroom/wardroom/sdk/secret"
)

// The test's own binary is the plugin that it starts.
func TestMain(m *testing.M) {
	if os.Getenv(plugin.Handshake.MagicCookieKey) != "" {
		plugin.Main(definition(plugin.Kind(os.Getenv("TEST_KIND"))))
		return
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, kind plugin.Kind) *plugintest.Plugin {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return plugintest.Start(t, plugintest.Options{Path: self, Env: []string{"TEST_KIND=" + string(kind)}})
}

// A runtime behind a plugin's connection keeps every promise that it keeps directly.
func TestRuntimeConformance(t *testing.T) {
	p := start(t, plugin.KindRuntime)
	o := p.RuntimeOptions(func(id string) runtime.Spec { return runtime.Spec{ID: id, Type: runtimetest.Type} })
	o.Kill = nil // this runtime's agents end with its process
	o.Lose = nil // it keeps no state
	o.Timeout = 30 * time.Second
	conformance.Runtime(t.Context(), t, o)
}

func TestSecretConformance(t *testing.T) {
	p := start(t, plugin.KindSecret)
	conformance.Secret(t.Context(), t, conformance.SecretOptions{
		Provider: p.Conn().Secret(), Logs: p.Log().String, Unknown: secret.Ref{Path: "nothing"},
		Known: []conformance.KnownSecret{
			{Ref: secret.Ref{Path: "db", Key: "password"}, Value: []byte(secrets["db#password"])},
			{Ref: secret.Ref{Path: "token"}, Value: []byte(secrets["token"])},
		},
	})
}

func TestAuditConformance(t *testing.T) {
	state := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := plugintest.Start(t, plugintest.Options{Path: self, Env: []string{"TEST_KIND=audit"}, StateDir: state})
	conformance.Audit(t.Context(), t, conformance.AuditOptions{
		Sink: p.Conn().Audit(),
		Crash: func(ctx context.Context) (audit.Sink, error) {
			conn, err := p.Restart(ctx)
			if err != nil {
				return nil, err
			}
			return conn.Audit(), nil
		},
		Read: func(context.Context) ([][]byte, error) { return readRecords(filepath.Join(state, "audit.jsonl")) },
	})
}

func TestQuickOfEachKind(t *testing.T) {
	for _, kind := range []plugin.Kind{plugin.KindRuntime, plugin.KindSecret, plugin.KindAudit} {
		t.Run(string(kind), func(t *testing.T) {
			results := conformance.Quick(t.Context(), start(t, kind).Conn(), json.RawMessage("{}"))
			if len(results) < 6 {
				t.Errorf("only %d checks ran", len(results))
			}
			for _, result := range results {
				if !result.Passed() {
					t.Errorf("%s: %s: %v", result.Name, result.About, result.Err)
				}
				if result.About == "" || result.Duration <= 0 {
					t.Errorf("the result %+v is not complete", result)
				}
			}
		})
	}
}

func TestRestartGivesAFreshProcess(t *testing.T) {
	p := start(t, plugin.KindRuntime)
	before, rt := p.PID(), p.Conn().Runtime()
	conn, err := p.Restart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.PID() == before {
		t.Error("the process is the same")
	}
	if _, err := rt.Capabilities(t.Context()); err == nil {
		t.Errorf("a connection to a killed plugin returns %v", err)
	}
	if _, err := conn.Runtime().Capabilities(t.Context()); err != nil {
		t.Errorf("the new process does not serve: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := p.Log().Wait(ctx, "configured"); err != nil {
		t.Error(err)
	}
	if strings.Count(p.Log().String(), "configured") < 2 {
		t.Error("the log does not have both processes")
	}
}

func TestLogWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var log plugintest.Log
	if err := log.Wait(ctx, "never"); err == nil {
		t.Error("a text that nobody logged was found")
	}
}
