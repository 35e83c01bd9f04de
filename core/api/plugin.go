package api

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Plugins makes the operations of plugins. The logs of a runtime may have something of its agents.
func Plugins(service core.PluginService) Part {
	return Part{"plugins", resource{wire.AuditAdmin, true, ""}, pluginPart{service}.routes()}
}

type pluginPart struct{ service core.PluginService }

func (p pluginPart) routes() []Route {
	const one = "/api/admin/plugins/{name}"
	route := routesOf("plugins", core.ScopeAdmin, core.ScopeAdmin)
	reads := func(r Route) Route { return route(http.MethodGet, "plugins.read", r) }
	acts := func(action string, r Route) Route {
		r.Body = &Body{JSON: new(emptyRequest), Optional: true}
		return route(http.MethodPost, action, r)
	}
	plugin := []Response{{Status: 200, Body: wire.Plugin{}, Doc: "The plugin as it is then: ready, failed, quarantined or disabled."}}
	return []Route{
		reads(Route{
			Path: "/api/admin/plugins", OperationID: "listPlugins",
			Summary:   "List the plugins that are configured or installed, by name.",
			Responses: []Response{{Status: 200, Body: pluginList{}, Doc: "All plugins."}},
			Handle:    p.listPlugins,
		}),
		reads(Route{
			Path: one, OperationID: "getPlugin", Summary: "Get one plugin with the schema of its settings.",
			Responses: []Response{{Status: 200, Body: wire.PluginDetail{}, Doc: "The plugin."}},
			Fails:     []int{404}, Handle: p.getPlugin,
		}),
		acts("plugins.verify", Route{
			Path: one + "/verify", OperationID: "verifyPlugin",
			Summary:     "Check the files, the handshake, the identity and the settings of a plugin.",
			Description: "A second instance is started for it and ended again; what runs is left alone.",
			Responses:   []Response{{Status: 200, Body: wire.PluginReport{}, Doc: "What was found; ok tells the outcome."}},
			Fails:       []int{404}, Handle: decoded(p.verifyPlugin),
		}),
		acts("plugins.enable", Route{
			Path: one + "/enable", OperationID: "enablePlugin",
			Summary:   "Run a plugin, now and after restarts; one in quarantine is started again.",
			Responses: plugin, Fails: []int{404}, Handle: p.changePlugin(core.PluginService.EnablePlugin),
		}),
		acts("plugins.disable", Route{
			Path: one + "/disable", OperationID: "disablePlugin",
			Summary:   "Stop a plugin, now and after restarts. One that is required cannot be disabled.",
			Responses: plugin, Fails: []int{404, 409}, Handle: p.changePlugin(core.PluginService.DisablePlugin),
		}),
		acts("plugins.restart", Route{
			Path: one + "/restart", OperationID: "restartPlugin",
			Summary:   "Start a plugin anew and forget its failures.",
			Responses: plugin, Fails: []int{404, 409}, Handle: p.changePlugin(core.PluginService.RestartPlugin),
		}),
		route(http.MethodDelete, "plugins.remove", Route{
			Path: one, OperationID: "removePlugin",
			Summary: "Remove an installed plugin, with its former version.",
			Description: "One that the configuration uses, or that came with the package of Wardroom, is refused. What it kept stays; " +
				"state of the answer tells where.",
			Responses: []Response{{Status: 200, Body: wire.PluginRemoval{}, Doc: "What was removed."}},
			Fails:     []int{404, 409}, Handle: p.removePlugin,
		}),
		reads(Route{
			Path: one + "/logs", OperationID: "getPluginLogs",
			Summary: "Read the last lines of a plugin's log, or follow them as server-sent events.",
			Query: []Param{
				{Name: "tail", Type: ParamInteger, Default: "200", Min: 1, Max: maxPluginTail, Doc: "Only so many last lines."},
				{Name: "follow", Type: ParamBoolean, Default: "false",
					Doc: "Events log, one for each line, until the service ends. Lines that a slow reader missed are told of by lost."},
			},
			Responses: []Response{
				{Status: 200, Body: pluginLogList{}, Doc: "Lines, oldest first."},
				{Status: 200, Body: "", ContentType: "text/event-stream", Doc: "With follow=true: events."},
			},
			Fails: []int{404, 409}, Stream: p.pluginLogs,
		}),
	}
}

// maxPluginTail is more than is kept.
const maxPluginTail = 10_000

func (p pluginPart) listPlugins(c *call) (answer, error) {
	found, err := p.service.FindPlugins(c.ctx)
	if err != nil {
		return answer{}, err
	}
	return ok(pluginList{Plugins: found, Total: len(found)}), nil
}

func (p pluginPart) getPlugin(c *call) (answer, error) {
	found, err := p.service.FindPlugin(c.ctx, c.param("name"))
	if err != nil {
		return answer{}, err
	}
	return ok(newPluginDetail(found)), nil
}

func (p pluginPart) verifyPlugin(c *call, _ emptyRequest) (answer, error) {
	return shown(p.service.VerifyPlugin(c.ctx, c.param("name")))
}

func (p pluginPart) removePlugin(c *call) (answer, error) {
	return shown(p.service.RemovePlugin(c.ctx, c.param("name")))
}

// changePlugin makes the handler of an operation that answers with the plugin. What was asked for happens even
// if the client does not wait for it.
func (p pluginPart) changePlugin(
	change func(core.PluginService, context.Context, string) (*core.Plugin, error),
) func(c *call) (answer, error) {
	return decoded(func(c *call, _ emptyRequest) (answer, error) {
		return shown(change(p.service, c.ctx, c.param("name")))
	})
}

// pluginLogs answers with lines, or follows them.
func (p pluginPart) pluginLogs(c *call) error {
	name, tail := c.param("name"), int(c.query.integer("tail"))
	lines, err := p.service.PluginLogs(c.ctx, name, tail)
	if err != nil {
		return err
	}
	if !c.query.boolean("follow") {
		c.respond(ok(pluginLogList{Logs: lines, Tail: tail}))
		return nil
	}
	return followLines(c.s, c, func(ctx context.Context, visit func(core.PluginLogLine) error) error {
		return p.service.FollowPluginLogs(ctx, name, tail, func(line core.PluginLogLine, lost int) error {
			line.Lost = lost
			return visit(line)
		})
	})
}
