package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123456789, time.UTC)

func fullAgent() runtime.Agent {
	code := 137
	return runtime.Agent{
		ID: "a1", Name: "one", Type: "claude", Status: runtime.StatusBlocked, Reason: "exited: 137",
		Capabilities: []string{"code"}, Labels: map[string]string{"k": "v"}, Workdir: "/w", PID: 42, ContainerID: "c", PodName: "p",
		ExitCode: &code, SessionID: "s", Prompt: &runtime.Prompt{
			ID: "p1", Kind: runtime.PromptApproval, Text: "may it?", Tool: "Bash", Input: map[string]any{"command": "ls", "n": json.Number("1.5"), "list": []any{"a", nil, true}},
			Options: []runtime.Option{{ID: "allow", Label: "Yes"}, {ID: "deny", Label: "No"}}, URL: "http://x",
		},
		LoginURL: "http://login", Turn: 3, Seq: 9, CreatedAt: noon, LastActivityAt: noon.Add(time.Second),
		Handle: runtime.Handle{ID: "a1", Data: []byte{0, 1, 255}},
	}
}

func fullSpec() runtime.Spec {
	return runtime.Spec{
		ID: "a1", Name: "one", Type: "own", Installation: "i", Capabilities: []string{"code"}, Labels: map[string]string{"k": "v"},
		Workdir: "/w", Env: map[string]string{"TOKEN": "x"}, Approval: "readonly", Resume: "s", Cols: 100, Rows: 30,
		Limits: runtime.Limits{MemoryBytes: 1 << 30, CPU: 1.5, PIDs: 100},
		Declared: &runtime.DeclaredType{
			Command: "sh", Args: []string{"-i"}, Env: map[string]string{"A": "b"}, Idle: runtime.Duration(3 * time.Second), Exit: "exit",
			Ready: runtime.ReadyRule{Pattern: `\$`, Timeout: runtime.Duration(time.Minute)},
		},
		Image: "img", Network: "net", Volumes: []string{"/a:/b:ro"},
	}
}

// filled reports fields of a value that are zero: then a test of round trips would prove nothing of them.
func filled(t *testing.T, v any) {
	t.Helper()
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		if value.Field(i).IsZero() {
			t.Errorf("%T.%s is zero in this test", v, value.Type().Field(i).Name)
		}
	}
}

// A share of nothing, as a first measurement divides it, reaches a caller as a number that JSON has.
func TestMetricsOfNothing(t *testing.T) {
	for _, nothing := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		f := &fake{meter: runtime.Metrics{CPUPercent: nothing, MemoryBytes: 2, UptimeSeconds: nothing}}
		m, err := dial(t, f).Metrics(testContext(t), "a")
		if err != nil || m.MemoryBytes != 2 {
			t.Fatalf("%+v, %v", m, err)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Errorf("%v: %v", nothing, err)
		}
	}
}

func TestValuesCrossTheWire(t *testing.T) {
	f := &fake{
		agent: fullAgent(),
		caps: runtime.Capabilities{Name: "local", Types: []string{"claude"}, Attach: true, Resize: true, Recover: true, Limits: true, Images: true, MaxAgents: 7,
			Isolation: &runtime.Isolation{NoNewPrivs: true, Landlock: 6, User: "agent", Reason: "none"}, MissingTypes: []string{"codex"}},
		sent:  runtime.SendResult{Sent: true, Response: &runtime.Response{Text: "done", Turn: 2, DurationMs: 1500}},
		meter: runtime.Metrics{CPUPercent: 1.5, MemoryBytes: 2, MemoryLimitBytes: 3, UptimeSeconds: 4.5, MessagesSent: 5, LastResponseMs: 6},
		prune: runtime.PruneReport{Removed: []string{"a"}, Stopped: []string{"b"}, Left: []string{"c"}},
	}
	filled(t, f.agent)
	filled(t, f.caps)
	filled(t, f.meter)
	filled(t, fullSpec())
	agent := fullAgent()
	f.found = []runtime.Recovered{{Handle: agent.Handle, Agent: &agent}, {Handle: runtime.Handle{ID: "b"}, Error: runtime.NotFound("b")}}
	rt, ctx := dial(t, f), testContext(t)
	handles := []runtime.Handle{agent.Handle, {ID: "b"}}
	from := runtime.PruneOptions{Installation: "i", Keep: []string{"a"}, Grace: time.Minute, DryRun: true}
	input := runtime.Input{Raw: "\x1b[A\xff", ExpectResponse: true, Timeout: time.Second, ID: "in1", Message: "m", Keys: []string{"Enter"}, Interrupt: true}
	filled(t, input)
	filled(t, from)

	for _, tt := range []struct {
		name  string
		call  func() (any, error)
		asked any
		want  any
	}{
		{"Capabilities", func() (any, error) { return rt.Capabilities(ctx) }, nil, f.caps},
		{"Spawn", func() (any, error) { return rt.Spawn(ctx, fullSpec()) }, fullSpec(), f.agent},
		{"SpawnBare", func() (any, error) { return rt.Spawn(ctx, runtime.Spec{ID: "x"}) }, runtime.Spec{ID: "x"}, f.agent},
		{"Stop", func() (any, error) {
			return nil, rt.Stop(ctx, "a", runtime.StopOptions{Grace: time.Second, Force: true})
		}, []any{"a", runtime.StopOptions{Grace: time.Second, Force: true}}, nil},
		{"Restart", func() (any, error) { return rt.Restart(ctx, "a", runtime.RestartOptions{}) }, "a", f.agent},
		{"Inspect", func() (any, error) { return rt.Inspect(ctx, "a") }, "a", f.agent},
		{"List", func() (any, error) {
			return rt.List(ctx, runtime.ListFilter{Installation: "i", Labels: map[string]string{"k": "v"}})
		}, runtime.ListFilter{Installation: "i", Labels: map[string]string{"k": "v"}}, []runtime.Agent{f.agent, f.agent}},
		{"Send", func() (any, error) { return rt.Send(ctx, "a", input) }, []any{"a", input}, f.sent},
		{"Answer", func() (any, error) {
			return nil, rt.Answer(ctx, "a", runtime.Answer{PromptID: "p", Choice: "c", Text: "t"})
		}, []any{"a", runtime.Answer{PromptID: "p", Choice: "c", Text: "t"}}, nil},
		{"Metrics", func() (any, error) { return rt.Metrics(ctx, "a") }, "a", f.meter},
		{"Recover", func() (any, error) { return rt.Recover(ctx, handles) }, handles, f.found},
		{"Prune", func() (any, error) { return rt.Prune(ctx, from) }, from, f.prune},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.asked = nil
			got, err := tt.call()
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(f.asked, tt.asked) {
				t.Errorf("asked\ngot  %+v\nwant %+v", f.asked, tt.asked)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("answer\ngot  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestAgentWithoutAnything(t *testing.T) {
	f := &fake{agent: runtime.Agent{ID: "a"}}
	got, err := dial(t, f).Inspect(testContext(t), "a")
	if err != nil || !reflect.DeepEqual(got, f.agent) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// One byte that is not UTF-8 must not cost a whole answer, nor change what is started.
func TestInvalidUTF8(t *testing.T) {
	f := &fake{agent: fullAgent()}
	f.agent.Reason, f.agent.Capabilities, f.agent.Labels = "a\xff", []string{"ok", "b\xff"}, map[string]string{"k\xff": "v\xff"}
	f.agent.Prompt.Input = map[string]any{"x": "y\xff", "f": func() {}}
	rt, ctx := dial(t, f), testContext(t)
	got, err := rt.Inspect(ctx, "a\xff")
	if err != nil {
		t.Fatal(err)
	}
	if got.Reason != "a\uFFFD" || got.Capabilities[1] != "b\uFFFD" || got.Labels["k\uFFFD"] != "v\uFFFD" || got.Prompt.Input != nil {
		t.Errorf("got %+v", got)
	}
	if f.agent.Capabilities[1] != "b\xff" {
		t.Error("the runtime's own value was changed")
	}
	for field, change := range map[string]func(*runtime.Spec){
		"name":                   func(s *runtime.Spec) { s.Name = "\xff" },
		"capabilities[1]":        func(s *runtime.Spec) { s.Capabilities = []string{"a", "\xff"} },
		"labels":                 func(s *runtime.Spec) { s.Labels["\xff"] = "v" },
		"env.TOKEN":              func(s *runtime.Spec) { s.Env["TOKEN"] = "hunter2\xff" },
		"declared.command":       func(s *runtime.Spec) { s.Declared.Command = "\xff" },
		"declared.args[0]":       func(s *runtime.Spec) { s.Declared.Args = []string{"\xff"} },
		"declared.env.A":         func(s *runtime.Spec) { s.Declared.Env["A"] = "\xff" },
		"declared.ready.pattern": func(s *runtime.Spec) { s.Declared.Ready.Pattern = "\xff" },
		"cols":                   func(s *runtime.Spec) { s.Cols = -1 },
		"limits.pids":            func(s *runtime.Spec) { s.Limits.PIDs = 1 << 40 },
	} {
		f.asked = nil
		spec := fullSpec()
		change(&spec)
		_, err := rt.Spawn(ctx, spec)
		var e *runtime.Error
		if !errors.As(err, &e) || e.Code != runtime.CodeInvalidSpec || e.Field != field || f.asked != nil {
			t.Errorf("%s: got %v, asked %v", field, err, f.asked)
		}
	}
}

// Every code comes back as it went, with all its fields.
func TestErrorsCrossTheWire(t *testing.T) {
	f := &fake{}
	rt, ctx := dial(t, f), testContext(t)
	for _, code := range []runtime.Code{
		runtime.CodeInvalidSpec, runtime.CodeInvalidArgument, runtime.CodeUnknownType, runtime.CodeWorkdirNotAllowed,
		runtime.CodeCLINotFound, runtime.CodeAuthRequired, runtime.CodeSpawnFailed, runtime.CodeImageNotFound,
		runtime.CodeNetworkError, runtime.CodeResourceLimit, runtime.CodeSocketError, runtime.CodeNotFound,
		runtime.CodeAlreadyExists, runtime.CodeNotRunning, runtime.CodeBlocked, runtime.CodeNoPrompt, runtime.CodeNotDelivered,
		runtime.CodeDeliveryUnknown, runtime.CodeTimeout, runtime.CodeForbidden, runtime.CodeLagged, runtime.CodeInvalidHandle,
		runtime.CodeUnimplemented, runtime.CodeUnavailable, runtime.CodeCanceled, runtime.CodeInternal, "OF_THE_FUTURE",
	} {
		want := &runtime.Error{Code: code, Message: "m", Field: "f", Hint: "h", Retry: true}
		f.err = fmt.Errorf("wrapped: %w", want)
		var e *runtime.Error
		if err := rt.Stop(ctx, "a", runtime.StopOptions{}); !errors.As(err, &e) || *e != *want {
			t.Errorf("%s: got %v", code, err)
		}
		if err := rt.Stop(ctx, "a", runtime.StopOptions{}); errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("%s: passes for the end of a context", code)
		}
	}
	f.err = errors.New("password hunter2")
	if err := rt.Stop(ctx, "a", runtime.StopOptions{}); err.Error() != "INTERNAL: internal error of the runtime" {
		t.Errorf("a foreign error: %v", err)
	}
	for _, call := range []func() error{
		func() error { _, err := rt.Capabilities(ctx); return err },
		func() error { _, err := rt.Spawn(ctx, runtime.Spec{}); return err },
		func() error { _, err := rt.Restart(ctx, "", runtime.RestartOptions{}); return err },
		func() error { _, err := rt.Inspect(ctx, ""); return err },
		func() error { _, err := rt.List(ctx, runtime.ListFilter{}); return err },
		func() error { _, err := rt.Send(ctx, "", runtime.Input{}); return err },
		func() error { return rt.Answer(ctx, "", runtime.Answer{}) },
		func() error { _, err := rt.Attach(ctx, "", runtime.AttachOptions{}); return err },
		func() error { _, err := rt.Logs(ctx, "", runtime.LogOptions{}); return err },
		func() error { _, err := rt.Metrics(ctx, ""); return err },
		func() error { _, err := rt.Events(ctx, runtime.EventOptions{}); return err },
		func() error { _, err := rt.Recover(ctx, nil); return err },
		func() error { _, err := rt.Prune(ctx, runtime.PruneOptions{}); return err },
	} {
		f.err = runtime.NotFound("x")
		if err := call(); runtime.ErrorCode(err) != runtime.CodeNotFound {
			t.Errorf("got %v", err)
		}
	}
}

func TestContextsCrossTheWire(t *testing.T) {
	rt := dial(t, &fake{})
	ctx, cancel := context.WithTimeout(testContext(t), 20*time.Millisecond)
	defer cancel()
	_, err := rt.Inspect(ctx, "wait")
	if !errors.Is(err, context.DeadlineExceeded) || runtime.ErrorCode(err) != runtime.CodeTimeout {
		t.Errorf("late: %v", err)
	}
	ctx, cancel = context.WithCancel(testContext(t))
	cancel()
	_, err = rt.Inspect(ctx, "wait")
	if !errors.Is(err, context.Canceled) || runtime.ErrorCode(err) != runtime.CodeCanceled {
		t.Errorf("cancelled: %v", err)
	}
	if got := status.Code(runtime.ToStatus(context.Canceled)); got != codes.Canceled {
		t.Errorf("status %s", got)
	}
	if runtime.ToStatus(nil) != nil || runtime.FromStatus(nil) != nil {
		t.Error("success is an error")
	}
}

func TestRecoverWithMissingResults(t *testing.T) {
	rt := dial(t, &fake{found: []runtime.Recovered{{}}})
	if _, err := rt.Recover(testContext(t), make([]runtime.Handle, 2)); runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("got %v", err)
	}
}

func TestUnimplemented(t *testing.T) {
	rt, ctx := dial(t, runtime.Unimplemented{}), testContext(t)
	for _, err := range []error{
		func() error { _, err := rt.Capabilities(ctx); return err }(),
		func() error { _, err := rt.Attach(ctx, "", runtime.AttachOptions{}); return err }(),
		func() error { _, err := rt.Events(ctx, runtime.EventOptions{}); return err }(),
		rt.Stop(ctx, "a", runtime.StopOptions{}),
	} {
		if runtime.ErrorCode(err) != runtime.CodeUnimplemented {
			t.Errorf("got %v", err)
		}
	}
}
