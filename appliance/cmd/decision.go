package cmd

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

var decisions = &resource[client.Decision]{
	noun: "decision", member: "decisions", prefix: core.PrefixDecision, empty: "no decisions",
	columns: []column[client.Decision]{
		{head: "DECISION", show: func(d *client.Decision) any { return d.ID }, wide: true},
		{head: "AGE", show: func(d *client.Decision) any { return d.CreatedAt }},
		{head: "CATEGORY", show: func(d *client.Decision) any { return d.Category }},
		{head: "BY", show: func(d *client.Decision) any {
			if d.ThreadID != "" && d.CreatedBy == "system" {
				return d.ThreadID
			}
			return d.CreatedBy
		}},
		{head: "FOUND", show: func(d *client.Decision) any { return d.Count }},
		{head: "SUMMARY", show: func(d *client.Decision) any { return d.Summary }, cut: 100},
	},
	filters: []filter{
		{flag: "execution", usage: "of all threads of this execution"},
		{flag: "category", usage: "only of this category; with --add its category (default decision)"},
		byCreator,
	},
	id: func(d *client.Decision) string { return d.ID },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		filter := client.DecisionFilter{ExecutionID: sel.text("execution"), Category: sel.text("category"), CreatedBy: sel.text("created-by"), Page: sel.Page}
		if len(sel.args) == 1 {
			filter.ThreadID = sel.args[0]
		}
		return api.ListDecisions(ctx, filter)
	},
}

func (c *cli) threadDecisions() *cobra.Command {
	var add, details string
	cmd := decisions.lists(c, &cobra.Command{
		Use:     "decisions [ID]",
		Aliases: []string{"decision"},
		Short:   "Show what the threads of an execution should know, or add to it",
		Long: "Show the decisions of a thread, or with --execution those of all threads of an execution, newest first.\n" +
			"With --add one is written by hand; threads that start later are told of it.",
		Example: "  wardroom thread decisions --execution exec_...\n" +
			"  wardroom thread decisions thread_... --add 'The API keeps its old names'",
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		flags := cmd.Flags()
		execution, _ := flags.GetString("execution")
		switch {
		case (len(args) == 0) == (execution == ""):
			return usagef(cmd, "name a thread, or an execution with --execution")
		case flags.Changed("add") && len(args) == 0:
			return usagef(cmd, "--add wants a thread; its execution's other threads are told as well")
		case flags.Changed("add"):
			category, _ := flags.GetString("category")
			return c.addDecision(cmd, args[0], add, category, details)
		case details != "":
			return usagef(cmd, "--details goes with --add")
		}
		return decisions.list(c, cmd, args)
	}
	cmd.Flags().StringVar(&add, "add", "", "write this decision: TEXT, @FILE, or - for stdin")
	cmd.Flags().StringVar(&details, "details", "", "with --add: a JSON object of details, @FILE, or - for stdin")
	return cmd
}

func (c *cli) addDecision(cmd *cobra.Command, thread, text, category, details string) error {
	text, err := c.textFlag(cmd, "add", text)
	if err != nil {
		return err
	}
	d := client.NewDecision{Category: category, Summary: text, IdempotencyKey: client.NewIdempotencyKey()}
	d.Category = cmp.Or(d.Category, "decision")
	if details != "" {
		var object json.RawMessage
		if object, err = c.objectFlag("--details", details); err != nil {
			return err
		}
		d.Details = object
	}
	return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Decision, error) {
		return api.AddDecision(ctx, thread, d)
	}, func(s *screen, made *client.Decision) {
		if made.Count > 1 {
			s.line("decision %s was there already; it is found %d times now", clean(made.ID), made.Count)
			return
		}
		s.line("decision %s", clean(made.ID))
	})
}
