package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) agentCommand() *cobra.Command {
	cmd := group(&cobra.Command{Use: "agent", Aliases: []string{"agents"}, Short: "Look at connected agents, and run managed ones"})
	c.nouns[cmd] = managedAgents
	get, disconnect, tasks := c.agentGet(), c.agentDisconnect(), c.agentTasks()
	revoke := c.agentTokenRevoke()
	c.nouns[get], c.nouns[disconnect], c.nouns[tasks], c.nouns[revoke] = kinds{managedAgents, connectedAgents}, connectedAgents, connectedAgents, agentTokens
	cmd.AddCommand(c.agentList(), get, tasks, disconnect,
		c.agentSpawn(), c.agentSend(), c.agentKeys(), c.agentInterrupt(), c.agentAnswer(), c.agentAttach(), c.agentScreen(),
		c.agentLogs(), c.agentEvents(), c.agentTop(), c.agentRestart(), c.agentStop(),
		c.agentTokenCreate(), c.agentTokenList(), revoke)
	return cmd
}

var connectedAgents = &resource[client.Agent]{
	noun: "agent", member: "agents", prefix: core.PrefixAgent,
	empty: "no agents are connected; docs/agent-protocol.md tells how, and --managed lists those that runtimes run",
	columns: []column[client.Agent]{
		{head: "AGENT", show: func(a *client.Agent) any { return a.ID }},
		{head: "NAME", show: func(a *client.Agent) any { return a.Name }, cut: 32},
		{head: "STATUS", show: func(a *client.Agent) any { return agentStatus(*a) }},
		{head: "CAPABILITIES", show: func(a *client.Agent) any { return strings.Join(a.Capabilities, ",") }, cut: 40},
		{head: "REGION", show: func(a *client.Agent) any { return a.Region }, wide: true},
		{head: "TASKS", show: func(a *client.Agent) any { return a.TasksCompleted }},
		{head: "LAST HEARTBEAT", show: func(a *client.Agent) any { return moment(&a.LastHeartbeat) }, wide: true},
		{head: "AGE", show: func(a *client.Agent) any { return a.ConnectedAt }},
	},
	filters: []filter{
		oneOf("status", []string{"connected", "disconnected"}),
		{flag: "capabilities", usage: "only agents with all of these, comma-separated", kind: filterTexts},
		{flag: "region", usage: "only of this region"},
		byCreator,
	},
	id:     func(a *client.Agent) string { return a.ID },
	name:   func(a *client.Agent) string { return a.Name },
	status: func(a *client.Agent) string { return agentStatus(*a).text },
	over:   func(a *client.Agent) bool { return a.Status != "connected" },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListAgents(ctx, client.AgentFilter{
			Status: sel.text("status"), Capabilities: sel.texts("capabilities"), Region: sel.text("region"), CreatedBy: sel.text("created-by"), Page: sel.Page,
		})
	},
}

func (c *cli) agentList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List connected agents, newest connection first, or with --managed those that runtimes run"}
	cmd.Flags().String("status", "", "connected or disconnected; with --managed "+managedAgents.filters[0].usage)
	managed := cmd.Flags().Bool("managed", false, "the agents that runtimes run, newest first")
	connectedAgents.lists(c, cmd)
	registerFilters(cmd, managedAgents.filters)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *managed {
			return managedAgents.list(c, cmd, args)
		}
		for _, f := range managedAgents.filters[1:] {
			if f.flag != byCreator.flag && cmd.Flags().Changed(f.flag) {
				return usagef(cmd, "--name, --reason, --execution, --type, --runtime and --label go with --managed")
			}
		}
		return connectedAgents.list(c, cmd, args)
	}
	exclusive(cmd, "managed", "capabilities", "region")
	return cmd
}

// agentStatus is the status, or "unhealthy" for a connected agent that misses its heartbeats.
func agentStatus(a client.Agent) cell {
	if a.Status == "connected" && !a.Healthy {
		return status("unhealthy")
	}
	return status(a.Status)
}

func (c *cli) agentGet() *cobra.Command {
	return &cobra.Command{
		Use: "get ID", SuggestFor: []string{"show", "inspect"},
		Short: "Show a connected agent with its statistics, or a managed one",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				if strings.HasPrefix(args[0], core.PrefixManaged) {
					a, err := api.GetManagedAgent(ctx, args[0])
					return show(c, a, err, managedScreen)
				}
				a, err := api.GetAgent(ctx, args[0])
				return show(c, a, err, agentScreen)
			})
		},
	}
}

func agentScreen(s *screen, a *client.Agent) {
	var model, release string
	model, _ = a.Metadata["model"].(string)
	release, _ = a.Metadata["version"].(string)
	rows := []any{"agent", a.ID, "name", a.Name, "status", agentStatus(*a),
		"capabilities", strings.Join(a.Capabilities, ", "), "region", a.Region, "model", model, "version", release,
		"connected", moment(&a.ConnectedAt), "last heartbeat", moment(&a.LastHeartbeat),
		"disconnected", moment(a.DisconnectedAt)}
	if st := a.Statistics; st != nil {
		rows = append(rows,
			"tasks", fmt.Sprintf("%d (%d succeeded, %d failed)", st.TasksCompleted, st.TasksSucceeded, st.TasksFailed),
			"mean latency", span(st.AverageLatency.Duration()),
			"uptime", (time.Duration(st.Uptime) * time.Second).String())
	}
	s.fields(rows...)
}

func (c *cli) agentTasks() *cobra.Command {
	return shows(c, &cobra.Command{
		Use: "tasks ID", Short: "List the tasks that a connected agent has, and the last ones it was done with",
		Long: "List the tasks that a connected agent has, and the last 20 that it was done with since the server started, newest first.",
	}, func(api *client.Client, ctx context.Context, id string) (*client.AgentTaskList, error) {
		return api.AgentTasks(ctx, id)
	},
		func(s *screen, list *client.AgentTaskList) {
			if len(list.Tasks) == 0 {
				s.line("no tasks")
				return
			}
			rows := make([][]cell, len(list.Tasks))
			for i := range list.Tasks {
				t := &list.Tasks[i]
				took := ""
				if t.EndedAt != nil {
					took = span(t.EndedAt.Sub(t.StartedAt))
				}
				rows[i] = []cell{{text: t.TaskID}, {text: t.ExecutionID}, {text: t.Pattern.Name + "@" + t.Pattern.Version}, {text: t.Step}, status(t.Status),
					{text: moment(&t.StartedAt)}, {text: took}}
			}
			s.grid([]string{"TASK", "EXECUTION", "PATTERN", "STEP", "STATUS", "STARTED", "TOOK"}, []int{0, uncut, uncut, 0, 0, 0, 0}, rows)
		})
}

func (c *cli) agentDisconnect() *cobra.Command {
	var reason string
	cmd := shows(c, &cobra.Command{Use: "disconnect ID", Short: "End an agent's session; its tasks go to others"},
		func(api *client.Client, ctx context.Context, id string) (*client.AgentDisconnection, error) {
			return api.DisconnectAgent(ctx, id, reason)
		},
		func(s *screen, gone *client.AgentDisconnection) {
			s.line("agent %s disconnected at %s", clean(gone.ID), moment(gone.DisconnectedAt))
		})
	cmd.Flags().StringVar(&reason, "reason", "", "told to the agent")
	return cmd
}
