package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) agentCommand() *cobra.Command {
	cmd := group(&cobra.Command{Use: "agent", Aliases: []string{"agents"}, Short: "Look at connected agents, and run managed ones"})
	cmd.AddCommand(c.agentList(), c.agentGet(), c.agentDisconnect(),
		c.agentSpawn(), c.agentSend(), c.agentKeys(), c.agentInterrupt(), c.agentAnswer(), c.agentAttach(), c.agentScreen(),
		c.agentLogs(), c.agentEvents(), c.agentTop(), c.agentRestart(), c.agentStop())
	return cmd
}

func (c *cli) agentList() *cobra.Command {
	var filter client.AgentFilter
	var managed client.ManagedAgentFilter
	var flags pageFlags
	var ofRuntimes bool
	var labels []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List connected agents, newest connection first, or with --managed those that runtimes run",
		Args:  wants(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ofRuntimes {
				var err error
				if managed.Labels, err = labelFlags(cmd, labels); err != nil {
					return err
				}
				managed.Status = filter.Status
				return c.managedList(cmd, managed, flags)
			}
			if managed.Type != "" || managed.Runtime != "" || len(labels) > 0 {
				return usagef(cmd, "--type, --runtime and --label go with --managed")
			}
			if s := filter.Status; s != "" && s != "connected" && s != "disconnected" {
				return usagef(cmd, "--status must be connected or disconnected, not %q", s)
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
					filter.Page = page
					list, err := api.ListAgents(ctx, filter)
					if err != nil {
						return client.Meta{}, client.PageInfo{}, err
					}
					return list.Meta, list.PageInfo, nil
				}
				return showList(ctx, c, flags, "agents", read, agentTable)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Status, "status", "", "connected or disconnected; with --managed starting, ready, busy, unreachable, error or stopped")
	cmd.Flags().StringSliceVar(&filter.Capabilities, "capabilities", nil, "only agents with all of these, comma-separated")
	cmd.Flags().StringVar(&filter.Region, "region", "", "only of this region")
	cmd.Flags().BoolVar(&ofRuntimes, "managed", false, "the agents that runtimes run, newest first")
	cmd.Flags().StringVar(&managed.Type, "type", "", "with --managed: only of this type")
	cmd.Flags().StringVar(&managed.Runtime, "runtime", "", "with --managed: only of this runtime")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "with --managed: key=value, only agents with this label; may be repeated")
	flags.register(cmd)
	exclusive(cmd, "managed", "capabilities")
	exclusive(cmd, "managed", "region")
	return cmd
}

func agentTable(s *screen, rows []client.Agent) {
	if len(rows) == 0 {
		s.line("no agents are connected; docs/agent-protocol.md tells how, and --managed lists those that runtimes run")
		return
	}
	var cells [][]cell
	for _, a := range rows {
		cells = append(cells, []cell{
			{text: a.ID}, {text: a.Name}, agentStatus(a), {text: strings.Join(a.Capabilities, ",")},
			{text: a.Region}, {text: fmt.Sprint(a.TasksCompleted)}, {text: moment(&a.LastHeartbeat)},
		})
	}
	s.table([]string{"AGENT", "NAME", "STATUS", "CAPABILITIES", "REGION", "TASKS", "LAST HEARTBEAT"}, cells)
}

// agentStatus is the status, or "unhealthy" for a connected agent that misses its heartbeats.
func agentStatus(a client.Agent) cell {
	if a.Status == "connected" && a.Healthy != nil && !*a.Healthy {
		return status("unhealthy")
	}
	return status(a.Status)
}

func (c *cli) agentGet() *cobra.Command {
	return &cobra.Command{
		Use: "get ID", SuggestFor: []string{"show", "inspect"},
		Short: "Show a connected agent with its statistics, or a managed one",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				if strings.HasPrefix(args[0], managedPrefix) {
					a, err := api.GetManagedAgent(ctx, args[0])
					if err != nil {
						return err
					}
					return c.showManaged(a)
				}
				a, err := api.GetAgent(ctx, args[0])
				if err != nil {
					return err
				}
				return c.show(a.Body, func(s *screen) { agentScreen(s, a) })
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

func (c *cli) agentDisconnect() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "disconnect ID",
		Short: "End an agent's session; its tasks go to others",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				gone, err := api.DisconnectAgent(ctx, args[0], reason)
				if err != nil {
					return err
				}
				return c.show(gone.Body, func(s *screen) {
					s.line("agent %s disconnected at %s", clean(gone.ID), moment(gone.DisconnectedAt))
				})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "told to the agent")
	return cmd
}
