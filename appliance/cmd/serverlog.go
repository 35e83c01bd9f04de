package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) logsCommand() *cobra.Command {
	var f client.ServerLogFilter
	var since string
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show what the server logged",
		Long: "Show what the server itself logged, as far back as it keeps that in memory: the last 1 MiB since it started. What it\n" +
			"logs at all is log.level of the configuration, and wardroom log-level while it runs. Plugins have logs of their own:\n" +
			"wardroom plugin logs; so have managed agents: wardroom agent logs.",
		Example: "  wardroom logs --level warn --since 1h\n  wardroom logs --follow --text webhook",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Tail < 1 {
				return usagef(cmd, "--tail must be at least 1")
			}
			if f.Level != "" && !slices.Contains(core.LogLevels, f.Level) {
				return usagef(cmd, "--level must be one of %s", strings.Join(core.LogLevels, ", "))
			}
			var err error
			if f.Since, err = timeFlag(cmd, "since", since, c.now()); err != nil {
				return err
			}
			if follow {
				api, err := c.client()
				if err != nil {
					return err
				}
				return tailLines(cmd.Context(), c, api.FollowServerLog(cmd.Context(), f), serverLine)
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.ServerLogList, error) {
				return api.ServerLog(ctx, f)
			}, func(s *screen, list *client.ServerLogList) {
				for _, line := range list.Logs {
					s.line("%s", serverLine(line, s.paint))
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&follow, "follow", "f", false, "go on with each new line")
	flags.StringVar(&f.Level, "level", "", "at least so severe: "+strings.Join(core.LogLevels, ", "))
	flags.StringVar(&f.Text, "text", "", "only lines that have this in them, whatever the case")
	flags.StringVar(&since, "since", "", "after this time (RFC 3339), or from this long ago (90m, 24h)")
	flags.IntVar(&f.Tail, "tail", 200, "only so many last lines")
	_ = cmd.RegisterFlagCompletionFunc("level", cobra.FixedCompletions(core.LogLevels, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func serverLine(line client.ServerLogLine, paint func(style, string) string) string {
	message := clean(line.Message)
	if line.Part != "" {
		message = paint(styleFaint, clean(line.Part)+":") + " " + message
	}
	return levelLine(line.Timestamp, line.Level, message, line.Lost, paint)
}
