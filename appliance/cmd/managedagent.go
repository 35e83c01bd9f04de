package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

var managedAgents = &resource[client.ManagedAgent]{
	noun: "managed agent", member: "agents", prefix: core.PrefixManaged, empty: "no managed agents; `wardroom agent spawn TYPE` starts one",
	columns: []column[client.ManagedAgent]{
		{head: "AGENT", show: func(a *client.ManagedAgent) any { return a.ID }},
		{head: "NAME", show: func(a *client.ManagedAgent) any { return a.Name }, cut: 32},
		{head: "TYPE", show: func(a *client.ManagedAgent) any { return a.Type }},
		{head: "STATUS", show: func(a *client.ManagedAgent) any { return managedStatus(a) }, cut: 40},
		{head: "RUNTIME", show: func(a *client.ManagedAgent) any { return a.Runtime }, wide: true},
		{head: "TURNS", show: func(a *client.ManagedAgent) any { return a.Turn }},
		{head: "LAST ACTIVITY", show: func(a *client.ManagedAgent) any { return moment(&a.LastActivityAt) }, wide: true},
		{head: "AGE", show: func(a *client.ManagedAgent) any { return a.CreatedAt }},
		{head: "LABELS", show: func(a *client.ManagedAgent) any { return labelText(a.Labels) }, wide: true},
	},
	filters: []filter{
		oneOf("status", []string{
			client.ManagedStarting, client.ManagedReady, client.ManagedBusy, client.ManagedUnreachable, client.ManagedError, client.ManagedStopped,
		}),
		{flag: "type", usage: "with --managed: only of this type"},
		{flag: "runtime", usage: "with --managed: only of this runtime"},
		{flag: "name", usage: "with --managed: only agents with this in their name"},
		{flag: "reason", usage: "with --managed: only where this is the reason of the status, such as blocked or login_required"},
		{flag: "execution", usage: "with --managed: only those that work for this execution"},
		{flag: "label", usage: "with --managed: key=value, only agents with this label; may be repeated", kind: filterPairs},
		byCreator,
	},
	id:     func(a *client.ManagedAgent) string { return a.ID },
	name:   func(a *client.ManagedAgent) string { return a.Name },
	status: func(a *client.ManagedAgent) string { return spaced(a.Type, string(a.Status)) },
	over:   func(a *client.ManagedAgent) bool { return a.StoppedAt != nil },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListManagedAgents(ctx, client.ManagedAgentFilter{
			Status: sel.text("status"), Type: sel.text("type"), Runtime: sel.text("runtime"), Name: sel.text("name"),
			Reason: sel.text("reason"), Execution: sel.text("execution"), Labels: sel.pairs("label"),
			CreatedBy: sel.text("created-by"), Page: sel.Page,
		})
	},
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
	if a.StatusReason != "" && a.StatusReason != text {
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
		return show(c, a, err, func(s *screen, a *client.ManagedAgent) { s.line("agent %s has stopped", clean(a.ID)) })
	})
}

func (c *cli) agentRestart() *cobra.Command {
	var how client.ManagedAgentRestart
	cmd := shows(c, &cobra.Command{Use: "restart ID", Short: "Start a managed agent again under its id, with its session or a fresh one"},
		func(api *client.Client, ctx context.Context, id string) (*client.ManagedAgent, error) {
			how.IdempotencyKey = client.NewIdempotencyKey()
			return api.RestartManagedAgent(ctx, id, how)
		}, managedScreen)
	cmd.Flags().BoolVar(&how.Fresh, "fresh", false, "begin a new session instead of resuming the last one")
	return cmd
}
