package plugin_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestHostServices(t *testing.T) {
	host := newFakeHost()
	c := mustStart(t, "plain")
	c.SetHostServices(host)
	ctx := testContext(t)
	if _, err := c.Configure(ctx, json.RawMessage(`{"greeting":"hello","secret":"vault:db#password"}`), 1); err != nil {
		t.Fatal(err)
	}
	rt := c.Runtime()

	t.Run("Dirs", func(t *testing.T) {
		a, err := rt.Inspect(ctx, "dirs")
		if err != nil || a.Labels["name"] != "child" || a.Labels["run"] == "" || a.Labels["state"] == "" || a.Labels["kv"] != "true" || a.Labels["future"] != "false" {
			t.Errorf("%v, %v", a.Labels, err)
		}
	})
	t.Run("Secret", func(t *testing.T) {
		a, err := rt.Inspect(ctx, "secret")
		if err != nil || a.Labels["secret"] != "hunter2" || a.Labels["version"] != "7" {
			t.Fatalf("%v, %v", a.Labels, err)
		}
		eventually(t, "the record of the secret", func() bool { return strings.Contains(c.log.String(), "got a secret") })
		if text := c.log.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "[redacted]") {
			t.Errorf("the log holds the secret:\n%s", text)
		}
	})
	t.Run("KV", func(t *testing.T) {
		a, err := rt.Inspect(ctx, "kv")
		if err != nil || a.Labels["value"] != "one" || a.Labels["keys"] != "a/1" || a.Labels["after"] != "false" {
			t.Errorf("%v, %v", a.Labels, err)
		}
	})
	t.Run("Report", func(t *testing.T) {
		if _, err := rt.Inspect(ctx, "report"); err != nil {
			t.Fatal(err)
		}
		if len(host.logged) != 1 || host.logged[0] != "warn reported b\uFFFD" {
			t.Errorf("logged %q", host.logged)
		}
	})
	t.Run("SecretForbidden", func(t *testing.T) {
		if _, err := c.Configure(ctx, json.RawMessage(`{"greeting":"hello","secret":"vault:other"}`), 2); err != nil {
			t.Fatal(err)
		}
		_, err := rt.Inspect(ctx, "secret")
		if runtime.ErrorCode(err) != runtime.CodeForbidden {
			t.Errorf("got %v", err)
		}
	})
}

// A first Configure that fails must not keep the second from the host's services.
func TestHostServicesAfterFailure(t *testing.T) {
	c := mustStart(t, "plain")
	c.SetHostServices(newFakeHost())
	ctx := testContext(t)
	if _, err := c.Configure(ctx, json.RawMessage(`{"greeting":7}`), 1); err == nil {
		t.Fatal("a wrong configuration was taken")
	}
	if _, err := c.Configure(ctx, json.RawMessage(`{"greeting":"hello"}`), 2); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Runtime().Inspect(ctx, "kv"); err != nil || a.Labels["value"] != "one" {
		t.Errorf("%v, %v", a.Labels, err)
	}
}

func TestWithoutHostServices(t *testing.T) {
	c := mustStart(t, "plain")
	ctx := testContext(t)
	if _, err := c.Configure(ctx, json.RawMessage(`{"greeting":"hello"}`), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Runtime().Inspect(ctx, "secret"); runtime.ErrorCode(err) != runtime.CodeUnimplemented {
		t.Errorf("got %v", err)
	}
	if _, err := c.Runtime().Inspect(ctx, "kv"); err == nil {
		t.Error("KV without a host worked")
	}
}

func TestConfigureAfterClose(t *testing.T) {
	c := configured(t, "plain")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := c.Configure(testContext(t), nil, 2)
	if e := plugin.AsError(err); e == nil || e.Code != plugin.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

// A plugin gets no more memory and goroutines of its host than the services need: calls beyond what it serves at once wait in the plugin.
func TestHostServicesAreBounded(t *testing.T) {
	host := newFakeHost()
	c := mustStart(t, "plain")
	c.SetHostServices(host)
	ctx := testContext(t)
	if _, err := c.Configure(ctx, json.RawMessage(`{"greeting":"hello"}`), 1); err != nil {
		t.Fatal(err)
	}
	_, err := c.Runtime().Inspect(ctx, "wide")
	host.mu.Lock()
	logged := len(host.logged)
	host.mu.Unlock()
	if err == nil || logged > 0 {
		t.Errorf("a report of 8 MiB: %v, and %d are logged", err, logged)
	}
	crowd, leave := context.WithCancel(ctx)
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = c.Runtime().Inspect(crowd, "crowd")
	}()
	end := sync.OnceFunc(func() {
		close(host.block)
		leave()
		<-left
	})
	t.Cleanup(end)
	within := func() int {
		host.mu.Lock()
		defer host.mu.Unlock()
		return host.within
	}
	eventually(t, "the crowd", func() bool { return within() >= plugin.HostCalls })
	if _, err := c.Health(ctx); err != nil {
		t.Error(err)
	}
	if n := within(); n > plugin.HostCalls {
		t.Errorf("%d calls are served at once", n)
	}
	end()
}
