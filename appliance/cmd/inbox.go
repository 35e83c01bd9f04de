package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) inboxCommand() *cobra.Command {
	return inbox.lists(c, &cobra.Command{
		Use:   "inbox",
		Short: "List everything that waits for a person, newest first",
		Long: "List everything that waits for a person, newest first: questions of executions, and prompts and logins of threads\n" +
			"and managed agents.",
	})
}

var inbox = &resource[client.InboxItem]{
	noun: "inbox item", member: "items", empty: "nothing waits for a person", forward: true,
	columns: []column[client.InboxItem]{
		{head: "ID", show: func(i *client.InboxItem) any { return i.ID }},
		{head: "AGE", show: func(i *client.InboxItem) any { return i.Since }},
		{head: "FROM", show: func(i *client.InboxItem) any { return inboxFrom(i) }, cut: 24},
		{head: "KIND", show: func(i *client.InboxItem) any { return string(i.Kind) }},
		{head: "TEXT", show: func(i *client.InboxItem) any { return i.Text }, cut: 60},
		{head: "EXPIRES", show: func(i *client.InboxItem) any {
			if i.ExpiresAt == nil {
				return ""
			}
			return due{i.ExpiresAt}
		}},
		{head: "TOOL", show: func(i *client.InboxItem) any { return i.Tool }, wide: true, cut: 20},
		{head: "OPTIONS", show: func(i *client.InboxItem) any { return inboxOptions(i) }, wide: true, cut: 40},
		{head: "EXECUTION", show: func(i *client.InboxItem) any { return i.ExecutionID }, wide: true},
	},
	filters: []filter{anyOf("source", core.InboxSources), {flag: "created-by", usage: "only what waits for work of this caller"}},
	foot:    inboxFoot,
	id:      func(i *client.InboxItem) string { return i.ID },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		filter := client.InboxFilter{CreatedBy: sel.text("created-by"), Page: sel.Page}
		for _, source := range sel.texts("source") {
			filter.Sources = append(filter.Sources, wire.InboxSource(source))
		}
		return api.ListInbox(ctx, filter)
	},
}

// inboxFrom says who asks, as people call it.
func inboxFrom(i *client.InboxItem) string {
	if i.Source == wire.InboxExecution {
		return i.Role
	}
	return i.Name
}

func inboxOptions(i *client.InboxItem) string {
	var ids []string
	for _, o := range i.Options {
		ids = append(ids, o.ID)
	}
	return strings.Join(ids, ", ")
}

// answerCommands say how each source is answered.
var answerCommands = map[wire.InboxSource]string{
	wire.InboxExecution: "wardroom question answer ID TEXT", wire.InboxThread: "wardroom thread answer ID OPTION",
	wire.InboxManagedAgent: "wardroom agent answer ID OPTION",
}

func inboxFoot(rows []client.InboxItem) string {
	var how []string
	for _, source := range core.InboxSources {
		for i := range rows {
			if rows[i].Source == source {
				how = append(how, answerCommands[source])
				break
			}
		}
	}
	if len(how) == 0 {
		return ""
	}
	return "answer one: " + strings.Join(how, "; ")
}
