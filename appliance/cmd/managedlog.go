package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) agentLogs() *cobra.Command {
	var follow bool
	var tail int
	var since string
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Show what a managed agent said, was told and did",
		RunE: func(cmd *cobra.Command, args []string) error {
			if tail < 0 {
				return usagef(cmd, "--tail must not be negative")
			}
			opts := client.LogOptions{Tail: tail}
			var err error
			if opts.Since, err = timeFlag(cmd, "since", since, time.Now()); err != nil {
				return err
			}
			if follow {
				return c.followLogs(cmd, args[0], opts)
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.LogList, error) {
				return api.ManagedAgentLogs(ctx, args[0], opts)
			}, func(s *screen, list *client.LogList) {
				for _, l := range list.Logs {
					s.line("%s", logText(l, s.paint))
				}
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	f.IntVar(&tail, "tail", 0, "only so many last lines (default the server's 1000)")
	f.StringVar(&since, "since", "", "after this time (RFC 3339), or from this long ago (90m, 24h)")
	return cmd
}

func logText(l client.LogLine, paint func(style, string) string) string {
	how := stylePlain
	if l.Stream == "terminal" || l.Stream == "event" {
		how = styleFaint
	}
	return fmt.Sprintf("%s %-8s %s", l.Timestamp.Local().Format("15:04:05.000"), clean(l.Stream), paint(how, cleanLine(l.Line)))
}

func (c *cli) followLogs(cmd *cobra.Command, id string, opts client.LogOptions) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	stream, err := api.FollowManagedAgentLogs(cmd.Context(), id, opts)
	if err != nil {
		return err
	}
	defer stream.Close()
	paint := c.painter(c.deps.Stdout)
	return c.tail(cmd.Context(), func() (any, string, error) {
		line, event, err := stream.Next()
		return event, logText(line, paint), err
	})
}

// tail prints what next returns, as a value and as a line for people, until it returns io.EOF or a signal comes, which is
// how one leaves it.
func (c *cli) tail(ctx context.Context, next func() (value any, line string, err error)) error {
	for {
		value, line, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && ctx.Err() != nil:
			return &interruption{cause: err}
		case err != nil:
			return err
		case c.tables():
			_, err = fmt.Fprintln(c.deps.Stdout, line)
		default:
			err = c.printDocument(value)
		}
		if err != nil {
			return err
		}
	}
}
