package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const quickTimeout = 15 * time.Second

// Quick checks a plugin that is connected: what it says of itself, and the promises of its kind that can be
// checked in seconds and leave nothing behind. With a config the plugin is configured with it, twice; with nil
// it has been configured by the caller.
func Quick(ctx context.Context, conn *plugin.Conn, config json.RawMessage) []Result {
	subject := &quickSubject{conn: conn, config: config}
	var results []Result
	for _, c := range quickChecks {
		results = append(results, perform(ctx, c, subject, quickTimeout))
	}
	switch subject.info.Kind {
	case plugin.KindRuntime:
		results = append(results, quickRuntime(ctx, conn.Runtime())...)
	case plugin.KindSecret:
		results = append(results, quickOf(ctx, secretChecks, &SecretOptions{Provider: conn.Secret()})...)
	case plugin.KindAudit: // nothing about a sink can be checked without writing into it
	}
	return results
}

// quickRuntime checks with a type that the runtime knows by itself: not each knows declared ones.
func quickRuntime(ctx context.Context, rt runtime.Runtime) []Result {
	o := RuntimeOptions{Runtime: rt, Timeout: quickTimeout}
	if capabilities, err := rt.Capabilities(ctx); err == nil && len(capabilities.Types) > 0 {
		o.Spec = func(id string) runtime.Spec { return runtime.Spec{ID: id, Type: capabilities.Types[0]} }
	}
	s := newSuite(o)
	results := quickOf(ctx, runtimeChecks(), s)
	// No check starts an agent; a runtime that takes a bad spec does.
	if err := s.close(); err != nil && len(results) > 0 {
		results[len(results)-1].Err = errors.Join(results[len(results)-1].Err, err)
	}
	return results
}

func quickOf[S any](ctx context.Context, checks []check[S], subject S) []Result {
	var results []Result
	for _, c := range checks {
		if c.quick {
			results = append(results, perform(ctx, c, subject, quickTimeout))
		}
	}
	return results
}

type quickSubject struct {
	conn   *plugin.Conn
	config json.RawMessage
	info   plugin.Info
}

var quickChecks = []check[*quickSubject]{
	{"plugin/info", "a plugin says who it is, and the same each time", true, pluginInfo},
	{"plugin/schema", "the schema is JSON, and the examples are valid configurations", true, pluginSchema},
	{"plugin/validate", "a configuration that is no object is a problem, not a failure", true, pluginValidate},
	{"plugin/configure", "a plugin can be configured again", true, pluginConfigure},
	{"plugin/health", "a plugin tells its health", true, pluginHealth},
	{"plugin/log-level", "the level of the log can be set at run time", true, pluginLogLevel},
}

func pluginInfo(ctx context.Context, q *quickSubject) error {
	var err error
	if q.info, err = q.conn.Info(ctx); err != nil {
		return fmt.Errorf("Info: %w", err)
	}
	if q.info.Name == "" || q.info.Version == "" {
		return fmt.Errorf("the plugin's name is %q and its version %q", q.info.Name, q.info.Version)
	}
	if !slices.Contains([]plugin.Kind{plugin.KindRuntime, plugin.KindSecret, plugin.KindAudit}, q.info.Kind) {
		return fmt.Errorf("the plugin's kind is %q", q.info.Kind)
	}
	again, err := q.conn.Info(ctx)
	if err != nil {
		return fmt.Errorf("Info: %w", err)
	}
	if again.Name != q.info.Name || again.Version != q.info.Version || again.Kind != q.info.Kind || !slices.Equal(again.Features, q.info.Features) {
		return fmt.Errorf("Info changed from %+v to %+v", q.info, again)
	}
	return nil
}

func pluginSchema(ctx context.Context, q *quickSubject) error {
	schema, err := q.conn.Schema(ctx)
	if err != nil {
		return fmt.Errorf("Schema: %w", err)
	}
	if schema.Schema == nil {
		return skip("the plugin has no settings")
	}
	var object map[string]any
	if err := json.Unmarshal(schema.Schema, &object); err != nil {
		return fmt.Errorf("the schema is not a JSON object: %w", err)
	}
	for i, example := range schema.Examples {
		problems, err := q.conn.Validate(ctx, example)
		if err != nil {
			return fmt.Errorf("Validate of example %d: %w", i+1, err)
		}
		if n := slices.IndexFunc(problems, func(p plugin.Problem) bool { return p.Severity == plugin.SeverityError }); n >= 0 {
			return fmt.Errorf("example %d is not valid: %s: %s", i+1, problems[n].Path, problems[n].Text)
		}
	}
	return nil
}

func pluginValidate(ctx context.Context, q *quickSubject) error {
	problems, err := q.conn.Validate(ctx, json.RawMessage(`"no object"`))
	if err != nil {
		return fmt.Errorf("Validate: %w", err)
	}
	if !slices.ContainsFunc(problems, func(p plugin.Problem) bool { return p.Severity == plugin.SeverityError && p.Text != "" }) {
		return fmt.Errorf("a configuration that is a text has no problem: %+v", problems)
	}
	return nil
}

func pluginConfigure(ctx context.Context, q *quickSubject) error {
	if q.config == nil {
		return skip("the caller has configured the plugin")
	}
	for generation := range uint64(2) {
		if _, err := q.conn.Configure(ctx, q.config, generation+1); err != nil {
			return fmt.Errorf("Configure, time %d: %w", generation+1, err)
		}
	}
	return nil
}

func pluginHealth(ctx context.Context, q *quickSubject) error {
	health, err := q.conn.Health(ctx)
	if err != nil {
		return fmt.Errorf("Health: %w", err)
	}
	if !slices.Contains([]string{plugin.StatusOK, plugin.StatusDegraded, plugin.StatusFailed}, health.Status) {
		return fmt.Errorf("the status is %q", health.Status)
	}
	if health.Status != plugin.StatusOK && health.Reason == "" {
		return fmt.Errorf("the status is %s without a reason", health.Status)
	}
	return nil
}

func pluginLogLevel(ctx context.Context, q *quickSubject) error {
	for _, level := range []hclog.Level{hclog.Debug, hclog.Info} {
		if err := q.conn.SetLogLevel(ctx, level); err != nil {
			return fmt.Errorf("SetLogLevel(%v): %w", level, err)
		}
	}
	return nil
}
