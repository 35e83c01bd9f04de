package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) threadEvents() *cobra.Command {
	var filter client.ThreadEventFilter
	var all bool
	cmd := &cobra.Command{
		Use:   "events ID",
		Short: "Show what happened to a thread",
		RunE: func(cmd *cobra.Command, args []string) error {
			if filter.Limit < 0 || filter.Limit > allLimit {
				return usagef(cmd, "--limit must be from 1 to %d", allLimit)
			}
			for i, kind := range filter.Types {
				if !strings.HasPrefix(kind, threadKindPrefix) {
					filter.Types[i] = threadKindPrefix + kind
				}
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				var list *client.ThreadEventList
				var err error
				if all {
					list, err = allThreadEvents(ctx, api, args[0], filter)
				} else {
					list, err = api.ListThreadEvents(ctx, args[0], filter)
				}
				return show(c, list, err, func(s *screen, list *client.ThreadEventList) {
					for i := range list.Events {
						e := &list.Events[i]
						how, text := threadEventText(e.Type, e.Data)
						s.line("%s", strings.TrimRight(fmt.Sprintf("%6d %s %s %s", e.Sequence, e.Timestamp.Local().Format("15:04:05.000"),
							s.paint(how, fmt.Sprintf("%-15s", threadKind(e.Type))), shorten(clean(text), 160)), " "))
					}
					switch backwards := filter.Newest || filter.Before > 0; {
					case list.HasMore && backwards:
						s.line("there are older ones; go on with --before %d", list.NextBefore)
					case list.HasMore:
						s.line("there is more; go on with --after %d", list.NextSince)
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&filter.Since, "after", 0, "only events after this sequence")
	f.Uint64Var(&filter.Before, "before", 0, "the newest events before this sequence")
	f.BoolVar(&filter.Newest, "newest", false, "the newest events of all")
	f.BoolVar(&all, "all", false, "all events, page by page")
	exclusive(cmd, "all", "limit", "before", "newest")
	exclusive(cmd, "after", "before", "newest")
	exclusive(cmd, "before", "newest")
	f.StringSliceVar(&filter.Types, "type", nil, "only these kinds, comma-separated, such as blocked,turn_complete,output (default all but output, status, input and tool_done)")
	f.IntVar(&filter.Limit, "limit", 0, "events at most, 1 to 100 (default 100)")
	words := make([]string, len(threadEventKinds))
	for i, kind := range threadEventKinds {
		words[i] = threadKind(kind)
	}
	// It fails for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// allThreadEvents returns all events of a thread that a filter selects.
func allThreadEvents(ctx context.Context, api *client.Client, id string, filter client.ThreadEventFilter) (*client.ThreadEventList, error) {
	filter.Limit = allLimit
	pages, err := allEvents(filter.Since, func(since uint64) (answered, error) {
		filter.Since = since
		return api.ListThreadEvents(ctx, id, filter)
	})
	list := &client.ThreadEventList{}
	if err == nil {
		list.Body, err = pages.into(list)
	}
	return list, err
}

// threadKindPrefix begins the type of each event of a thread.
const threadKindPrefix = "thread_"

// threadEventKinds are the types of events that thread events can be asked for.
var threadEventKinds = []string{
	client.EventThreadStarted, client.EventThreadReady, client.EventThreadBlocked, client.EventThreadToolRunning,
	client.EventThreadTurnComplete, client.EventThreadIdle, client.EventThreadSummaryUpdated, client.EventThreadOutput,
	client.EventThreadStatus, client.EventThreadInput, client.EventThreadToolDone, client.EventThreadCompleted, client.EventThreadFailed, client.EventThreadStopped,
}

func threadKind(kind string) string { return clean(strings.TrimPrefix(kind, threadKindPrefix)) }

// threadEventText returns a text for people about an event, and its colour. The text may have several lines.
func threadEventText(kind string, data json.RawMessage) (style, string) {
	d, err := (&client.ThreadEvent{ThreadEvent: wire.ThreadEvent{Type: kind, Data: data}}).Decode()
	if err != nil {
		return stylePlain, compact(data, 160)
	}
	switch kind {
	case client.EventThreadStarted:
		again := ""
		if d.Restart > 0 {
			again = fmt.Sprintf("start %d", d.Restart+1)
		}
		return styleBusy, spaced(d.AgentType, d.Runtime, d.ManagedAgentID, d.AgentID, again)
	case client.EventThreadReady:
		return styleGood, ""
	case client.EventThreadBlocked:
		text := ""
		if d.Prompt != nil {
			text = spaced(d.Prompt.Text, d.Prompt.Tool, inputText(d.Prompt.Input), d.Prompt.URL)
		}
		if d.AutoAnswered {
			text += "\nanswered by a rule: " + d.Answer
			if d.Ruling != nil {
				text += " (" + spaced(d.Ruling.By, d.Ruling.Rule, d.Ruling.Reason) + ")"
			}
		}
		return styleBusy, text
	case client.EventThreadToolRunning:
		return styleFaint, spaced(d.Tool, compact(d.Input, 120))
	case client.EventThreadTurnComplete:
		took := ""
		if d.DurationMs > 0 {
			took = "after " + span(time.Duration(d.DurationMs)*time.Millisecond)
		}
		outcome := wire.TurnOutcome{Interrupted: d.Interrupted, Refused: d.Refused}
		how := styleGood
		if d.Error != nil {
			outcome.Error, how = &wire.TurnError{Code: d.Error.Code, Message: d.Error.Message}, styleBad
		}
		return how, spaced(fmt.Sprintf("turn %d", d.Turn), took, turnEnd(&outcome), usageText(d.Usage))
	case client.EventThreadToolDone:
		how, outcome := styleFaint, ""
		if d.Outcome != "done" {
			how, outcome = styleBad, d.Outcome
		}
		return how, spaced(d.Tool, outcome, "after "+span(time.Duration(d.DurationMs)*time.Millisecond))
	case client.EventThreadInput:
		return stylePlain, spaced(d.State, d.CreatedBy, d.InputID) + "\n" + d.Text
	case client.EventThreadIdle:
		return styleFaint, "for " + (time.Duration(d.IdleMs) * time.Millisecond).String()
	case client.EventThreadSummaryUpdated:
		return stylePlain, d.Summary
	case client.EventThreadOutput:
		return stylePlain, d.Text
	case client.EventThreadStatus:
		return threadStyle(d.Status, d.Reason), spaced(d.Status, d.Reason, d.InputID)
	case client.EventThreadCompleted, client.EventThreadFailed, client.EventThreadStopped:
		return endText(kind, d)
	}
	return stylePlain, compact(data, 160)
}

// endText reports how a thread ended.
func endText(kind string, d client.ThreadEventData) (style, string) {
	how := styleGood
	switch kind {
	case client.EventThreadFailed:
		how = styleBad
	case client.EventThreadStopped:
		how = styleFaint
	}
	text := d.Reason
	if d.Error != nil {
		text = d.Error.Code + ": " + d.Error.Message
	}
	if done := d.Completion; done != nil {
		if kind == client.EventThreadCompleted {
			how = completionStyle(string(done.State))
		}
		text = spaced(text, string(done.State))
		if done.Changes != nil {
			text = spaced(text, changesText(done.Changes))
		}
		if done.Summary != "" {
			text += "\n" + done.Summary
		}
	}
	return how, text
}

// spaced joins what there is of texts; they may hold line breaks, and are not cleaned.
func spaced(texts ...string) string {
	var have []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			have = append(have, text)
		}
	}
	return strings.Join(have, "  ")
}
