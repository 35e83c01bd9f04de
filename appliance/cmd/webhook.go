package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) webhookCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "webhook", Aliases: []string{"webhooks"}, Short: "Have events delivered to endpoints over HTTP",
	})
	cmd.AddCommand(c.webhookCreate(), c.webhookList(), c.webhookGet(), c.webhookUpdate(), c.webhookDelete(), c.webhookTest(),
		c.webhookDeliveries(), c.webhookRetry(), c.webhookListen())
	return cmd
}

func (c *cli) webhookList() *cobra.Command {
	var flags pageFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List endpoints, newest first",
		Args:  wants(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
					list, err := api.ListWebhooks(ctx, page)
					if err != nil {
						return client.Meta{}, client.PageInfo{}, err
					}
					return list.Meta, list.PageInfo, nil
				}
				return showList(ctx, c, flags, "webhooks", read, webhookTable)
			})
		},
	}
	flags.register(cmd)
	return cmd
}

func webhookTable(s *screen, rows []client.Webhook) {
	if len(rows) == 0 {
		s.line("no webhooks; `wardroom webhook create` makes one")
		return
	}
	var cells [][]cell
	for i := range rows {
		w := &rows[i]
		cells = append(cells, []cell{
			{text: w.ID}, {text: shorten(clean(w.URL), 60)}, {text: shorten(clean(strings.Join(w.Events, ",")), 40)},
			webhookState(w), {text: moment(&w.CreatedAt)},
		})
	}
	s.table([]string{"WEBHOOK", "URL", "EVENTS", "STATE", "CREATED"}, cells)
}

// webhookState says whether an endpoint gets events, and why not.
func webhookState(w *client.Webhook) cell {
	switch {
	case w.Enabled:
		return cell{"enabled", styleGood}
	case w.DisabledReason != "":
		return cell{"disabled (" + w.DisabledReason + ")", styleBad}
	}
	return cell{"disabled", styleFaint}
}

func (c *cli) webhookGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get ID",
		Aliases: []string{"show"},
		Short:   "Show an endpoint and how its deliveries went",
		Args:    wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				w, err := api.GetWebhook(ctx, args[0])
				if err != nil {
					return err
				}
				return c.show(w.Body, func(s *screen) { webhookScreen(s, w) })
			})
		},
	}
}

// secretMask is what the server shows in place of a secret.
const secretMask = "whsec_***"

func webhookScreen(s *screen, w *client.Webhook) {
	declared := ""
	if w.Declared {
		declared = "in the server's configuration"
	}
	ordered := ""
	if w.Ordered {
		ordered = "events of one execution in their order"
	}
	deliveries, latency := "", ""
	if st := w.Statistics; st != nil {
		deliveries = fmt.Sprintf("%d succeeded, %d failed, %d waiting", st.Succeeded, st.Failed, st.Pending)
		latency = span(client.Millis(st.AverageLatency).Duration())
	}
	s.fields("webhook", w.ID, "url", w.URL, "events", strings.Join(w.Events, ", "), "state", webhookState(w), "disabled", moment(w.DisabledAt),
		"declared", declared, "patterns", strings.Join(w.Filters.Pattern, ", "), "metadata", pairsText(w.Filters.Metadata),
		"headers", pairsText(w.Headers), "retries", fmt.Sprint(w.Retries), "attempt timeout", span(w.Timeout.Duration()), "order", ordered,
		"secret", w.Secret, "former secret until", moment(w.SecretRotatesAt), "created", moment(&w.CreatedAt), "created by", w.CreatedBy,
		"deliveries", deliveries, "average latency", latency)
	if w.Secret != "" && w.Secret != secretMask {
		s.line("")
		s.line("the secret is not shown again; receivers verify deliveries with it")
	}
}

// pairsText renders a map as k=v, sorted.
func pairsText(pairs map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		list = append(list, key+"="+pairs[key])
	}
	return strings.Join(list, ", ")
}

func (c *cli) webhookDelete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID",
		Short: "Remove an endpoint; what waits for it is cancelled",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				if err := api.DeleteWebhook(ctx, args[0]); err != nil {
					return err
				}
				body, err := json.Marshal(map[string]any{"id": args[0], "deleted": true})
				if err != nil {
					return err
				}
				return c.show(body, func(s *screen) { s.line("webhook %s deleted", clean(args[0])) })
			})
		},
	}
}
