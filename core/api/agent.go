package api

import (
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (s *Server) agentRoutes() []Route {
	const tag, resource = "agents", "agents"
	routes := []Route{
		{
			Method: http.MethodGet, Path: "/api/agents", OperationID: "listAgents",
			Summary: "List connected agents, and those that left within 24 hours; newest connection first.",
			Tag:     tag, Resource: resource, Action: "agents.read", Scope: "agents:read",
			Query: append(pageParams(),
				Param{Name: "status", Type: ParamString, Enum: []string{"connected", "disconnected"}, Doc: "Status."},
				Param{Name: "capabilities", Type: ParamList, Doc: "Comma-separated; the agent has all of them."},
				Param{Name: "region", Type: ParamString, Doc: "Region."},
				Param{Name: "createdBy", Type: ParamString, Doc: "Only those that this caller, or this token, registered."}),
			Responses: []Response{{Status: 200, Body: agentList{}, Doc: "A page of agents."}},
			Handle:    s.listAgents,
		},
		{
			Method: http.MethodGet, Path: "/api/agents/{agentId}", OperationID: "getAgent",
			Summary: "Get one agent.", Tag: tag, Resource: resource,
			Action: "agents.read", Scope: "agents:read",
			Responses: []Response{{Status: 200, Body: agentDetail{}, Doc: "The agent."}},
			Fails:     []int{404}, Handle: s.getAgent,
		},
		{
			Method: http.MethodGet, Path: "/api/agents/{agentId}/tasks", OperationID: "listAgentTasks",
			Summary:     "List the tasks that an agent has, and the last ones that it was done with; newest hand-out first.",
			Description: "The last 20 that an agent was done with are remembered, since the server started. Tasks of executions that the caller may not read are left out.",
			Tag:         tag, Resource: resource, Action: "agents.read", Scope: "agents:read",
			Responses: []Response{{Status: 200, Body: agentTaskList{}, Doc: "The tasks."}},
			Fails:     []int{404}, Handle: s.listAgentTasks,
		},
		{
			Method: http.MethodPost, Path: "/api/agents/{agentId}/disconnect", OperationID: "disconnectAgent",
			Summary: "End the session of an agent; its tasks go to others.", Tag: tag, Resource: resource,
			Action: "agents.disconnect", Scope: "agents:manage",
			Body:      &Body{JSON: new(wire.CancelRequest), Optional: true},
			Responses: []Response{{Status: 200, Body: wire.AgentDisconnection{}, Doc: "It is disconnected."}},
			Fails:     []int{404}, Handle: decoded(s.disconnectAgent),
		},
	}
	if s.opts.AgentSocket == nil {
		return routes
	}
	var authenticate func(c *call) (core.Principal, error)
	if s.opts.AuthenticateAgent != nil {
		authenticate = func(c *call) (core.Principal, error) { return s.opts.AuthenticateAgent(c.r) }
	}
	return append(routes, Route{
		Method: http.MethodGet, Path: "/api/agents/connect", OperationID: "connectAgent",
		Summary:     "Connect as an agent.",
		Description: "A WebSocket with the subprotocol wardroom.agent.v1.",
		Tag:         tag, Resource: resource, Action: "agents.connect", Scope: "agents:manage",
		Authenticate: authenticate,
		Responses:    []Response{{Status: 101, Doc: "The connection is a WebSocket now."}},
		Fails:        []int{426}, Stream: s.connectAgent, Detached: true,
	})
}

type agentList struct {
	Agents       []wire.Agent `json:"agents"`
	Total        int          `json:"total"`
	Connected    int          `json:"connected" doc:"Of all agents that match."`
	Disconnected int          `json:"disconnected" doc:"Of all agents that match."`
	Limit        int          `json:"limit"`
	Offset       int          `json:"offset"`
	HasMore      bool         `json:"hasMore"`
	NextCursor   string       `json:"nextCursor,omitempty" doc:"cursor of the next page; absent on the last."`
}

type agentDetail struct {
	wire.Agent
	Statistics wire.AgentStatistics `json:"statistics"`
}

func newAgentRow(a *core.Agent) wire.Agent {
	return wire.Agent{
		ID: a.ID, Name: a.Name, Status: a.Status, Healthy: a.Healthy, Capabilities: a.Capabilities, Region: a.Region,
		ConnectedAt: a.ConnectedAt, LastHeartbeat: a.LastHeartbeat, DisconnectedAt: a.DisconnectedAt,
		TasksCompleted: a.Statistics.TasksCompleted, ActiveTasks: a.ActiveTasks, MaxTasks: a.MaxTasks, Metadata: a.Metadata,
		CreatedBy: a.CreatedBy,
	}
}

func (s *Server) listAgents(c *call) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	found, info, counts, err := s.opts.Agents.FindAgents(c.ctx, core.AgentFilter{
		Status:       core.AgentStatus(c.query.text("status")),
		Capabilities: c.query.list("capabilities"), Region: c.query.text("region"),
		CreatedBy: c.query.text("createdBy"), Page: page,
	})
	if err != nil {
		return answer{}, err
	}
	list := agentList{
		Agents: make([]wire.Agent, len(found)), Total: info.Total,
		Connected: counts.Connected, Disconnected: counts.Disconnected,
		Limit: page.Limit, Offset: page.Offset, HasMore: info.HasMore, NextCursor: info.NextCursor,
	}
	for i, a := range found {
		list.Agents[i] = newAgentRow(a)
	}
	return ok(list), nil
}

func (s *Server) getAgent(c *call) (answer, error) {
	a, err := s.opts.Agents.FindAgent(c.ctx, c.param("agentId"))
	if err != nil {
		return answer{}, err
	}
	until := s.opts.Clock.Now()
	if a.DisconnectedAt != nil {
		until = *a.DisconnectedAt
	}
	st := a.Statistics
	return ok(agentDetail{
		Agent: newAgentRow(a),
		Statistics: wire.AgentStatistics{
			TasksCompleted: st.TasksCompleted, TasksSucceeded: st.TasksSucceeded, TasksFailed: st.TasksFailed,
			AverageLatency: wire.MeanOf(st.AverageLatency()),
			Uptime:         int64(max(0, until.Sub(a.ConnectedAt)) / time.Second),
		},
	}), nil
}

type agentTaskList struct {
	Tasks []wire.AgentTask `json:"tasks"`
}

func (s *Server) listAgentTasks(c *call) (answer, error) {
	found, err := s.opts.Agents.AgentTasks(c.ctx, c.param("agentId"))
	if err != nil {
		return answer{}, err
	}
	all := c.readsAll(readExecutions)
	list := agentTaskList{Tasks: []wire.AgentTask{}}
	for _, t := range found {
		need, may, slow := readExecutions, all, false
		if need.ID = t.ExecutionID; !may {
			may, slow = c.may(need)
		}
		if slow {
			return answer{}, errSlow
		}
		if may {
			list.Tasks = append(list.Tasks, t)
		}
	}
	return ok(list), nil
}

func (s *Server) disconnectAgent(c *call, req wire.CancelRequest) (answer, error) {
	a, err := s.opts.Agents.DisconnectAgent(c.detached(), c.param("agentId"), req.Reason)
	if err != nil {
		return answer{}, err
	}
	return ok(wire.AgentDisconnection{ID: a.ID, Disconnected: true, DisconnectedAt: a.DisconnectedAt}), nil
}

// connectAgent hands the connection to the agents' own handler, which upgrades it.
func (s *Server) connectAgent(c *call) error {
	s.opts.AgentSocket.ServeHTTP(c.w, c.r.WithContext(c.ctx))
	return nil
}
