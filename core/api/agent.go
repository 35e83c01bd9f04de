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
				Param{Name: "region", Type: ParamString, Doc: "Region."}),
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
			Method: http.MethodPost, Path: "/api/agents/{agentId}/disconnect", OperationID: "disconnectAgent",
			Summary: "End the session of an agent; its tasks go to others.", Tag: tag, Resource: resource,
			Action: "agents.disconnect", Scope: "agents:manage",
			Body:      &Body{JSON: new(wire.CancelRequest), Optional: true},
			Responses: []Response{{Status: 200, Body: agentDisconnected{}, Doc: "It is disconnected."}},
			Fails:     []int{404}, Handle: s.disconnectAgent,
		},
	}
	if s.opts.AgentSocket == nil {
		return routes
	}
	return append(routes, Route{
		Method: http.MethodGet, Path: "/api/agents/connect", OperationID: "connectAgent",
		Summary:     "Connect as an agent.",
		Description: "A WebSocket with the subprotocol wardroom.agent.v1.",
		Tag:         tag, Resource: resource, Action: "agents.connect", Scope: "agents:manage",
		Responses: []Response{{Status: 101, Doc: "The connection is a WebSocket now."}},
		Fails:     []int{426}, Stream: s.connectAgent,
	})
}

type agentList struct {
	Agents       []agentRow `json:"agents"`
	Total        int        `json:"total"`
	Connected    int        `json:"connected" doc:"Of all agents that match."`
	Disconnected int        `json:"disconnected" doc:"Of all agents that match."`
	Limit        int        `json:"limit"`
	Offset       int        `json:"offset"`
	HasMore      bool       `json:"hasMore"`
	NextCursor   string     `json:"nextCursor,omitempty" doc:"cursor of the next page; absent on the last."`
}

type agentRow struct {
	ID             string           `json:"id"`
	Name           string           `json:"name"`
	Status         core.AgentStatus `json:"status" enum:"connected,disconnected"`
	Healthy        bool             `json:"healthy" doc:"false after two missed heartbeats, and while the connection is lost."`
	Capabilities   []string         `json:"capabilities"`
	Region         string           `json:"region"`
	ConnectedAt    timestamp        `json:"connectedAt"`
	LastHeartbeat  timestamp        `json:"lastHeartbeat"`
	DisconnectedAt *timestamp       `json:"disconnectedAt,omitempty"`
	TasksCompleted int64            `json:"tasksCompleted" doc:"Succeeded and failed."`
	ActiveTasks    int              `json:"activeTasks"`
	MaxTasks       int              `json:"maxTasks" doc:"Tasks it takes at once."`
	Metadata       map[string]any   `json:"metadata" doc:"model, version and free keys."`
}

type agentDetail struct {
	agentRow
	Statistics agentStatistics `json:"statistics"`
}

type agentStatistics struct {
	TasksCompleted int64   `json:"tasksCompleted" doc:"Succeeded and failed."`
	TasksSucceeded int64   `json:"tasksSucceeded"`
	TasksFailed    int64   `json:"tasksFailed"`
	AverageLatency float64 `json:"averageLatency" doc:"Milliseconds from hand-out to answer."`
	Uptime         int64   `json:"uptime" doc:"Seconds since it connected, or that it was connected."`
}

type agentDisconnected struct {
	ID             string     `json:"id"`
	Disconnected   bool       `json:"disconnected"`
	DisconnectedAt *timestamp `json:"disconnectedAt"`
}

func newAgentRow(a *core.Agent) agentRow {
	row := agentRow{
		ID: a.ID, Name: a.Name, Status: a.Status, Healthy: a.Healthy,
		Capabilities: a.Capabilities, Region: a.Region,
		ConnectedAt: timestamp(a.ConnectedAt), LastHeartbeat: timestamp(a.LastHeartbeat),
		DisconnectedAt: stamp(a.DisconnectedAt), TasksCompleted: a.Statistics.TasksCompleted,
		ActiveTasks: a.ActiveTasks, MaxTasks: a.MaxTasks, Metadata: a.Metadata,
	}
	if row.Capabilities == nil {
		row.Capabilities = []string{}
	}
	if row.Metadata == nil {
		row.Metadata = map[string]any{}
	}
	return row
}

func (s *Server) listAgents(c *call) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	found, info, counts, err := s.opts.Agents.FindAgents(c.ctx, core.AgentFilter{
		Status:       core.AgentStatus(c.query.text("status")),
		Capabilities: c.query.list("capabilities"), Region: c.query.text("region"), Page: page,
	})
	if err != nil {
		return answer{}, err
	}
	list := agentList{
		Agents: make([]agentRow, len(found)), Total: info.Total,
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
		agentRow: newAgentRow(a),
		Statistics: agentStatistics{
			TasksCompleted: st.TasksCompleted, TasksSucceeded: st.TasksSucceeded, TasksFailed: st.TasksFailed,
			AverageLatency: float64(st.AverageLatency()) / float64(time.Millisecond),
			Uptime:         int64(max(0, until.Sub(a.ConnectedAt)) / time.Second),
		},
	}), nil
}

func (s *Server) disconnectAgent(c *call) (answer, error) {
	var req wire.CancelRequest
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	a, err := s.opts.Agents.DisconnectAgent(c.detached(), c.param("agentId"), req.Reason)
	if err != nil {
		return answer{}, err
	}
	return ok(agentDisconnected{ID: a.ID, Disconnected: true, DisconnectedAt: stamp(a.DisconnectedAt)}), nil
}

// connectAgent hands the connection to the agents' own handler, which upgrades it.
func (s *Server) connectAgent(c *call) error {
	s.opts.AgentSocket.ServeHTTP(c.w, c.r.WithContext(c.ctx))
	return nil
}
