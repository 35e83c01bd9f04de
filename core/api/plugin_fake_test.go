package api_test

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// fakePlugins is a core.PluginService made of functions; a nil one answers with a plain success.
type fakePlugins struct {
	find   func(name string) (*core.PluginDetail, error)
	change func(what, name string) (*core.Plugin, error)
	verify func(name string) (*core.PluginReport, error)
	follow func(ctx context.Context, name string, tail int, visit func(core.PluginLogLine, int) error) error
}

func somePlugin(name string, state core.PluginState) *core.Plugin {
	p := &core.Plugin{
		Name: name, Kind: "runtime", Version: "1.0.0", Path: "/usr/lib/wardroom/plugins/" + name, SHA256: "ab", Enabled: true,
		Declared: true, State: state, Since: epoch,
	}
	switch state {
	case core.PluginReady:
		p.PID, p.StartedAt, p.Protocol, p.Features, p.Health = 4711, epoch, 1, []string{"x"}, "ok"
	case core.PluginFailed:
		p.Reason, p.Hint, p.NextAttempt, p.Failures = "there is no file", "install it", epoch, 2
	}
	return p
}

func (f *fakePlugins) FindPlugins(context.Context) ([]*core.Plugin, error) {
	return []*core.Plugin{somePlugin("audit-pen", core.PluginFailed), somePlugin("runtime-pen", core.PluginReady)}, nil
}

func (f *fakePlugins) FindPlugin(_ context.Context, name string) (*core.PluginDetail, error) {
	if f.find != nil {
		return f.find(name)
	}
	return &core.PluginDetail{
		Plugin: *somePlugin(name, core.PluginReady), Schema: json.RawMessage(`{"type":"object"}`),
		Examples: []json.RawMessage{json.RawMessage(`{"ink":"blue"}`)},
		Checks:   []core.PluginCheck{{Name: "ink", Status: "degraded", Text: "1 ml"}},
	}, nil
}

func (f *fakePlugins) VerifyPlugin(_ context.Context, name string) (*core.PluginReport, error) {
	if f.verify != nil {
		return f.verify(name)
	}
	return &core.PluginReport{Name: name, Checks: []core.PluginCheck{
		{Name: "files", Status: core.PluginCheckFailed, Text: "t"}, {Name: "handshake", Status: core.PluginCheckSkipped, Text: "u"},
	}}, nil
}

func (f *fakePlugins) did(what, name string) (*core.Plugin, error) {
	if f.change != nil {
		return f.change(what, name)
	}
	return somePlugin(name, core.PluginReady), nil
}

func (f *fakePlugins) EnablePlugin(_ context.Context, name string) (*core.Plugin, error) {
	return f.did("enable", name)
}

func (f *fakePlugins) DisablePlugin(_ context.Context, name string) (*core.Plugin, error) {
	return f.did("disable", name)
}

func (f *fakePlugins) RestartPlugin(_ context.Context, name string) (*core.Plugin, error) {
	return f.did("restart", name)
}

func (f *fakePlugins) RemovePlugin(_ context.Context, name string) (*core.PluginRemoval, error) {
	if _, err := f.did("remove", name); err != nil {
		return nil, err
	}
	return &core.PluginRemoval{Name: name, Kind: "runtime", Version: "1.0.0", Former: "0.9.0", SHA256: "ab", Directory: "/usr/lib/wardroom/plugins"}, nil
}

func (f *fakePlugins) PluginLogs(_ context.Context, name string, tail int) ([]core.PluginLogLine, error) {
	if _, err := f.FindPlugin(context.Background(), name); err != nil {
		return nil, err
	}
	return []core.PluginLogLine{{Timestamp: epoch, Level: "info", Message: "configured"}}[:min(tail, 1)], nil
}

func (f *fakePlugins) FollowPluginLogs(ctx context.Context, name string, tail int, visit func(core.PluginLogLine, int) error) error {
	if f.follow != nil {
		return f.follow(ctx, name, tail, visit)
	}
	if err := visit(core.PluginLogLine{Timestamp: epoch, Level: "info", Message: "one"}, 0); err != nil {
		return err
	}
	return visit(core.PluginLogLine{Timestamp: epoch, Level: "error", Message: "two"}, 3)
}

// fakeServerLog has one line of each of two levels.
type fakeServerLog struct{}

func (fakeServerLog) FindServerLog(_ context.Context, f core.ServerLogFilter) ([]core.ServerLogLine, error) {
	lines := []core.ServerLogLine{
		{Timestamp: epoch, Level: "info", Part: "wardroom.api", Message: "ready"}, {Timestamp: epoch, Level: "error", Message: f.Text},
	}
	if f.Level == "error" {
		lines = lines[1:]
	}
	return lines[:min(f.Tail, len(lines))], nil
}

func (l fakeServerLog) FollowServerLog(ctx context.Context, f core.ServerLogFilter, visit func(core.ServerLogLine) error) error {
	lines, _ := l.FindServerLog(ctx, f)
	for _, line := range lines {
		if err := visit(line); err != nil {
			return err
		}
	}
	return nil
}
