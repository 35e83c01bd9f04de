package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// deletedRow is what becomes of one of several executions that are deleted.
type deletedRow struct {
	ExecutionID string `json:"executionId"`
	Deleted     bool   `json:"deleted"`
	Error       string `json:"error,omitempty"`
}

func (c *cli) executionDelete() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete ID...",
		Short: "Delete executions that are over",
		Long: "Delete executions that are over, with their journals, questions, decisions and threads. What was remembered of\n" +
			"them, deliveries and the public log stay. Asks before, unless --yes is given. One that cannot be deleted does not\n" +
			"keep the others; the exit code is 1 then.",
		Example: "  wardroom execution list --status failed -q | xargs -r wardroom execution delete --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				if err := c.confirmDelete(args); err != nil {
					return err
				}
			}
			return c.deleteExecutions(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirmDelete shows what is about to be deleted and asks.
func (c *cli) confirmDelete(ids []string) error {
	s := &screen{paint: c.painter(c.deps.Stderr)}
	for _, id := range ids {
		s.line("%s", clean(id))
	}
	s.line("Delete %s for good? [y/N]", count(len(ids), "execution"))
	return c.confirm(s, "nothing was deleted", "--yes deletes without asking")
}

func (c *cli) deleteExecutions(cmd *cobra.Command, ids []string) error {
	rows := make([]deletedRow, len(ids))
	var first error
	failed := 0
	for i, id := range ids {
		rows[i].ExecutionID = id
		err := c.call(cmd, func(ctx context.Context, api *client.Client) error { return api.DeleteExecution(ctx, id) })
		if rows[i].Deleted = err == nil; err == nil {
			continue
		}
		if failed++; first == nil {
			first = err
		}
		var known *client.Error
		if !errors.As(err, &known) {
			return err // the server is away, or whatever else concerns them all
		}
		rows[i].Error = known.Message
	}
	if len(ids) == 1 && first != nil {
		return first
	}
	err := c.showValue(map[string]any{"executions": rows}, func(s *screen) {
		for _, row := range rows {
			if row.Deleted {
				s.line("execution %s deleted", clean(row.ExecutionID))
			} else {
				s.line("execution %s not deleted: %s", clean(row.ExecutionID), clean(row.Error))
			}
		}
	})
	if err == nil && failed > 0 {
		err = &outcomeError{code: exitFailed, message: fmt.Sprintf("%d of %d were not deleted", failed, len(ids))}
	}
	return err
}
