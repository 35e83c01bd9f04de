package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What the API says of plugins, see package wire.
type (
	PluginState   = wire.PluginState
	PluginCheck   = wire.PluginCheck
	PluginLogLine = wire.PluginLogLine
)

// Plugin is a plugin that is configured or installed at the server. What it says about its settings, and the checks of its
// health, come with GetPlugin only.
type Plugin struct {
	Meta
	wire.PluginDetail
}

// PluginList is all plugins.
type PluginList struct {
	Meta
	Plugins []Plugin `json:"plugins"`
	Total   int      `json:"total"`
}

// PluginReport is the outcome of VerifyPlugin.
type PluginReport struct {
	Meta
	wire.PluginReport
}

// PluginRemoval is what was removed of a plugin.
type PluginRemoval struct {
	Meta
	wire.PluginRemoval
}

// PluginLogList is lines, oldest first.
type PluginLogList struct {
	Meta
	Logs []PluginLogLine `json:"logs"`
}

const pluginsPath = "/api/admin/plugins"

func pluginPath(name string) string { return pluginsPath + "/" + segment(name) }

// ListPlugins returns all plugins by name.
func (c *Client) ListPlugins(ctx context.Context) (*PluginList, error) {
	return get[PluginList](ctx, c, pluginsPath)
}

// GetPlugin returns one plugin with the schema of its settings.
func (c *Client) GetPlugin(ctx context.Context, name string) (*Plugin, error) {
	return get[Plugin](ctx, c, pluginPath(name))
}

// VerifyPlugin has the server check a plugin's files, handshake, identity and settings.
func (c *Client) VerifyPlugin(ctx context.Context, name string) (*PluginReport, error) {
	r := request{method: http.MethodPost, path: pluginPath(name) + "/verify", harmless: true}
	return ask[PluginReport](ctx, c, r)
}

// EnablePlugin has a plugin run, now and after restarts, and returns it once it runs or has failed.
func (c *Client) EnablePlugin(ctx context.Context, name string) (*Plugin, error) {
	return c.changePlugin(ctx, name, "enable", true)
}

// DisablePlugin stops a plugin, now and after restarts.
func (c *Client) DisablePlugin(ctx context.Context, name string) (*Plugin, error) {
	return c.changePlugin(ctx, name, "disable", true)
}

// RestartPlugin starts a plugin anew and forgets its failures. It is not repeated by itself.
func (c *Client) RestartPlugin(ctx context.Context, name string) (*Plugin, error) {
	return c.changePlugin(ctx, name, "restart", false)
}

// RemovePlugin removes an installed plugin that the configuration does not use, with its former version. All but Name is empty where a
// repeat found none, since the answer to the try that removed it was lost.
func (c *Client) RemovePlugin(ctx context.Context, name string) (*PluginRemoval, error) {
	out, err := ask[PluginRemoval](ctx, c, request{method: http.MethodDelete, path: pluginPath(name), removes: true})
	if err == nil {
		out.Name = name
	}
	return out, err
}

func (c *Client) changePlugin(ctx context.Context, name, what string, harmless bool) (*Plugin, error) {
	r := request{method: http.MethodPost, path: pluginPath(name) + "/" + what, harmless: harmless}
	return ask[Plugin](ctx, c, r)
}

func pluginTail(tail int) url.Values {
	return queryOf("tail", number(tail))
}

// PluginLogs returns the last lines of a plugin's log; tail 0 is the server's default.
func (c *Client) PluginLogs(ctx context.Context, name string, tail int) (*PluginLogList, error) {
	r := request{method: http.MethodGet, path: pluginPath(name) + "/logs", query: pluginTail(tail)}
	return ask[PluginLogList](ctx, c, r)
}

// FollowPluginLogs yields the last lines of a plugin's log and then each new one, until the server ends it, ctx
// ends or the loop is left. It does not come back after a lost connection: lines have no ids to go on from.
func (c *Client) FollowPluginLogs(ctx context.Context, name string, tail int) iter.Seq2[PluginLogLine, error] {
	query := pluginTail(tail)
	query.Set("follow", "true")
	return followLines[PluginLogLine](ctx, c, pluginPath(name)+"/logs", query)
}
