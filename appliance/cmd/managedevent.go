package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) agentEvents() *cobra.Command {
	var follow, all bool
	var after uint64
	var limit, tail int
	cmd := &cobra.Command{
		Use:   "events ID",
		Short: "Show what happened to a managed agent",
		RunE: func(cmd *cobra.Command, args []string) error {
			tails := cmd.Flags().Changed("tail")
			switch {
			case limit < 0 || limit > allLimit:
				return usagef(cmd, "--limit must be from 1 to %d", allLimit)
			case tails && (tail < 1 || tail > maxEventTail):
				return usagef(cmd, "--tail must be from 1 to %d", maxEventTail)
			case follow:
				return c.followEvents(cmd, args[0], after, tail)
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				var list *client.ManagedAgentEventList
				var err error
				switch {
				case tails:
					list, err = lastAgentEvents(ctx, api, args[0], tail)
				case all:
					list, err = allAgentEvents(ctx, api, args[0], after)
				default:
					list, err = api.ListManagedAgentEvents(ctx, args[0], after, limit)
				}
				return show(c, list, err, func(s *screen, list *client.ManagedAgentEventList) {
					for i := range list.Events {
						s.line("%s", managedEventText(&list.Events[i], s.paint))
					}
					if list.HasMore && !tails {
						s.line("there is more; go on with --after %d", list.NextSince)
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "go on with what happens")
	f.Uint64Var(&after, "after", 0, "only events after this sequence")
	f.IntVar(&limit, "limit", 0, "events at most, 1 to 100 (default 100)")
	f.IntVar(&tail, "tail", 0, "only so many last events")
	f.BoolVar(&all, "all", false, "all events, page by page")
	exclusive(cmd, "all", "limit", "tail", "follow")
	exclusive(cmd, "follow", "limit")
	exclusive(cmd, "tail", "limit", "after")
	return cmd
}

// maxEventTail bounds how many events are held before they are shown.
const maxEventTail = 10_000

// lastAgentEvents returns the last n events of an agent, oldest first.
func lastAgentEvents(ctx context.Context, api *client.Client, id string, n int) (*client.ManagedAgentEventList, error) {
	pages, err := lastEvents(n, func(before uint64, limit int) (answered, error) {
		return api.LatestManagedAgentEvents(ctx, id, before, limit)
	})
	return agentEventList(pages, err)
}

// allAgentEvents returns all events of an agent after a sequence.
func allAgentEvents(ctx context.Context, api *client.Client, id string, after uint64) (*client.ManagedAgentEventList, error) {
	pages, err := allEvents(after, func(since uint64) (answered, error) { return api.ListManagedAgentEvents(ctx, id, since, allLimit) })
	return agentEventList(pages, err)
}

func agentEventList(pages eventPage, err error) (*client.ManagedAgentEventList, error) {
	list := &client.ManagedAgentEventList{}
	if err == nil {
		list.Body, err = pages.into(list)
	}
	return list, err
}

func (c *cli) followEvents(cmd *cobra.Command, id string, after uint64, tail int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	if tail > 0 { // the stream begins before the first of them
		list, err := lastAgentEvents(cmd.Context(), api, id, tail)
		if err != nil {
			return err
		}
		if after = list.NextSince; len(list.Events) > 0 {
			after = list.Events[0].Sequence - 1
		}
	}
	last := ""
	if after > 0 {
		last = strconv.FormatUint(after, 10)
	}
	stream, err := api.WatchManagedAgent(cmd.Context(), id, last)
	if err != nil {
		return err
	}
	defer stream.Close()
	paint := c.painter(c.deps.Stdout)
	return c.tail(cmd.Context(), func() (any, string, error) {
		event, err := stream.Next()
		if err != nil {
			return nil, "", err
		}
		var e client.ManagedAgentEvent
		if err := json.Unmarshal(event.Data, &e); err != nil {
			return nil, "", fmt.Errorf("data of a %s event: %w", clean(event.Type), err)
		}
		return event, managedEventText(&e, paint), nil
	})
}

// managedEventText returns a line for people about an event of a managed agent.
func managedEventText(e *client.ManagedAgentEvent, paint func(style, string) string) string {
	name := strings.TrimPrefix(e.Type, "managed_agent.")
	how := stylePlain
	switch name {
	case "ready":
		how = styleGood
	case "turn_complete":
		how = styleGood
		if d, err := e.Decode(); err == nil && turnEnd(&d.TurnOutcome) != "" {
			how = styleBad
		}
	case "error", "stuck":
		how = styleBad
	case "blocked", "question", "login_required":
		how = styleBusy
	}
	text := compact(e.Data, 160)
	if d, err := e.Decode(); err == nil {
		text = shorten(clean(managedEventDetail(d)), 160)
	}
	return strings.TrimRight(fmt.Sprintf("%6d %s %s %s", e.Sequence, e.Timestamp.Local().Format("15:04:05.000"),
		paint(how, fmt.Sprintf("%-14s", clean(name))), text), " ")
}

func managedEventDetail(d client.ManagedEventData) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if d.Tool != nil {
		add(d.Tool.Name + " " + compact(d.Tool.Input, 120))
	}
	if d.Prompt != nil {
		add(d.Prompt.Text)
	}
	add(d.Answered)
	add(turnEnd(&d.TurnOutcome))
	add(d.Text)
	add(usageText(d.Usage))
	add(d.LoginURL)
	add(d.Reason)
	if d.ExitCode != nil {
		add(fmt.Sprintf("exit code %d", *d.ExitCode))
	}
	return strings.Join(parts, "  ")
}
