package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// managedPrefix begins the id of each managed agent: commands that take both kinds tell them apart by it.
const managedPrefix = "magent_"

var managedStatuses = []string{
	client.ManagedStarting, client.ManagedReady, client.ManagedBusy, client.ManagedUnreachable, client.ManagedError, client.ManagedStopped,
}

// managedList prints a page of managed agents.
func (c *cli) managedList(cmd *cobra.Command, filter client.ManagedAgentFilter, flags pageFlags) error {
	if s := filter.Status; s != "" && !contains(managedStatuses, s) {
		return usagef(cmd, "--status of managed agents must be %s, not %q", strings.Join(managedStatuses, ", "), s)
	}
	return c.call(cmd, func(ctx context.Context, api *client.Client) error {
		read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
			filter.Page = page
			list, err := api.ListManagedAgents(ctx, filter)
			if err != nil {
				return client.Meta{}, client.PageInfo{}, err
			}
			return list.Meta, list.PageInfo, nil
		}
		return showList(ctx, c, flags, "agents", read, managedTable)
	})
}

func contains(list []string, text string) bool {
	for _, have := range list {
		if have == text {
			return true
		}
	}
	return false
}

func managedTable(s *screen, rows []client.ManagedAgent) {
	if len(rows) == 0 {
		s.line("no managed agents; `wardroom agent spawn TYPE` starts one")
		return
	}
	var cells [][]cell
	for _, a := range rows {
		cells = append(cells, []cell{
			{text: a.ID}, {text: a.Name}, {text: a.Type}, managedStatus(&a), {text: a.Runtime},
			{text: fmt.Sprint(a.Turn)}, {text: moment(&a.LastActivityAt)},
		})
	}
	s.table([]string{"AGENT", "NAME", "TYPE", "STATUS", "RUNTIME", "TURNS", "LAST ACTIVITY"}, cells)
}

// managedStatus is the status with its reason.
func managedStatus(a *client.ManagedAgent) cell {
	style := stylePlain
	switch a.Status {
	case client.ManagedReady:
		style = styleGood
	case client.ManagedStarting, client.ManagedBusy:
		style = styleBusy
	case client.ManagedError, client.ManagedUnreachable:
		style = styleBad
	case client.ManagedStopped:
		style = styleFaint
	}
	text := string(a.Status)
	if a.StatusReason != "" {
		text += " (" + a.StatusReason + ")"
	}
	return cell{text, style}
}

func (c *cli) showManaged(a *client.ManagedAgent) error {
	return c.show(a.Body, func(s *screen) { managedScreen(s, a) })
}

func managedScreen(s *screen, a *client.ManagedAgent) {
	var pid, exit, turns string
	if a.PID != 0 {
		pid = fmt.Sprint(a.PID)
	}
	if a.ExitCode != nil {
		exit = fmt.Sprint(*a.ExitCode)
	}
	if a.Turn != 0 {
		turns = fmt.Sprint(a.Turn)
	}
	s.fields("agent", a.ID, "name", a.Name, "type", a.Type, "status", managedStatus(a), "login at", a.LoginURL,
		"runtime", a.Runtime, "capabilities", strings.Join(a.Capabilities, ", "), "workdir", a.Workdir, "pid", pid,
		"container", a.ContainerID, "pod", a.PodName, "session", a.SessionID, "turns", turns, "exit code", exit,
		"last turn", turnEnd(a.LastTurn), "used", usageText(a.Usage), "labels", labelText(a.Labels), "created", moment(&a.CreatedAt), "last activity", moment(&a.LastActivityAt), "stopped", moment(a.StoppedAt))
	if a.Prompt != nil {
		promptScreen(s, "agent", a.ID, a.Prompt)
	}
}

func labelText(labels map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, name+"="+labels[name])
	}
	return strings.Join(pairs, ", ")
}

// promptScreen shows what a blocked agent asks, and how to answer: noun is agent or thread.
func promptScreen(s *screen, noun, id string, p *client.ManagedPrompt) {
	s.line("")
	s.line("%s:", clean(p.Kind))
	for line := range strings.Lines(p.Text) {
		s.line("  %s", clean(strings.TrimRight(line, "\n")))
	}
	if p.Tool != "" {
		for _, line := range inputLines(p.Tool, p.Input) {
			s.line("  %s", clean(line))
		}
	}
	if p.URL != "" {
		s.line("  %s", clean(p.URL))
	}
	var options [][]cell
	for _, o := range p.Options {
		options = append(options, []cell{{text: ""}, {text: o.ID}, {text: o.Label}})
	}
	s.table(nil, options)
	choice := "OPTION"
	if len(p.Options) == 0 {
		choice = "--text TEXT"
	}
	s.line("answer with `wardroom %s answer %s %s`", noun, clean(id), choice)
}

func (c *cli) agentStop() *cobra.Command {
	cmd := &cobra.Command{Use: "stop ID", Short: "Stop a managed agent"}
	return c.stops(cmd, "it", func(ctx context.Context, api *client.Client, id string, force bool, grace time.Duration) error {
		if err := api.StopManagedAgent(ctx, id, force, grace); err != nil {
			return err
		}
		a, err := api.GetManagedAgent(ctx, id)
		if err != nil {
			return err
		}
		return c.show(a.Body, func(s *screen) { s.line("agent %s has stopped", clean(a.ID)) })
	})
}

func (c *cli) agentRestart() *cobra.Command {
	var how client.ManagedAgentRestart
	cmd := &cobra.Command{
		Use:   "restart ID",
		Short: "Start a managed agent again under its id, with its session or a fresh one",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				a, err := api.RestartManagedAgent(ctx, args[0], how)
				if err != nil {
					return err
				}
				return c.showManaged(a)
			})
		},
	}
	cmd.Flags().BoolVar(&how.Fresh, "fresh", false, "begin a new session instead of resuming the last one")
	return cmd
}
