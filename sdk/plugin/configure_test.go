package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestConfigure(t *testing.T) {
	c := configured(t, "plain")
	ctx := testContext(t)
	name := func() string {
		caps, err := c.Runtime().Capabilities(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return caps.Name
	}
	for _, tt := range []struct {
		name, config string
		code         plugin.Code
		path, text   string
	}{
		{"NotJSON", `{`, plugin.CodeInvalidConfig, "", "not JSON"},
		{"NotObject", `[]`, plugin.CodeInvalidConfig, "", "an object"},
		{"WrongType", `{"greeting":7}`, plugin.CodeInvalidConfig, "/greeting", "want string"},
		{"Unknown", `{"other":1}`, plugin.CodeInvalidConfig, "", "unknown setting other"},
		{"Pattern", `{"greeting":"HUNTER2"}`, plugin.CodeInvalidConfig, "/greeting", "must match"},
		{"Foreign", `{"fail":"error"}`, plugin.CodeInternal, "", "internal error"},
		{"Panic", `{"fail":"panic"}`, plugin.CodeInternal, "", "its log says how"},
		{"Empty", `{"fail":"empty"}`, plugin.CodeInternal, "", "internal error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Configure(ctx, json.RawMessage(tt.config), 2)
			var e *plugin.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.Code != tt.code || e.Field != tt.path || !strings.Contains(e.Message, tt.text) {
				t.Errorf("got %+v", e)
			}
			if tt.code == plugin.CodeInvalidConfig && (len(e.Problems) != 1 || e.Problems[0].Path != tt.path) {
				t.Errorf("problems %+v", e.Problems)
			}
			if strings.Contains(strings.ToLower(e.Message), "hunter2") {
				t.Errorf("the message quotes the configuration: %s", e.Message)
			}
			if got := name(); got != "hello" {
				t.Errorf("the former configuration is gone: %q", got)
			}
		})
	}
	eventually(t, "the panic in the log", func() bool { return strings.Contains(c.log.String(), "configure panics") })
	if strings.Contains(c.log.String(), "hunter2") {
		t.Error("the log quotes a foreign error")
	}

	t.Run("Replace", func(t *testing.T) {
		warnings, err := c.Configure(ctx, json.RawMessage(`{"greeting":"odd"}`), 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(warnings) != 1 || warnings[0].Severity != plugin.SeverityWarning {
			t.Errorf("warnings %+v", warnings)
		}
		if got := name(); got != "odd" {
			t.Errorf("name %q", got)
		}
		eventually(t, "the former's Close", func() bool { return closings(c) == 1 })
	})
	t.Run("SameAgain", func(t *testing.T) {
		if _, err := c.Configure(ctx, json.RawMessage(`{"greeting":"odd"}`), 3); err != nil {
			t.Fatal(err)
		}
		if closings(c) != 1 {
			t.Error("the service was made anew")
		}
	})
	t.Run("Older", func(t *testing.T) {
		_, err := c.Configure(ctx, nil, 2)
		if e := plugin.AsError(err); e == nil || e.Code != plugin.CodeInvalidArgument {
			t.Errorf("got %v", err)
		}
	})
}

// closings counts the services that were closed, by the log: the host reads it after the answers.
func closings(c *child) int { return strings.Count(c.log.String(), `"@message":"closed"`) }

func TestValidate(t *testing.T) {
	c := mustStart(t, "plain")
	ctx := testContext(t)
	for config, want := range map[string]string{
		``:                         "",
		`{}`:                       "",
		`{"greeting":"odd"}`:       "warning /greeting is odd",
		`{"greeting":true,"x":""}`: "error  unknown setting x; error /greeting got boolean, want string",
	} {
		problems, err := c.Validate(ctx, json.RawMessage(config))
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, p := range problems {
			list = append(list, p.Severity+" "+p.Path+" "+p.Text)
		}
		if got := strings.Join(list, "; "); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", config, got, want)
		}
	}
}

func TestBeforeConfigure(t *testing.T) {
	c := mustStart(t, "plain")
	ctx := testContext(t)
	_, err := c.Runtime().Capabilities(ctx)
	if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeUnavailable || !e.Retry {
		t.Errorf("got %v", err)
	}
	h, err := c.Health(ctx)
	if err != nil || h.Status != plugin.StatusFailed {
		t.Errorf("health %+v, %v", h, err)
	}
	if text, err := c.Metrics(ctx); err != nil || len(text) != 0 {
		t.Errorf("metrics %q, %v", text, err)
	}
	if _, err := c.Secret().Resolve(ctx, nil, callerOfTest); err == nil {
		t.Error("a runtime resolved secrets")
	}
}

func TestHealthAndMetrics(t *testing.T) {
	c := configured(t, "plain")
	ctx := testContext(t)
	h, err := c.Health(ctx)
	if err != nil || h.Status != plugin.StatusDegraded || h.Reason != "says hello" || len(h.Checks) != 1 {
		t.Errorf("health %+v, %v", h, err)
	}
	if text, err := c.Metrics(ctx); err != nil || string(text) != "child_greetings 1\n" {
		t.Errorf("metrics %q, %v", text, err)
	}
}

// An answer that is larger than any of the base service is not taken in.
func TestHugeAnswer(t *testing.T) {
	c := mustStart(t, "plain")
	ctx := testContext(t)
	if _, err := c.Configure(ctx, json.RawMessage(`{"greeting":"huge"}`), 1); err != nil {
		t.Fatal(err)
	}
	if h, err := c.Health(ctx); plugin.AsError(err) == nil || plugin.AsError(err).Code != plugin.CodeTooLarge {
		t.Errorf("a health of %d bytes, %v", len(h.Reason), err)
	}
	if _, err := c.Info(ctx); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestCancelledCall(t *testing.T) {
	c := configured(t, "plain")
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := c.Info(ctx); !errors.Is(err, context.Canceled) || plugin.AsError(err).Code != plugin.CodeCanceled {
		t.Errorf("got %v", err)
	}
	if _, err := c.Runtime().Inspect(ctx, "wait"); !errors.Is(err, context.Canceled) || runtime.ErrorCode(err) != runtime.CodeCanceled {
		t.Errorf("got %v", err)
	}
}
