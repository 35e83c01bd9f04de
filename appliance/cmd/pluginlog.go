package cmd

import (
	"context"
	"fmt"
	"io"

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
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				list, err := api.PluginLogs(ctx, args[0], tail)
				if err != nil {
					return err
				}
				return c.show(list.Body, func(s *screen) {
					for _, line := range list.Logs {
						s.line("%s", pluginLine(line, s.paint))
					}
				})
			})
		},
	}
	cmd.Flags().IntVar(&tail, "tail", 200, "only so many last lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with each new line")
	return cmd
}

func pluginLine(line client.PluginLogLine, paint func(style, string) string) string {
	levels := map[string]style{"error": styleBad, "warn": styleBusy, "debug": styleFaint, "trace": styleFaint}
	text := fmt.Sprintf("%s %s %s", line.Timestamp.Local().Format("15:04:05.000"),
		paint(levels[line.Level], fmt.Sprintf("%-5s", clean(line.Level))), clean(line.Message))
	if line.Lost > 0 {
		text = paint(styleFaint, fmt.Sprintf("(%d lines were missed)", line.Lost)) + "\n" + text
	}
	return text
}

// followPlugin prints lines until the server ends the stream or a signal comes, which is how one leaves it.
func (c *cli) followPlugin(cmd *cobra.Command, name string, tail int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	defer api.Close()
	paint := c.painter(c.deps.Stdout)
	for line, err := range api.FollowPluginLogs(cmd.Context(), name, tail) {
		if err != nil {
			if cmd.Context().Err() != nil {
				return &interruption{cause: err}
			}
			return err
		}
		if err := c.printPluginLine(line, paint); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) printPluginLine(line client.PluginLogLine, paint func(style, string) string) error {
	if c.tables() {
		_, err := io.WriteString(c.deps.Stdout, pluginLine(line, paint)+"\n")
		return err
	}
	return c.printDocument(line)
}
