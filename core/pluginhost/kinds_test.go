package pluginhost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

func named(name, mode string) pluginhost.Spec {
	s := pen(mode)
	s.Name = name
	return s
}

func TestSecret(t *testing.T) {
	r := newRig(t, named("secrets-pen", "secret")).open()
	provider := r.Secret("secrets-pen")
	results, err := provider.Resolve(t.Context(), []secret.Ref{{Path: "ink"}, {Path: "paper"}}, secret.Caller{Component: "test"})
	if err != nil || len(results) != 2 {
		t.Fatalf("results %v, %v", results, err)
	}
	if string(results[0].Value.Reveal()) != "blue" || results[0].Error != nil || results[1].Error.Code != secret.CodeNotFound {
		t.Errorf("results %v", results)
	}
	if _, err := provider.(secret.Watcher).Watch(t.Context(), nil); secret.AsError(err).Code != secret.CodeUnimplemented {
		t.Errorf("watch: %v", err)
	}
	r.signal("secrets-pen", syscall.SIGKILL)
	r.until("secrets-pen", core.PluginFailed)
	if _, err := provider.Resolve(t.Context(), nil, secret.Caller{}); secret.AsError(err).Code != secret.CodeUnavailable || !secret.AsError(err).Retry {
		t.Errorf("while it is down: %v", err)
	}
	r.clock.Advance(time.Second)
	r.until("secrets-pen", core.PluginReady)
	if results, err := provider.Resolve(t.Context(), []secret.Ref{{Path: "ink"}}, secret.Caller{}); err != nil || len(results) != 1 {
		t.Errorf("after the restart: %v, %v", results, err)
	}
	if _, err := r.Runtime("secrets-pen").Capabilities(t.Context()); runtime.ErrorCode(err) != runtime.CodeUnimplemented {
		t.Errorf("a secret provider is no runtime: %v", err)
	}
}

func TestAudit(t *testing.T) {
	r := newRig(t, named("audit-pen", "audit")).open()
	sink := r.Audit("audit-pen")
	if last, err := sink.Open(t.Context(), 1); err != nil || last != 0 {
		t.Fatalf("open: %d, %v", last, err)
	}
	last, err := sink.Write(t.Context(), []audit.Record{{Sequence: 1, JSON: []byte("{}")}, {Sequence: 2, JSON: []byte("{}")}})
	if err != nil || last != 2 {
		t.Errorf("write: %d, %v", last, err)
	}
	if last, err := sink.Flush(t.Context()); err != nil || last != 2 {
		t.Errorf("flush: %d, %v", last, err)
	}
	r.signal("audit-pen", syscall.SIGKILL)
	r.until("audit-pen", core.PluginFailed)
	if _, err := sink.Write(t.Context(), nil); audit.AsError(err).Code != audit.CodeUnavailable || !audit.AsError(err).Retry {
		t.Errorf("while it is down: %v", err)
	}
}

// What the host does for a plugin goes over the broker, with TLS on both sides.
func TestHostServices(t *testing.T) {
	spec := pen("")
	spec.Config = json.RawMessage(`{"ref": "vault:ink#colour"}`)
	r := newRig(t, spec)
	r.opts.Secrets = func(_ context.Context, plugin, ref string) (secret.Value, error) {
		return secret.NewValue([]byte(plugin+" "+ref), "1", time.Time{}), nil // it is hidden where the plugin logs it
	}
	r.opts.Keys = func(_ context.Context, plugin string) ([]byte, error) { return fmt.Appendf(nil, "%032s", plugin), nil }
	r.open()
	rt := r.Runtime("runtime-pen")
	for range 2 { // what was kept is there after a restart
		if a, err := rt.Spawn(t.Context(), runtime.Spec{ID: "key"}); err != nil || a.ID != fmt.Sprintf("%032s", "runtime-pen") || a.Name != "true" {
			t.Errorf("key: %+v, %v", a, err)
		}
		a, err := rt.Spawn(t.Context(), runtime.Spec{ID: "kv"})
		if err != nil || a.ID != "blue" || a.Name != "true" {
			t.Fatalf("key-value store: %+v, %v", a, err)
		}
		if _, err := r.RestartPlugin(t.Context(), "runtime-pen"); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := rt.Spawn(t.Context(), runtime.Spec{ID: "secret-vault:ink#colour"}); err != nil || a.ID != "runtime-pen vault:ink#colour" {
		t.Errorf("secret: %+v, %v", a, err)
	}
	coretest.WaitFor(t, "what it logs", func() bool {
		lines, err := r.PluginLogs(t.Context(), "runtime-pen", 0)
		return err == nil && strings.Contains(joined(lines), "the ink is")
	})
	if strings.Contains(r.log.String(), "runtime-pen vault:ink#colour") {
		t.Error("the log holds a secret that the plugin looked up")
	}
	if _, err := rt.Spawn(t.Context(), runtime.Spec{ID: "secret-vault:other"}); !strings.Contains(runtime.AsError(err).Error(), "FORBIDDEN") &&
		runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("a reference that is not in its settings: %v", err)
	}
	if _, err := rt.Spawn(t.Context(), runtime.Spec{ID: "report"}); err != nil {
		t.Fatal(err)
	}
	lines, err := r.PluginLogs(t.Context(), "runtime-pen", 0)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, joined(lines), "warn the pen was dropped height=1m")
	contains(t, r.log.String(), "the pen was dropped")
}

// A plugin logs from the level of its logger on, when it starts and once that was changed.
func TestLogLevelOfPlugin(t *testing.T) {
	r := newRig(t, pen(""))
	r.opts.Logger.SetLevel(hclog.Debug)
	r.open()
	level := func() string {
		t.Helper()
		a, err := r.Runtime("runtime-pen").Spawn(t.Context(), runtime.Spec{ID: "level"})
		if err != nil {
			t.Fatal(err)
		}
		return a.ID
	}
	if got := level(); got != "debug" {
		t.Errorf("it starts with %s, want debug", got)
	}
	r.opts.Logger.SetLevel(hclog.Error)
	r.RefreshLogLevels()
	coretest.WaitFor(t, "the level to be changed", func() bool { return level() == "error" })
}

// A variable that refers to a secret has its value of the moment, which is cut out of what the plugin says; while it cannot be had
// the plugin is not started.
func TestSecretEnvironment(t *testing.T) {
	spec := pen("")
	spec.Env["PEN_SECRET"] = "vault:ink#colour"
	r := newRig(t, spec)
	var refuses atomic.Bool
	refuses.Store(true)
	r.opts.Secrets = func(_ context.Context, plugin, ref string) (secret.Value, error) {
		if refuses.Load() {
			return secret.Value{}, secret.Errorf(secret.CodeForbidden, "permission denied")
		}
		return secret.NewValue([]byte("canary-of-"+plugin+"-"+ref), "1", time.Time{}), nil
	}
	r.open()
	r.until("runtime-pen", core.PluginFailed)
	contains(t, r.plugin("runtime-pen").Reason, "its variable PEN_SECRET refers to a secret that cannot be had: permission denied")
	refuses.Store(false)
	r.clock.Advance(time.Minute)
	r.until("runtime-pen", core.PluginReady)
	a, err := r.Runtime("runtime-pen").Spawn(t.Context(), runtime.Spec{ID: "environment"})
	if err != nil || a.ID != "canary-of-runtime-pen-vault:ink#colour" {
		t.Errorf("%+v, %v", a, err)
	}
	coretest.WaitFor(t, "what it says", func() bool {
		lines, err := r.PluginLogs(t.Context(), "runtime-pen", 0)
		return err == nil && strings.Contains(joined(lines), "the pen says ***")
	})
	if strings.Contains(r.log.String(), "canary-of-") {
		t.Error("the log holds the secret")
	}
}

// SIGHUP reaches the plugins that say what it means to them, and no others, which would end.
func TestHangup(t *testing.T) {
	other := pen("")
	other.Name = "runtime-quill"
	r := newRig(t, pen("hangup"), other).open()
	pid := r.plugin("runtime-quill").PID
	r.Hangup()
	coretest.WaitFor(t, "the signal", func() bool {
		lines, err := r.PluginLogs(t.Context(), "runtime-pen", 0)
		return err == nil && strings.Contains(joined(lines), "the pen was dipped anew")
	})
	if p := r.plugin("runtime-quill"); p.State != core.PluginReady || p.PID != pid || r.plugin("runtime-pen").State != core.PluginReady {
		t.Errorf("%+v", p)
	}
}

// Errors of the plugin itself pass through as they are; those of its absence are told apart.
func TestErrorsPass(t *testing.T) {
	r := newRig(t, pen("")).open()
	rt := r.Runtime("runtime-pen")
	if _, err := rt.Inspect(t.Context(), "missing"); runtime.ErrorCode(err) != runtime.CodeNotFound {
		t.Errorf("inspect: %v", err)
	}
	if _, err := rt.Restart(t.Context(), "a", runtime.RestartOptions{}); runtime.ErrorCode(err) != runtime.CodeUnimplemented {
		t.Errorf("restart: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := rt.Inspect(ctx, "slow"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("late: %v", err)
	}
	if _, err := r.Runtime("nosuch").Capabilities(t.Context()); !strings.Contains(err.Error(), "there is no plugin nosuch") {
		t.Errorf("no plugin: %v", err)
	}
	if r.metrics.get("call inspect NOT_FOUND") != 1 {
		t.Errorf("counted %v", r.metrics.n)
	}
}

// A call that dies with its plugin is told apart from one that failed: it may have had its effect.
func TestDiesDuringCall(t *testing.T) {
	r := newRig(t, pen("")).open()
	rt := r.Runtime("runtime-pen")
	_, err := rt.Spawn(t.Context(), runtime.Spec{ID: "exit"})
	if e := runtime.AsError(err); e.Code != runtime.CodeUnavailable || !e.Retry || !strings.Contains(e.Message, "ended during the call") {
		t.Errorf("spawn: %v", err)
	}
	r.until("runtime-pen", core.PluginFailed)
	contains(t, r.plugin("runtime-pen").Reason, "exit status 7")
	r.clock.Advance(time.Minute)
	r.until("runtime-pen", core.PluginReady)
	_, err = rt.Send(t.Context(), "exit", runtime.Input{Message: "hello"})
	if e := runtime.AsError(err); e.Code != runtime.CodeDeliveryUnknown || e.Retry {
		t.Errorf("send: %v", err)
	}
	r.until("runtime-pen", core.PluginFailed)
	if _, err = rt.Send(t.Context(), "exit", runtime.Input{Message: "hello"}); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("send to a plugin that is down: %v", err)
	}
}

// Input for the terminal that was on its way to a plugin that ended is not given out as one that was not typed, unless the
// sender can repeat it by its id.
func TestTypedDuringEnd(t *testing.T) {
	r := newRig(t, pen(""))
	r.opts.Policy = pluginhost.Policy{Backoff: time.Second, Max: time.Second, Factor: 1, Quarantine: 9, Window: time.Hour, Healthy: time.Hour}
	r.open()
	rt := r.Runtime("runtime-pen")
	for _, tt := range []struct {
		in   runtime.Input
		want runtime.Code
	}{
		{runtime.Input{Raw: "rm -r build"}, runtime.CodeDeliveryUnknown},
		{runtime.Input{Keys: []string{"ENTER"}}, runtime.CodeDeliveryUnknown},
		{runtime.Input{Raw: "rm -r build", ID: "k"}, runtime.CodeUnavailable},
		{runtime.Input{Interrupt: true}, runtime.CodeUnavailable}, // to interrupt twice does no more than once
	} {
		_, err := rt.Send(t.Context(), "exit", tt.in)
		if e := runtime.AsError(err); e.Code != tt.want || e.Retry != (tt.want == runtime.CodeUnavailable) {
			t.Errorf("%+v: %v", tt.in, err)
		}
		r.until("runtime-pen", core.PluginFailed)
		r.clock.Advance(time.Minute)
		r.until("runtime-pen", core.PluginReady)
	}
}

// A reading call that lost its plugin is repeated with the next process.
func TestReadIsRepeated(t *testing.T) {
	r := newRig(t, pen(""))
	r.opts.Policy = pluginhost.Policy{Backoff: 0, Max: 0, Factor: 1, Quarantine: 9, Window: time.Hour, Healthy: time.Hour}
	r.opts.Limits = pluginhost.Limits{Again: time.Minute} // a process takes long to start on a busy machine
	r.open()
	type outcome struct {
		agent runtime.Agent
		err   error
	}
	result := make(chan outcome, 1)
	go func() {
		a, err := r.Runtime("runtime-pen").Inspect(context.Background(), "slow-once")
		result <- outcome{a, err}
	}()
	pid := r.plugin("runtime-pen").PID
	coretest.WaitFor(t, "the call to arrive", func() bool { return r.asked("runtime-pen") })
	r.signal("runtime-pen", syscall.SIGKILL)
	coretest.WaitFor(t, "the next process", func() bool {
		r.clock.Advance(time.Millisecond)
		p := r.plugin("runtime-pen")
		return p.State == core.PluginReady && p.PID != 0 && p.PID != pid // 0: the end of the first one is not noted yet
	})
	if out := <-result; out.err != nil || out.agent.ID != "slow-once" {
		t.Errorf("inspect: %+v, %v", out.agent, out.err)
	}
}
