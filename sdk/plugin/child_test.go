package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

const childSchema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "greeting": {"type": "string", "pattern": "^[a-z]+$"},
    "fail": {"type": "string"},
    "secret": {"type": "string"}
  }
}`

// childPlugin is the plugin that tests start.
func childPlugin(mode string) {
	if mode == "prints" {
		fmt.Println("printed before the handshake")
		fmt.Println("1|1|not the handshake")
	}
	def := plugin.Definition{
		Name: "runtime-child", Version: "1.2.3", Kind: plugin.KindRuntime, Schema: []byte(childSchema),
		Examples: []json.RawMessage{json.RawMessage(`{"greeting":"hello"}`)}, Features: []string{"child.tricks"},
		Validate: func(_ context.Context, config json.RawMessage) []plugin.Problem {
			if strings.Contains(string(config), `"odd"`) {
				return []plugin.Problem{{Path: "/greeting", Severity: plugin.SeverityWarning, Text: "is odd"}}
			}
			return nil
		},
		Configure: configureChild,
	}
	switch mode {
	case "secret":
		def.Kind = plugin.KindSecret
	case "wrong":
		def.Name, def.Configure = "Wrong Name", nil
	}
	plugin.Main(def)
}

func configureChild(ctx context.Context, config json.RawMessage, host plugin.Host) (plugin.Service, error) {
	var c struct{ Greeting, Fail, Secret string }
	if err := json.Unmarshal(config, &c); err != nil {
		return plugin.Service{}, err
	}
	switch c.Fail {
	case "error":
		return plugin.Service{}, errors.New("password hunter2 was refused")
	case "panic":
		panic("configure panics")
	case "empty":
		return plugin.Service{}, nil
	}
	host.Logger().Info("configuring", "greeting", c.Greeting)
	rt := &childRuntime{greeting: c.Greeting, secret: c.Secret, host: host, done: make(chan struct{})}
	return plugin.Service{
		Runtime: rt,
		Secret:  childSecrets{},
		Health: func(context.Context) plugin.Health {
			if c.Greeting == "huge" {
				return plugin.Health{Reason: strings.Repeat("x", 40<<20)}
			}
			return plugin.Health{Status: plugin.StatusDegraded, Reason: "says " + c.Greeting, Checks: []plugin.Check{{Name: "a", Status: "ok", Text: "b"}}}
		},
		Metrics: func() []byte { return []byte("child_greetings 1\n") },
		Close: func(context.Context) error {
			host.Logger().Info("closed", "greeting", c.Greeting)
			close(rt.done)
			switch c.Greeting {
			case "mark":
				return os.WriteFile(filepath.Join(host.StateDir(), "closed"), nil, 0o600)
			case "hang":
				select {}
			}
			return nil
		},
	}, nil
}

type childSecrets struct{ secret.Unimplemented }

func (childSecrets) Resolve(_ context.Context, refs []secret.Ref, _ secret.Caller) ([]secret.Result, error) {
	out := make([]secret.Result, len(refs))
	for i, ref := range refs {
		out[i] = secret.Result{Ref: ref, Value: secret.NewValue([]byte("value of "+ref.String()), "1", time.Time{})}
	}
	return out, nil
}

// childRuntime does what a test asks for by the id of the agent.
type childRuntime struct {
	runtime.Unimplemented
	greeting, secret string
	host             plugin.Host
	done             chan struct{}
}

func (r *childRuntime) Capabilities(context.Context) (runtime.Capabilities, error) {
	return runtime.Capabilities{Name: r.greeting, Attach: true}, nil
}

func (r *childRuntime) Inspect(ctx context.Context, id string) (runtime.Agent, error) {
	a := runtime.Agent{ID: id, Type: "claude", Status: runtime.StatusReady, Labels: map[string]string{}}
	switch id {
	case "panic":
		panic("inspect panics")
	case "print":
		fmt.Println("printed by fmt")
		fmt.Fprintln(os.Stderr, "printed to stderr")
		log.Println("[WARN] printed by log")
		cmd := exec.Command("/bin/sh", "-c", "echo printed by a child; env | grep -c 'WARDROOM_PLUGIN=\\|PLUGIN_CLIENT_CERT' || true")
		cmd.Stdout = os.Stdout
		if err := cmd.Run(); err != nil {
			return a, err
		}
	case "long":
		r.host.Logger().Warn("long record", "text", strings.Repeat("x", 100<<10))
	case "debug":
		r.host.Logger().Debug("a debug record")
	case "wait":
		<-ctx.Done()
		return a, ctx.Err()
	case "secret":
		v, err := r.host.Secret(ctx, r.secret)
		if err != nil {
			return a, &runtime.Error{Code: runtime.Code(secret.AsError(err).Code), Message: secret.AsError(err).Message}
		}
		r.host.Logger().Info("got a secret", "value", v)
		a.Labels["secret"], a.Labels["version"] = string(v.Reveal()), v.Version()
	case "kv":
		return a, r.useKV(ctx, a.Labels)
	case "report":
		return a, r.host.Report(ctx, hclog.Warn, "reported", map[string]string{"a": "b\xff"})
	case "wide": // a report that is larger than any that a host takes
		return a, r.host.Report(ctx, hclog.Warn, strings.Repeat("x", 8<<20), nil)
	case "crowd": // calls of the host that do not end by themselves
		var calls sync.WaitGroup
		for range 1000 {
			calls.Go(func() { _, _ = r.host.Secret(ctx, "blocks") })
		}
		calls.Wait()
	case "dirs":
		a.Labels["run"], a.Labels["state"], a.Labels["name"] = r.host.RunDir(), r.host.StateDir(), r.host.Name()
		a.Labels["kv"], a.Labels["future"] = fmt.Sprint(r.host.Has(plugin.FeatureHostKV)), fmt.Sprint(r.host.Has("host.future"))
	case "foreign":
		return a, errors.New("password hunter2")
	case "missing":
		return a, runtime.NotFound(id)
	}
	return a, nil
}

func (r *childRuntime) useKV(ctx context.Context, out map[string]string) error {
	kv := r.host.KV()
	if err := kv.Put(ctx, "a/1", []byte("one")); err != nil {
		return err
	}
	value, found, err := kv.Get(ctx, "a/1")
	if err != nil || !found {
		return fmt.Errorf("found %v: %w", found, err)
	}
	keys, err := kv.List(ctx, "a/")
	if err != nil {
		return err
	}
	if err := kv.Delete(ctx, "a/1"); err != nil {
		return err
	}
	_, found, err = kv.Get(ctx, "a/1")
	out["value"], out["keys"], out["after"] = string(value), strings.Join(keys, ","), fmt.Sprint(found)
	if err != nil {
		return err
	}
	var e *plugin.Error
	if err := kv.Put(ctx, "", nil); !errors.As(err, &e) || e.Code != plugin.CodeInvalidArgument {
		return fmt.Errorf("an empty key gave %w", err)
	}
	if err := kv.Put(ctx, "big", make([]byte, plugin.MaxValue+1)); !errors.As(err, &e) || e.Code != plugin.CodeTooLarge {
		return fmt.Errorf("a large value gave %w", err)
	}
	return nil
}

func (r *childRuntime) Attach(ctx context.Context, id string, opts runtime.AttachOptions) (runtime.Terminal, error) {
	switch id {
	case "missing":
		return nil, runtime.NotFound(id)
	case "flood":
		return &flood{data: make([]byte, 32<<10), done: make(chan struct{})}, nil
	}
	return &echo{lines: make(chan []byte, 64), done: make(chan struct{}), id: id}, nil
}

// flood sends for ever.
type flood struct {
	data   []byte
	offset uint64
	done   chan struct{}
	once   sync.Once
}

func (f *flood) Recv() (runtime.Frame, error) {
	select {
	case <-f.done:
		return runtime.Frame{}, io.EOF
	default:
	}
	f.offset += uint64(len(f.data))
	return runtime.Frame{Data: f.data, Offset: f.offset}, nil
}
func (f *flood) Input([]byte) error    { return nil }
func (f *flood) Resize(int, int) error { return nil }
func (f *flood) Close() error          { f.once.Do(func() { close(f.done) }); return nil }

// echo sends back what it gets.
type echo struct {
	id    string
	lines chan []byte
	done  chan struct{}
	once  sync.Once
}

func (e *echo) Recv() (runtime.Frame, error) {
	select {
	case line := <-e.lines:
		return runtime.Frame{Data: line}, nil
	case <-e.done:
		return runtime.Frame{}, io.EOF
	}
}

func (e *echo) Input(p []byte) error {
	if e.id == "panic-input" {
		panic("input panics")
	}
	select {
	case e.lines <- append([]byte(nil), p...):
	case <-e.done:
	}
	return nil
}
func (e *echo) Resize(int, int) error { return nil }
func (e *echo) Close() error          { e.once.Do(func() { close(e.done) }); return nil }
