package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) executionCommand() *cobra.Command {
	return c.nounGroup(executions, &cobra.Command{
		Use: "execution", Aliases: []string{"executions", "exec"}, Short: "Read, watch and steer executions",
	}, executions.lists(c, &cobra.Command{Use: "list", Short: "List executions, newest first"}), c.executionGet(), c.executionTimeline(), c.executionStep(), c.executionTask(), c.executionWatch(), c.executionCancel(),
		c.executionRetry(), c.executionRerun(), c.executionDelete())
}

var executions = &resource[client.ExecutionRow]{
	noun: "execution", member: "executions", prefix: core.PrefixExecution, empty: "no executions",
	columns: []column[client.ExecutionRow]{
		{head: "EXECUTION", show: func(e *client.ExecutionRow) any { return e.ExecutionID }},
		{head: "PATTERN", show: func(e *client.ExecutionRow) any { return e.Pattern }, cut: 40},
		{head: "VERSION", show: func(e *client.ExecutionRow) any { return e.Version }},
		{head: "STATUS", show: func(e *client.ExecutionRow) any { return status(e.Status) }},
		{head: "ERROR", show: func(e *client.ExecutionRow) any { return string(e.ErrorCode) }, wide: true},
		{head: "AGENTS", show: func(e *client.ExecutionRow) any { return teamText(e) }, wide: true, cut: 40},
		{head: "ASKS", show: func(e *client.ExecutionRow) any { return openText(e.OpenQuestions) }, wide: true},
		{head: "BATCH", show: func(e *client.ExecutionRow) any { return e.BatchID }, wide: true},
		{head: "CREATED BY", show: func(e *client.ExecutionRow) any { return e.CreatedBy }, wide: true, cut: 24},
		{head: "METADATA", show: func(e *client.ExecutionRow) any { return pairsText(e.Metadata) }, wide: true, cut: 40},
		{head: "STARTED", show: func(e *client.ExecutionRow) any { return moment(e.StartedAt) }, wide: true},
		{head: "AGE", show: func(e *client.ExecutionRow) any { return e.CreatedAt }},
		{head: "DURATION", show: func(e *client.ExecutionRow) any { return elapsed(e.Status, e.Duration) }},
	},
	filters: []filter{
		{flag: "pattern", usage: "only of this pattern"},
		anyOf("status", core.ExecutionStatuses),
		{flag: "batch", usage: "only items of this batch"},
		{flag: "error", usage: "only those that failed with this code, such as TIMEOUT"},
		byCreator,
		{flag: "metadata", usage: "key=value, only those with this metadata; may be repeated", kind: filterPairs},
		{flag: "since", usage: "made at or after this time (RFC 3339), or this long ago (90m, 24h)", kind: filterTime},
		{flag: "until", usage: "made before this time (RFC 3339), or this long ago", kind: filterTime},
		{flag: "ended-since", usage: "over, and ended at or after this time, or this long ago", kind: filterTime},
		{flag: "ended-until", usage: "over, and ended before this time, or this long ago", kind: filterTime},
	},
	id:     func(e *client.ExecutionRow) string { return e.ExecutionID },
	status: func(e *client.ExecutionRow) string { return e.Pattern + " " + string(e.Status) },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListExecutions(ctx, client.ExecutionFilter{
			Pattern: sel.text("pattern"), Status: strings.Join(sel.texts("status"), ","), BatchID: sel.text("batch"),
			ErrorCode: sel.text("error"), CreatedBy: sel.text("created-by"), Metadata: sel.pairs("metadata"), Since: sel.time("since"), Until: sel.time("until"),
			EndedSince: sel.time("ended-since"), EndedUntil: sel.time("ended-until"), Page: sel.Page,
		})
	},
}

// teamText is the first agents of an execution, and how many more there are.
func teamText(e *client.ExecutionRow) string {
	text := strings.Join(e.AgentNames, ", ")
	if more := e.AgentCount - len(e.AgentNames); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// openText is a number of open questions, or nothing.
func openText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func (c *cli) executionGet() *cobra.Command {
	return shows(c, &cobra.Command{Use: "get ID", Short: "Show an execution with its input, result and agents"},
		(*client.Client).GetExecution, executionScreen)
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
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
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
	cmd := shows(c, &cobra.Command{Use: "cancel ID", Short: "Cancel a pending or running execution"},
		func(api *client.Client, ctx context.Context, id string) (*client.Execution, error) {
			return api.CancelExecution(ctx, id, reason)
		},
		func(s *screen, exec *client.Execution) {
			s.line("execution %s %s at %s", clean(exec.ExecutionID), clean(exec.Status), moment(exec.CancelledAt))
		})
	cmd.Flags().StringVar(&reason, "reason", "", "kept with the execution")
	return cmd
}

func (c *cli) executionRetry() *cobra.Command {
	var key string
	cmd := shows(c, &cobra.Command{Use: "retry ID", Short: "Run a finished execution again with the same version, input and options"},
		func(api *client.Client, ctx context.Context, id string) (*client.Repetition, error) {
			return api.RetryExecution(ctx, id, key)
		}, repetitionScreen)
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key gives the same execution for 24 hours")
	return cmd
}

func (c *cli) executionRerun() *cobra.Command {
	var key, from string
	cmd := shows(c, &cobra.Command{Use: "rerun ID", Short: "Run a finished execution again from a step on, keeping the results before it"},
		func(api *client.Client, ctx context.Context, id string) (*client.Repetition, error) {
			return api.RerunExecution(ctx, id, from, key)
		}, repetitionScreen)
	cmd.Flags().StringVar(&from, "from-step", "", "id of the first step to run again (default the first without a result)")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key gives the same execution for 24 hours")
	return cmd
}

func repetitionScreen(s *screen, again *client.Repetition) {
	s.line("execution %s %s", clean(again.NewExecutionID), clean(again.Status))
	s.line("follow it: wardroom execution watch %s", clean(again.NewExecutionID))
}

// timeFlag reads a time, or a duration back from now, which may have days.
func timeFlag(cmd *cobra.Command, name, value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		return t, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		d, err = config.ParseDuration(value)
	}
	if err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, usagef(cmd, "--%s wants a time such as 2026-01-02T15:04:05Z or a duration such as 90m or 7d, not %q", name, value)
}
