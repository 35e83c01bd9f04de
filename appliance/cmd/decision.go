package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) threadDecisions() *cobra.Command {
	var filter client.DecisionFilter
	var flags pageFlags
	var add, category, details string
	cmd := &cobra.Command{
		Use:     "decisions [ID]",
		Aliases: []string{"decision"},
		Short:   "Show what the threads of an execution should know, or add to it",
		Long: "Show the decisions of a thread, or with --execution those of all threads of an execution, newest first.\n" +
			"With --add one is written by hand; threads that start later are told of it.",
		Example: "  wardroom thread decisions --execution exec_...\n" +
			"  wardroom thread decisions thread_... --add 'The API keeps its old names'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return wants("ID")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				filter.ThreadID = args[0]
			}
			if (filter.ThreadID == "") == (filter.ExecutionID == "") {
				return usagef(cmd, "name a thread, or an execution with --execution")
			}
			if cmd.Flags().Changed("add") {
				return c.addDecision(cmd, filter.ThreadID, add, category, details)
			}
			if details != "" {
				return usagef(cmd, "--details goes with --add")
			}
			filter.Category = category
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
					filter.Page = page
					list, err := api.ListDecisions(ctx, filter)
					if err != nil {
						return client.Meta{}, client.PageInfo{}, err
					}
					return list.Meta, list.PageInfo, nil
				}
				return showList(ctx, c, flags, "decisions", read, decisionTable)
			})
		},
	}
	cmd.Flags().StringVar(&filter.ExecutionID, "execution", "", "of all threads of this execution")
	cmd.Flags().StringVar(&category, "category", "", "only of this category; with --add its category (default decision)")
	cmd.Flags().StringVar(&add, "add", "", "write this decision: TEXT, @FILE, or - for stdin")
	cmd.Flags().StringVar(&details, "details", "", "with --add: a JSON object of details, @FILE, or - for stdin")
	flags.register(cmd)
	return cmd
}

func (c *cli) addDecision(cmd *cobra.Command, thread, text, category, details string) error {
	if thread == "" {
		return usagef(cmd, "--add wants a thread; its execution's other threads are told as well")
	}
	text, err := c.textFlag(cmd, "add", text)
	if err != nil {
		return err
	}
	d := client.NewDecision{Category: category, Summary: text, IdempotencyKey: client.NewIdempotencyKey()}
	if d.Category == "" {
		d.Category = "decision"
	}
	if details != "" {
		var object json.RawMessage
		if object, err = c.objectFlag("--details", details); err != nil {
			return err
		}
		d.Details = object
	}
	return c.call(cmd, func(ctx context.Context, api *client.Client) error {
		made, err := api.AddDecision(ctx, thread, d)
		if err != nil {
			return err
		}
		return c.show(made.Body, func(s *screen) {
			if made.Count > 1 {
				s.line("decision %s was there already; it is found %d times now", clean(made.ID), made.Count)
				return
			}
			s.line("decision %s", clean(made.ID))
		})
	})
}

func decisionTable(s *screen, rows []client.Decision) {
	if len(rows) == 0 {
		s.line("no decisions")
		return
	}
	var cells [][]cell
	for i := range rows {
		d := &rows[i]
		by := d.CreatedBy
		if d.ThreadID != "" && by == "system" {
			by = d.ThreadID
		}
		cells = append(cells, []cell{
			{text: moment(&d.CreatedAt)}, {text: d.Category}, {text: by}, {text: fmt.Sprint(d.Count)},
			{text: shorten(clean(strings.TrimSpace(d.Summary)), 100)},
		})
	}
	s.table([]string{"TIME", "CATEGORY", "BY", "FOUND", "SUMMARY"}, cells)
}
