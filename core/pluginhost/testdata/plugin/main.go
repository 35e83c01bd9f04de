// Command plugin is the plugin of the host's tests: TEST_MODE says as what it behaves, and misbehaves.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

// version is set by the linker, so that two builds differ.
var version = "1.0.0"

func main() {
	mode := os.Getenv("TEST_MODE")
	switch mode {
	case "silent":
		time.Sleep(time.Hour)
	case "exit":
		fmt.Fprintln(os.Stderr, "panic: the pen is broken")
		os.Exit(3)
	case "crash-once":
		mark := os.Getenv(plugin.EnvStateDir) + "/crashed"
		if _, err := os.Stat(mark); err != nil {
			_ = os.WriteFile(mark, nil, 0o600)
			os.Exit(9)
		}
	case "grandchild":
		cmd := exec.Command("sleep", "1000")
		cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stderr, "pid of the child: %d\n", cmd.Process.Pid)
	}
	def := plugin.Definition{
		Name: "runtime-pen", Version: version, Kind: plugin.KindRuntime, Features: features(mode),
		Schema:    []byte(`{"type": "object", "properties": {"ink": {"type": "string"}, "ref": {"type": "string"}, "token": {"type": "string"}}, "additionalProperties": false}`),
		Examples:  []json.RawMessage{[]byte(`{"ink": "blue"}`)},
		Configure: configure(mode),
		Validate: func(_ context.Context, config json.RawMessage) []plugin.Problem {
			if mode == "endless" {
				problems := slices.Repeat([]plugin.Problem{{Path: "/ink", Severity: plugin.SeverityWarning, Text: "fades"}}, 10_000)
				if strings.Contains(string(config), "dry") {
					problems = append(problems, plugin.Problem{Path: "/ink", Severity: plugin.SeverityError, Text: "is dry"})
				}
				return problems
			}
			if mode == "warn" {
				return []plugin.Problem{{Path: "/ink", Severity: plugin.SeverityWarning, Text: "fades"}}
			}
			return nil
		},
	}
	switch mode {
	case "no-settings":
		def.Schema, def.Examples = nil, nil
	case "endless":
		def.Examples = slices.Repeat(def.Examples, 100_000)
	case "secret":
		def.Kind = plugin.KindSecret
	case "audit":
		def.Kind = plugin.KindAudit
	}
	plugin.Main(def)
}

func configure(mode string) func(context.Context, json.RawMessage, plugin.Host) (plugin.Service, error) {
	return func(ctx context.Context, config json.RawMessage, host plugin.Host) (plugin.Service, error) {
		host.Logger().Info("configured", "env", strings.Join(os.Environ(), " "), "config", string(config))
		switch mode {
		case "hang-configure":
			time.Sleep(time.Hour)
		case "crash-configure":
			os.Exit(4)
		case "refuse":
			return plugin.Service{}, plugin.Errorf(plugin.CodeInvalidConfig, "the ink %s is dry", config)
		case "long-refuse": // the secret lies where the text is cut
			return plugin.Service{}, plugin.Errorf(plugin.CodeInvalidConfig, "%s%s", strings.Repeat("x", 992), os.Getenv("PEN_SECRET"))
		case "unavailable":
			return plugin.Service{}, &plugin.Error{Code: plugin.CodeUnavailable, Message: "the ink shop is closed", Hint: "knock"}
		case "secret":
			return plugin.Service{Secret: provider{}}, nil
		case "audit":
			return plugin.Service{Audit: &sink{}}, nil
		case "mute":
			return plugin.Service{Runtime: pen{host: host}, Health: func(ctx context.Context) plugin.Health {
				time.Sleep(time.Hour) // whatever ctx says
				return plugin.Health{}
			}}, nil
		case "endless":
			return plugin.Service{Runtime: pen{host: host}, Health: func(context.Context) plugin.Health {
				return plugin.Health{Checks: slices.Repeat([]plugin.Check{{Name: "ink", Text: "blue"}}, 10_000)}
			}}, nil
		case "sick":
			return plugin.Service{Runtime: pen{host: host}, Health: func(context.Context) plugin.Health {
				return plugin.Health{Status: plugin.StatusDegraded, Reason: "little ink", Checks: []plugin.Check{{Name: "ink", Status: plugin.StatusDegraded, Text: "1 ml"}}}
			}}, nil
		}
		return plugin.Service{Runtime: pen{host: host}, Metrics: func() []byte {
			return []byte("# HELP pen_strokes_total Strokes.\n# TYPE pen_strokes_total counter\npen_strokes_total{colour=\"blue\"} 7\n")
		}}, nil
	}
}

// pen is a runtime whose agents do what their id says.
type pen struct {
	runtime.Unimplemented
	host plugin.Host
}

func (p pen) Capabilities(context.Context) (runtime.Capabilities, error) {
	return runtime.Capabilities{Name: fmt.Sprintf("%s-%d", version, os.Getpid())}, nil
}

func (p pen) Inspect(ctx context.Context, id string) (runtime.Agent, error) {
	switch id {
	case "slow":
		<-ctx.Done()
		return runtime.Agent{}, ctx.Err()
	case "slow-once": // the first process never answers
		mark := p.host.StateDir() + "/asked"
		if _, err := os.Stat(mark); err != nil {
			_ = os.WriteFile(mark, nil, 0o600)
			<-ctx.Done()
		}
	case "missing":
		return runtime.Agent{}, runtime.NotFound(id)
	}
	return runtime.Agent{ID: id}, nil
}

func (p pen) Spawn(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	switch spec.ID {
	case "exit":
		os.Exit(7)
	case "file":
		data, err := os.ReadFile(plugin.File("ink"))
		return runtime.Agent{ID: string(data)}, err
	case "has-secret":
		return runtime.Agent{ID: fmt.Sprint(p.host.Has(plugin.FeatureHostSecret), p.host.Has(plugin.FeatureHostKV))}, nil
	case "environment":
		p.host.Logger().Warn("the pen says " + os.Getenv("PEN_SECRET"))
		return runtime.Agent{ID: os.Getenv("PEN_SECRET")}, nil
	case "level":
		return runtime.Agent{ID: p.host.Logger().GetLevel().String()}, nil
	case "key":
		key, err := p.host.StateKey(ctx)
		return runtime.Agent{ID: string(key), Name: fmt.Sprint(p.host.Has(plugin.FeatureHostStateKey))}, err
	case "kv":
		if err := p.host.KV().Put(ctx, "ink", []byte("blue")); err != nil {
			return runtime.Agent{}, err
		}
		value, found, err := p.host.KV().Get(ctx, "ink")
		return runtime.Agent{ID: string(value), Name: fmt.Sprint(found)}, err
	case "report":
		return runtime.Agent{}, p.host.Report(ctx, hclog.Warn, "the pen was dropped", map[string]string{"height": "1m"})
	}
	if ref, ok := strings.CutPrefix(spec.ID, "secret-"); ok {
		value, err := p.host.Secret(ctx, ref)
		p.host.Logger().Warn("the ink is", "colour", string(value.Reveal()))
		return runtime.Agent{ID: string(value.Reveal())}, err
	}
	return runtime.Agent{ID: spec.ID}, nil
}

func (p pen) Send(ctx context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	if id == "exit" {
		os.Exit(7)
	}
	return runtime.SendResult{Sent: true}, nil
}

func (p pen) Events(ctx context.Context, _ runtime.EventOptions) (runtime.EventStream, error) {
	return &events{ctx: ctx}, nil
}

// events describes one event, and nothing more.
type events struct {
	ctx  context.Context
	told bool
}

func (e *events) Next() (runtime.Event, error) {
	if !e.told {
		e.told = true
		return runtime.Event{Seq: 1, AgentID: "a", Type: runtime.EventReady}, nil
	}
	<-e.ctx.Done()
	return runtime.Event{}, e.ctx.Err()
}

func (e *events) Close() error { return nil }

// provider knows one secret.
type provider struct{ secret.Unimplemented }

func (provider) Resolve(_ context.Context, refs []secret.Ref, _ secret.Caller) ([]secret.Result, error) {
	out := make([]secret.Result, len(refs))
	for i, ref := range refs {
		out[i].Ref = ref
		if ref.Path == "ink" {
			out[i].Value = secret.NewValue([]byte("blue"), "1", time.Time{})
		} else {
			out[i].Error = secret.Errorf(secret.CodeNotFound, "there is no %s", ref.Path)
		}
	}
	return out, nil
}

// sink keeps records in memory.
type sink struct {
	audit.Unimplemented
	last uint64
}

func (s *sink) Open(context.Context, uint64) (uint64, error) { return s.last, nil }

func (s *sink) Write(_ context.Context, batch []audit.Record) (uint64, error) {
	for _, r := range batch {
		if r.Sequence != s.last+1 {
			return s.last, errors.New("a gap")
		}
		s.last = r.Sequence
	}
	return s.last, nil
}

func (s *sink) Flush(context.Context) (uint64, error) { return s.last, nil }

// features are what the plugin can do in a mode.
func features(mode string) []string {
	if mode == "endless" {
		return slices.Repeat([]string{strings.Repeat("x", 1000)}, 10_000)
	}
	if mode != "hangup" {
		return nil
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			_, _ = fmt.Fprintln(os.Stderr, "the pen was dipped anew")
		}
	}()
	return []string{plugin.FeatureHangup}
}
