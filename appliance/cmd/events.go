package cmd

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// feedText is how many characters of an event's data a line shows.
const feedText = 200

func (c *cli) eventsCommand() *cobra.Command {
	var f client.FeedFilter
	var follow bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show what happened anywhere on the server, and what happens",
		Long: "Show what happened anywhere on the server, one line for each event, as far as it is public: what webhooks deliver.\n" +
			"With --follow, show everything as it happens, until Ctrl-C, from now on or from --after on. A server that goes away\n" +
			"is waited for; a line says where events may be missing.",
		Example: "  wardroom events --topic executions\n  wardroom events --follow --topic inbox,health\n  wardroom events --follow --subject exec_... -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancelCause(cmd.Context())
			defer stop(nil)
			quiet := time.AfterFunc(math.MaxInt64, func() { stop(context.DeadlineExceeded) })
			defer quiet.Stop()
			waits := func() {
				if !follow && c.timeout > 0 {
					quiet.Reset(c.timeout)
				}
			}
			if !follow {
				f.After = cmp.Or(f.After, "0")
			}
			waits()
			stream, err := api.FollowEvents(ctx, f)
			if err != nil {
				return c.late(ctx, err)
			}
			c.noteOutages(stream)
			paint := c.painter(c.deps.Stdout)
			waits()
			for event, err := range stream.Events() {
				quiet.Stop() // what reads the output may be slow
				if !follow && (event.Type == client.EventReplayed || event.Type == client.EventGap) {
					return nil // what happened so far was shown
				}
				if event.Type == client.EventReplayed {
					continue
				}
				if err != nil {
					if cmd.Context().Err() == nil && ctx.Err() != nil {
						return c.cutHistory(stream)
					}
					if ctx.Err() != nil {
						stopped := &interruption{cause: err}
						if last := stream.LastEventID(); last != "" {
							stopped.hint = "go on with `wardroom events --follow --after " + clean(last) + "`"
						}
						return stopped
					}
					return err
				}
				if err := c.printFeed(event, paint); err != nil {
					return err
				}
				waits()
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens, until Ctrl-C")
	cmd.Flags().StringSliceVar(&f.Topics, "topic", nil, "only these topics (default all but counts): "+strings.Join(client.FeedTopics, ", "))
	cmd.Flags().StringSliceVar(&f.Subjects, "subject", nil, "all that happens to these ids, of executions, threads and agents")
	cmd.Flags().StringVar(&f.After, "after", "", "go on after this event: the number that -o json shows as id")
	_ = cmd.RegisterFlagCompletionFunc("topic", cobra.FixedCompletions(client.FeedTopics, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// cutHistory is the error of what happened so far when the server did not mark its end in time.
func (c *cli) cutHistory(stream *client.Stream) error {
	cut := &outcomeError{
		code: exitTimeout, message: fmt.Sprintf("the history may be incomplete: nothing came for %s, nor the mark of its end", c.timeout),
		hint: "give the server longer with --timeout",
	}
	if last := clean(stream.LastEventID()); last != "" && last != "0" {
		cut.hint += ", and go on with `wardroom events --after " + last + "`"
	}
	return cut
}

// printFeed writes one event: a line for a person, or one JSON document on a line for a script.
func (c *cli) printFeed(event client.Event, paint func(style, string) string) error {
	if !c.tables() {
		return c.printDocument(event)
	}
	if event.Type == client.EventGap {
		_, err := fmt.Fprintln(c.deps.Stdout, paint(styleBusy, "events may be missing here"))
		return err
	}
	var e client.FeedEvent
	var err error
	switch event.Type {
	case "event", client.EventNotice:
		e, err = event.Feed()
	case client.EventCounts:
		var counts *client.OverviewCounts
		if counts, err = event.Counts(); err == nil {
			e = client.FeedEvent{Type: event.Type, Timestamp: counts.At, Data: event.Data}
		}
	default: // of a later server
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.deps.Stdout, "%s  %s  %s  %s\n", e.Timestamp.Local().Format("15:04:05.000"),
		paint(eventStyle(e.Type), fmt.Sprintf("%-28s", clean(e.Type))), clean(e.Subject), paint(styleFaint, compact(e.Data, feedText)))
	return err
}
