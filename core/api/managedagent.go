package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// managedAgentRoutes are there when the service has runtimes at all.
func (s *Server) managedAgentRoutes() []Route {
	if s.opts.ManagedAgents == nil {
		return nil
	}
	const tag, resource, one = "managed agents", "agents", "/api/managed-agents/{agentId}"
	reads := func(r Route) Route {
		r.Method, r.Tag, r.Resource = http.MethodGet, tag, resource
		r.Action, r.Scope = "agents.read", "agents:read"
		return r
	}
	acts := func(r Route) Route {
		r.Tag, r.Resource, r.Scope = tag, resource, "agents:manage"
		return r
	}
	agent := []Response{{Status: 200, Body: core.ManagedAgent{}, Doc: "The agent."}}
	return []Route{
		acts(Route{
			Method: http.MethodPost, Path: "/api/managed-agents", OperationID: "spawnManagedAgent",
			Action: "agents.spawn", Summary: "Start a command-line agent on a runtime.",
			Description: "Without runtime, the ready runtimes are tried in the order of their priority. The answer " +
				"comes once the process runs; the agent takes messages when its status is ready. Values of env are " +
				"never stored by the service, logged or answered.",
			Body:      &Body{JSON: new(wire.ManagedAgentSpec)},
			Responses: []Response{{Status: 201, Body: core.ManagedAgent{}, Location: true, Doc: "It runs."}},
			Fails:     []int{404, 409, 422, 502}, Creates: true, Recover: s.recoverSpawn, Handle: decoded(s.spawnManagedAgent),
		}),
		reads(Route{
			Path: "/api/managed-agents", OperationID: "listManagedAgents",
			Summary: "List managed agents, newest first; stopped ones stay listed for a time.",
			Query: append(pageParams(),
				Param{Name: "status", Type: ParamString, Enum: managedStatuses, Doc: "Status."},
				Param{Name: "type", Type: ParamString, Doc: "Agent type."},
				Param{Name: "runtime", Type: ParamString, Doc: "Name of the runtime."},
				Param{Name: "name", Type: ParamString, MaxBytes: 256, Doc: "A part of the name, whatever the case."},
				Param{Name: "reason", Type: ParamString, Selects: []string{"statusReason"}, Doc: "The reason of the status, such as blocked or login_required."},
				Param{Name: "executionId", Type: ParamString, Doc: "Only those that work for this execution, in a role or a thread of it."},
				Param{Name: "label", Type: ParamPairs, Selects: []string{"labels"}, Doc: "name=value: only agents with this label; several times: with all of them."}, creatorParam),
			Responses: []Response{{Status: 200, Body: managedAgentList{}, Doc: "A page of agents."}},
			Handle:    s.listManagedAgents,
		}),
		reads(Route{
			Path: one, OperationID: "getManagedAgent", Summary: "Get one managed agent.",
			Responses: agent, Fails: []int{404}, Handle: s.getManagedAgent,
		}),
		acts(Route{
			Method: http.MethodDelete, Path: one, OperationID: "stopManagedAgent", Action: "agents.stop",
			Summary: "Stop a managed agent. Stopping a stopped one is no error.",
			Query: []Param{
				{Name: "force", Type: ParamBoolean, Default: "false", Doc: "Kill it at once."},
				{Name: "timeout", Type: ParamInteger, Min: 1, Max: maxStopGrace.Milliseconds(),
					Doc: "Milliseconds it has to end by itself. Default: the runtime's."},
			},
			Responses: []Response{{Status: http.StatusNoContent, Doc: "It has stopped."}},
			Fails:     []int{404, 408, 409}, Handle: s.stopManagedAgent,
		}),
		acts(Route{
			Method: http.MethodPost, Path: one + "/restart", OperationID: "restartManagedAgent",
			Action:  "agents.restart",
			Summary: "Start a stopped or running agent again under its id, with its session or a fresh one.",
			Body:    &Body{JSON: new(restartRequest), Optional: true}, Responses: agent,
			Fails: []int{404, 409, 422, 502}, Creates: true, Handle: decoded(s.restartManagedAgent),
			Recover: func(c *call, _ string) (answer, error) { return s.getManagedAgent(c) },
		}),
		acts(Route{
			Method: http.MethodPost, Path: one + "/send", OperationID: "sendManagedAgent", Action: "agents.send",
			Summary: "Give an agent exactly one of a message, raw terminal input, keys, or an interrupt.",
			Description: "A message waits until the agent takes it; sent says that it did. With expectResponse " +
				"the answer comes with the end of the turn: how it ended, be it by an error of the model, is in " +
				"response and no error of the call. raw, keys and interrupt go to the terminal at once. Key names " +
				"are those of docs/managed-agents.md: ENTER, ESC, TAB, UP, CTRL_C and so on.",
			Body:      &Body{JSON: new(wire.ManagedAgentInput)},
			Responses: []Response{{Status: 200, Body: wire.ManagedAgentReply{}, Doc: "The agent took it."}},
			Fails:     []int{404, 409, 502}, Creates: true, Recover: s.recoverSend, Handle: s.sendManagedAgent,
		}),
		acts(Route{
			Method: http.MethodPost, Path: one + "/answer", OperationID: "answerManagedAgent",
			Action: "agents.answer", Summary: "Answer the prompt of a blocked agent: an approval or a question.",
			Body: &Body{JSON: new(wire.ManagedAgentAnswer)}, Responses: agent,
			Fails: []int{404, 409, 502}, Handle: decoded(s.answerManagedAgent),
		}),
		reads(Route{
			Path: one + "/logs", OperationID: "getManagedAgentLogs",
			Summary: "Read an agent's log, or follow it as server-sent events.",
			Query: []Param{
				{Name: "tail", Type: ParamInteger, Min: 1, Max: maxLogTail,
					Doc: "Only so many last lines. Default: 1000, or with since as many as there may be."},
				{Name: "since", Type: ParamTime, Doc: "Only lines after this time."},
				{Name: "follow", Type: ParamBoolean, Default: "false",
					Doc: "Events log, one for each line, and end when the log has ended."},
			},
			Responses: []Response{
				{Status: 200, Body: logList{}, Doc: "Lines, oldest first."},
				{Status: 200, Body: "", ContentType: "text/event-stream", Doc: "With follow=true: events."},
				{Status: http.StatusNoContent, Doc: "With follow=true: the log has ended after the given event."},
			},
			Fails: []int{404, 502}, Resumes: true, Stream: s.managedAgentLogs,
		}),
		reads(Route{
			Path: one + "/metrics", OperationID: "getManagedAgentMetrics", Summary: "Measure a running agent.",
			Responses: []Response{{Status: 200, Body: core.ManagedAgentMetrics{}, Doc: "What it uses now."}},
			Fails:     []int{404, 409, 502}, Handle: s.managedAgentMetrics,
		}),
		reads(Route{
			Path: one + "/screen", OperationID: "getManagedAgentScreen", Summary: "Read what an agent's terminal shows, as text.",
			Description: "Nothing of the terminal changes by it, its size included. Of a stopped agent it is the last screen.",
			Responses:   []Response{{Status: 200, Body: core.ManagedAgentScreen{}, Doc: "The screen."}},
			Fails:       []int{404, 502}, Handle: s.managedAgentScreen,
		}),
		reads(Route{
			Path: "/api/managed-agents/screens", OperationID: "listManagedAgentScreens",
			Summary: "Read the screens of several agents at once.",
			Query: []Param{
				{Name: "agentIds", Type: ParamList, Doc: "Comma-separated ids, 50 at most. Those that the caller may not read are left out."},
			},
			Responses: []Response{{Status: 200, Body: screenList{}, Doc: "In the order of the ids."}},
			Handle:    s.managedAgentScreens,
		}),
		reads(Route{
			Path: one + "/events", OperationID: "listManagedAgentEvents",
			Summary: "Read what happened to an agent, or follow it as server-sent events.",
			Description: "With Accept: text/event-stream the stored events after since (or Last-Event-ID), then " +
				"those that happen; the name of an event is its type, its data a row of the list. The stream has " +
				"no end of its own, since an agent can be restarted.",
			Query: []Param{
				{Name: "since", Type: ParamInteger, Default: "0", Doc: "Only events after this sequence."},
				{Name: "before", Type: ParamInteger, Default: "0", Doc: "The newest events before this sequence, or the newest of all with 0; of the list only. Not together with since."},
				{Name: "limit", Type: ParamInteger, Default: "100", Min: 1, Max: core.MaxPageLimit,
					Doc: "Events at most; of the list only."},
			},
			Responses: []Response{
				{Status: 200, Body: managedEventList{}, Doc: "A page of events, oldest first."},
				{Status: 200, Body: "", ContentType: "text/event-stream", Doc: "Events as they happen."},
			},
			Fails: []int{404}, Resumes: true, Stream: s.managedAgentEvents,
		}),
		reads(Route{
			Path: one + "/terminal", OperationID: "attachManagedAgent",
			Summary: "Attach to the terminal of an agent.",
			Description: "A WebSocket, with the subprotocol wardroom.terminal.v1 or without one: see " +
				"docs/managed-agents.md. A caller without the scope agents:manage gets it read-only. An unknown " +
				"agent closes the socket with 4404. Pages of browsers need a ticket, as ticket.TICKET in Sec-WebSocket-Protocol.",
			Query: []Param{
				{Name: "readonly", Type: ParamBoolean, Default: "false", Doc: "Give up typing."},
				{Name: "offset", Type: ParamInteger, Doc: "Go on after this many bytes of output."},
				{Name: "tail", Type: ParamInteger, Max: 100_000, Doc: "Lines of scrollback before the first screen."},
				{Name: "cols", Type: ParamInteger, Max: 1000, Doc: "Columns that this viewer would like."},
				{Name: "rows", Type: ParamInteger, Max: 1000, Doc: "Rows that this viewer would like."},
			},
			Responses: []Response{{Status: 101, Doc: "The connection is a WebSocket now."}},
			Stream:    s.managedAgentTerminal, Socket: true, Authenticate: authenticateTerminal,
		}),
		s.terminalTicketRoute(Route{
			Tag: tag, Resource: resource, Path: one + "/terminal/tickets", Action: "agents.read", Scope: "agents:read",
		}),
		reads(Route{
			Path: "/api/runtimes", OperationID: "listRuntimes",
			Summary:   "List the configured runtimes, in the order in which they are tried.",
			Responses: []Response{{Status: 200, Body: runtimeList{}, Doc: "All runtimes."}},
			Handle:    s.listRuntimes,
		}),
	}
}

// maxStopGrace is the longest time that a stop gives an agent to end by itself.
const maxStopGrace = 10 * time.Minute

func managedAgentPath(id string) string { return "/api/managed-agents/" + id }

func (s *Server) listManagedAgents(c *call) (answer, error) {
	agents := s.managedAgents(c, core.ManagedAgentFilter{
		Status: core.ManagedAgentStatus(c.query.text("status")),
		Type:   c.query.text("type"), Runtime: c.query.text("runtime"),
		Name: c.query.text("name"), Reason: c.query.text("reason"), Execution: c.query.text("executionId"), Labels: c.query.pairs("label"),
		CreatedBy: c.query.text("createdBy"),
	})
	return listed(c, agents.page, shownManagedAgent, func(rows []*core.ManagedAgent, info wire.PageInfo) any { return managedAgentList{rows, info} })
}

// managedAgents are those that a filter selects and the caller may read.
func (s *Server) managedAgents(c *call, filter core.ManagedAgentFilter) *rows[*core.ManagedAgent] {
	return listOf(c, func(a *core.ManagedAgent) string { return a.ID }, func(page core.Page) ([]*core.ManagedAgent, core.PageInfo, error) {
		filter.Page = page
		return s.opts.ManagedAgents.FindManagedAgents(c.ctx, filter)
	})
}

func (s *Server) getManagedAgent(c *call) (answer, error) {
	return managedAgentAnswer(s.opts.ManagedAgents.FindManagedAgent(c.ctx, c.param("agentId")))
}

// shownManagedAgent returns an agent as answers have it: its turn is the one that runs, while the record counts those that
// ended. A turn that waits for an approval runs; a dialog before the first turn is no turn.
func shownManagedAgent(a *core.ManagedAgent) *core.ManagedAgent {
	var prompt struct{ Kind string }
	if a.Status != core.ManagedBusy || len(a.Prompt) > 0 && (json.Unmarshal(a.Prompt, &prompt) != nil || prompt.Kind != "approval") {
		return a
	}
	shown := *a
	shown.Turn++
	return &shown
}

// managedAgentAnswer renders what a service method returned.
func managedAgentAnswer(a *core.ManagedAgent, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return ok(shownManagedAgent(a)), nil
}

func (s *Server) restartManagedAgent(c *call, request restartRequest) (answer, error) {
	how := core.ManagedAgentRestart{Fresh: request.Fresh}
	return managedAgentAnswer(s.opts.ManagedAgents.RestartManagedAgent(c.detached(), c.param("agentId"), how))
}

func (s *Server) stopManagedAgent(c *call) (answer, error) {
	how := core.ManagedAgentStop{Force: c.query.boolean("force")}
	if c.query.given("timeout") {
		how.Grace = time.Duration(c.query.integer("timeout")) * time.Millisecond
	}
	if err := s.opts.ManagedAgents.StopManagedAgent(c.detached(), c.param("agentId"), how); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, nil
}

func (s *Server) managedAgentMetrics(c *call) (answer, error) {
	return shown(s.opts.ManagedAgents.ManagedAgentMetrics(c.ctx, c.param("agentId")))
}

func (s *Server) managedAgentScreen(c *call) (answer, error) {
	return shown(s.opts.ManagedAgents.ManagedAgentScreen(c.ctx, c.param("agentId")))
}

// maxScreens bounds one look at several screens, and screensWait how long it takes: what is not read by then says so.
const (
	maxScreens  = 50
	screensWait = 5 * time.Second
)

func (s *Server) managedAgentScreens(c *call) (answer, error) {
	ids := c.query.list("agentIds")
	if len(ids) == 0 {
		return answer{}, core.Invalid("agentIds", "is required: the ids of the agents, separated by commas")
	}
	if len(ids) > maxScreens {
		return answer{}, core.Invalid("agentIds", "has %d ids; at most %d are allowed", len(ids), maxScreens)
	}
	need := c.need()
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		need.ID = id
		may, _ := c.may(need)
		return !may
	})
	if len(ids) == 0 && c.slow() {
		return answer{}, errSlow
	}
	ctx, cancel := context.WithTimeout(c.ctx, screensWait)
	defer cancel()
	list := screenList{Screens: []core.ManagedAgentScreen{}}
	for _, id := range ids {
		shown, err := s.opts.ManagedAgents.ManagedAgentScreen(ctx, id)
		if c.ctx.Err() != nil {
			return answer{}, c.ctx.Err()
		}
		if err != nil {
			shown = core.ManagedAgentScreen{AgentID: id, Lines: []string{}, Reason: core.AsError(err).Message}
			if ctx.Err() != nil {
				shown.Reason = "there was no time left to read it"
			}
		}
		list.Screens = append(list.Screens, shown)
	}
	return ok(list), nil
}

func (s *Server) listRuntimes(c *call) (answer, error) {
	list := s.opts.ManagedAgents.LookAtRuntimes(c.ctx)
	if c.readsAll(readAgents) {
		return ok(runtimeList{list}), nil
	}
	counts := map[string]int{}
	cut, err := s.managedAgents(c, core.ManagedAgentFilter{}).walk("", func(a *core.ManagedAgent, _ place) bool {
		if !a.Gone() {
			counts[a.Runtime]++
		}
		return true
	})
	for i := range list {
		list[i].Agents, list[i].AtLeast = counts[list[i].Name], cut != nil
	}
	return ok(runtimeList{list}), err
}
