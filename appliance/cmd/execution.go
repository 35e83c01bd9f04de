package cmd

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) executionCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "execution", Aliases: []string{"executions", "exec"}, Short: "Read, watch and steer executions",
	})
	cmd.AddCommand(c.executionList(), c.executionGet(), c.executionTimeline(), c.executionWatch(), c.executionCancel(),
		c.executionRetry(), c.executionRerun())
	return cmd
}

func (c *cli) executionList() *cobra.Command {
	var filter client.ExecutionFilter
	var flags pageFlags
	var since, until string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List executions, newest first",
		Args:  wants(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if filter.Since, err = timeFlag(cmd, "since", since, time.Now()); err != nil {
				return err
			}
			if filter.Until, err = timeFlag(cmd, "until", until, time.Now()); err != nil {
				return err
			}
			if err := statusFlag(cmd, filter.Status); err != nil {
				return err
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
					filter.Page = page
					list, err := api.ListExecutions(ctx, filter)
					if err != nil {
						return client.Meta{}, client.PageInfo{}, err
					}
					return list.Meta, list.PageInfo, nil
				}
				return showList(ctx, c, flags, "executions", read, executionTable)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Pattern, "pattern", "", "only of this pattern")
	cmd.Flags().StringVar(&filter.Status, "status", "", "pending, running, completed, failed or cancelled")
	cmd.Flags().StringVar(&since, "since", "", "made at or after this time (RFC 3339), or this long ago (90m, 24h)")
	cmd.Flags().StringVar(&until, "until", "", "made before this time (RFC 3339), or this long ago")
	flags.register(cmd)
	return cmd
}

func executionTable(s *screen, rows []client.Execution) {
	if len(rows) == 0 {
		s.line("no executions")
		return
	}
	var cells [][]cell
	for _, e := range rows {
		cells = append(cells, []cell{
			{text: e.ExecutionID}, {text: e.Pattern.Name}, {text: e.Version}, status(e.Status),
			{text: moment(e.StartedAt)}, {text: elapsed(e.Status, e.Duration)},
		})
	}
	s.table([]string{"EXECUTION", "PATTERN", "VERSION", "STATUS", "STARTED", "DURATION"}, cells)
}

func (c *cli) executionGet() *cobra.Command {
	return &cobra.Command{
		Use:   "get ID",
		Short: "Show an execution with its input, result and agents",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				exec, err := api.GetExecution(ctx, args[0])
				if err != nil {
					return err
				}
				return c.show(exec.Body, func(s *screen) { executionScreen(s, exec) })
			})
		},
	}
}

func (c *cli) executionWatch() *cobra.Command {
	var after string
	var lines bool
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Show an execution until it is over",
		Long: "Show an execution until it is over, across restarts of the server: on a terminal as a tree of its steps,\n" +
			"tasks, messages and questions that is drawn in place, anywhere else (or with --lines) event by event. The\n" +
			"exit code is that of the execution. Ctrl-C ends the watching only. With -o json each event is one line.",
		Args: wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			defer api.Close()
			if out, ok := c.deps.Stdout.(*os.File); ok && c.drawsInPlace(out) && !lines && after == "" {
				return c.watchTree(cmd.Context(), api, args[0], out)
			}
			stream, err := api.WatchExecution(cmd.Context(), args[0], after)
			if err != nil {
				return err
			}
			return c.follow(cmd.Context(), api, stream)
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "id of the last event already seen; shows events, not the tree")
	cmd.Flags().BoolVar(&lines, "lines", false, "event by event on a terminal too")
	return cmd
}

func (c *cli) executionCancel() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a pending or running execution",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				exec, err := api.CancelExecution(ctx, args[0], reason)
				if err != nil {
					return err
				}
				return c.show(exec.Body, func(s *screen) {
					s.line("execution %s %s at %s", clean(exec.ExecutionID), clean(exec.Status), moment(exec.CancelledAt))
				})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "kept with the execution")
	return cmd
}

func (c *cli) executionRetry() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "retry ID",
		Short: "Run a finished execution again with the same version, input and options",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				again, err := api.RetryExecution(ctx, args[0], key)
				return c.showRepetition(again, err)
			})
		},
	}
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key gives the same execution for 24 hours")
	return cmd
}

func (c *cli) executionRerun() *cobra.Command {
	var key, from string
	cmd := &cobra.Command{
		Use:   "rerun ID",
		Short: "Run a finished execution again from a step on, keeping the results before it",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				again, err := api.RerunExecution(ctx, args[0], from, key)
				return c.showRepetition(again, err)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from-step", "", "id of the first step to run again (default the first without a result)")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key gives the same execution for 24 hours")
	return cmd
}

func (c *cli) showRepetition(again *client.Repetition, err error) error {
	if err != nil {
		return err
	}
	return c.show(again.Body, func(s *screen) {
		s.line("execution %s %s", clean(again.NewExecutionID), clean(again.Status))
		s.line("follow it: wardroom execution watch %s", clean(again.NewExecutionID))
	})
}

func statusFlag(cmd *cobra.Command, value string) error {
	if value == "" {
		return nil
	}
	for _, known := range core.ExecutionStatuses {
		if value == string(known) {
			return nil
		}
	}
	return usagef(cmd, "--status must be one of %v, not %q", core.ExecutionStatuses, value)
}

// timeFlag reads a time, or a duration back from now.
func timeFlag(cmd *cobra.Command, name, value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		return t, nil
	}
	if d, err := time.ParseDuration(value); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, usagef(cmd, "--%s wants %s, not %q", name,
		fmt.Sprintf("a time such as %s or a duration such as 90m", "2026-01-02T15:04:05Z"), value)
}
