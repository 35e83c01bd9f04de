package api

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// pluginRoutes are there when the service runs plugins at all.
func (s *Server) pluginRoutes() []Route {
	if s.opts.Plugins == nil {
		return nil
	}
	const tag, resource, one = "plugins", "plugins", "/api/admin/plugins/{name}"
	reads := func(r Route) Route {
		r.Method, r.Tag, r.Resource, r.Action, r.Scope = http.MethodGet, tag, resource, "plugins.read", "admin"
		return r
	}
	acts := func(r Route) Route {
		r.Method, r.Tag, r.Resource, r.Scope = http.MethodPost, tag, resource, "admin"
		r.Body = &Body{JSON: new(emptyRequest), Optional: true}
		return r
	}
	plugin := []Response{{Status: 200, Body: wire.Plugin{}, Doc: "The plugin as it is then: ready, failed, quarantined or disabled."}}
	return []Route{
		reads(Route{
			Path: "/api/admin/plugins", OperationID: "listPlugins",
			Summary:   "List the plugins that are configured or installed, by name.",
			Responses: []Response{{Status: 200, Body: pluginList{}, Doc: "All plugins."}},
			Handle:    s.listPlugins,
		}),
		reads(Route{
			Path: one, OperationID: "getPlugin", Summary: "Get one plugin with the schema of its settings.",
			Responses: []Response{{Status: 200, Body: wire.PluginDetail{}, Doc: "The plugin."}},
			Fails:     []int{404}, Handle: s.getPlugin,
		}),
		acts(Route{
			Path: one + "/verify", OperationID: "verifyPlugin", Action: "plugins.verify",
			Summary:     "Check the files, the handshake, the identity and the settings of a plugin.",
			Description: "A second instance is started for it and ended again; what runs is left alone.",
			Responses:   []Response{{Status: 200, Body: wire.PluginReport{}, Doc: "What was found; ok tells the outcome."}},
			Fails:       []int{404}, Handle: s.verifyPlugin,
		}),
		acts(Route{
			Path: one + "/enable", OperationID: "enablePlugin", Action: "plugins.enable",
			Summary:   "Run a plugin, now and after restarts; one in quarantine is started again.",
			Responses: plugin, Fails: []int{404}, Handle: s.changePlugin(core.PluginService.EnablePlugin),
		}),
		acts(Route{
			Path: one + "/disable", OperationID: "disablePlugin", Action: "plugins.disable",
			Summary:   "Stop a plugin, now and after restarts. One that is required cannot be disabled.",
			Responses: plugin, Fails: []int{404, 409}, Handle: s.changePlugin(core.PluginService.DisablePlugin),
		}),
		acts(Route{
			Path: one + "/restart", OperationID: "restartPlugin", Action: "plugins.restart",
			Summary:   "Start a plugin anew and forget its failures.",
			Responses: plugin, Fails: []int{404, 409}, Handle: s.changePlugin(core.PluginService.RestartPlugin),
		}),
		{
			Method: http.MethodDelete, Path: one, OperationID: "removePlugin", Tag: tag, Resource: resource, Action: "plugins.remove", Scope: "admin",
			Summary: "Remove an installed plugin, with its former version.",
			Description: "One that the configuration uses, or that came with the package of Wardroom, is refused. What it kept stays; " +
				"state of the answer tells where.",
			Responses: []Response{{Status: 200, Body: wire.PluginRemoval{}, Doc: "What was removed."}},
			Fails:     []int{404, 409}, Handle: s.removePlugin,
		},
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
			Fails: []int{404, 409}, Stream: s.pluginLogs,
		}),
	}
}

// maxPluginTail is more than is kept.
const maxPluginTail = 10_000

func (s *Server) listPlugins(c *call) (answer, error) {
	found, err := s.opts.Plugins.FindPlugins(c.ctx)
	if err != nil {
		return answer{}, err
	}
	return ok(pluginList{Plugins: found, Total: len(found)}), nil
}

func (s *Server) getPlugin(c *call) (answer, error) {
	p, err := s.opts.Plugins.FindPlugin(c.ctx, c.param("name"))
	if err != nil {
		return answer{}, err
	}
	return ok(newPluginDetail(p)), nil
}

func (s *Server) verifyPlugin(c *call) (answer, error) {
	if err := c.decode(new(emptyRequest)); err != nil {
		return answer{}, err
	}
	r, err := s.opts.Plugins.VerifyPlugin(c.ctx, c.param("name"))
	if err != nil {
		return answer{}, err
	}
	return ok(r), nil
}

func (s *Server) removePlugin(c *call) (answer, error) {
	removed, err := s.opts.Plugins.RemovePlugin(c.ctx, c.param("name"))
	if err != nil {
		return answer{}, err
	}
	return ok(removed), nil
}

// changePlugin makes the handler of an operation that answers with the plugin. What was asked for happens even
// if the client does not wait for it.
func (s *Server) changePlugin(
	change func(core.PluginService, context.Context, string) (*core.Plugin, error),
) func(c *call) (answer, error) {
	return func(c *call) (answer, error) {
		if err := c.decode(new(emptyRequest)); err != nil {
			return answer{}, err
		}
		p, err := change(s.opts.Plugins, c.ctx, c.param("name"))
		if err != nil {
			return answer{}, err
		}
		return ok(p), nil
	}
}

// pluginLogs answers with lines, or follows them.
func (s *Server) pluginLogs(c *call) error {
	name, tail := c.param("name"), int(c.query.integer("tail"))
	lines, err := s.opts.Plugins.PluginLogs(c.ctx, name, tail)
	if err != nil {
		return err
	}
	if !c.query.boolean("follow") {
		c.respond(ok(pluginLogList{Logs: lines, Tail: tail}))
		return nil
	}
	return followLines(s, c, func(ctx context.Context, visit func(core.PluginLogLine) error) error {
		return s.opts.Plugins.FollowPluginLogs(ctx, name, tail, func(line core.PluginLogLine, lost int) error {
			line.Lost = lost
			return visit(line)
		})
	})
}
