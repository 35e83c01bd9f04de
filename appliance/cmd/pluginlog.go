package cmd

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) pluginLogs() *cobra.Command {
	var tail int
	var follow bool
	cmd := &cobra.Command{
		Use: "logs NAME", Short: "Show what a plugin logged",
		RunE: func(cmd *cobra.Command, args []string) error {
			if tail < 1 {
				return usagef(cmd, "--tail must be at least 1")
			}
			if follow {
				return c.followPlugin(cmd, args[0], tail)
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.PluginLogList, error) {
				return api.PluginLogs(ctx, args[0], tail)
			}, func(s *screen, list *client.PluginLogList) {
				for _, line := range list.Logs {
					s.line("%s", pluginLine(line, s.paint))
				}
			})
		},
	}
	cmd.Flags().IntVar(&tail, "tail", 200, "only so many last lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with each new line")
	return cmd
}

func pluginLine(line client.PluginLogLine, paint func(style, string) string) string {
	return levelLine(line.Timestamp, line.Level, clean(line.Message), line.Lost, paint)
}

// levelLine returns a line of a log with its time and level.
func levelLine(at time.Time, level, message string, lost int, paint func(style, string) string) string {
	levels := map[string]style{"error": styleBad, "warn": styleBusy, "debug": styleFaint, "trace": styleFaint}
	text := fmt.Sprintf("%s %s %s", at.Local().Format("15:04:05.000"), paint(levels[level], fmt.Sprintf("%-5s", clean(level))), message)
	if lost > 0 {
		text = paint(styleFaint, fmt.Sprintf("(%d lines were missed)", lost)) + "\n" + text
	}
	return text
}

// followPlugin prints lines until the server ends the stream or a signal comes, which is how one leaves it.
func (c *cli) followPlugin(cmd *cobra.Command, name string, tail int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	return tailLines(cmd.Context(), c, api.FollowPluginLogs(cmd.Context(), name, tail), pluginLine)
}

// tailLines prints what comes of a log.
func tailLines[L any](ctx context.Context, c *cli, lines iter.Seq2[L, error], text func(L, func(style, string) string) string) error {
	paint := c.painter(c.deps.Stdout)
	next, stop := iter.Pull2(lines)
	defer stop()
	return c.tail(ctx, func() (any, string, error) {
		line, err, more := next()
		if !more {
			err = io.EOF
		}
		return line, text(line, paint), err
	})
}
