package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) webhookCommand() *cobra.Command {
	return c.nounGroup(webhooks, &cobra.Command{
		Use: "webhook", Aliases: []string{"webhooks"}, Short: "Have events delivered to endpoints over HTTP",
	}, c.webhookCreate(), webhooks.lists(c, &cobra.Command{Use: "list", Short: "List endpoints, newest first"}), c.webhookGet(), c.webhookUpdate(), c.webhookDelete(), c.webhookTest(),
		c.webhookDeliveries(), c.webhookDelivery(), c.webhookRetry(), c.webhookListen())
}

var webhooks = &resource[client.Webhook]{
	noun: "webhook", member: "webhooks", prefix: core.PrefixWebhook, empty: "no webhooks; `wardroom webhook create` makes one",
	columns: []column[client.Webhook]{
		{head: "WEBHOOK", show: func(w *client.Webhook) any { return w.ID }},
		{head: "URL", show: func(w *client.Webhook) any { return w.URL }, cut: 60},
		{head: "EVENTS", show: func(w *client.Webhook) any { return strings.Join(w.Events, ",") }, cut: 40},
		{head: "STATE", show: func(w *client.Webhook) any { return webhookState(w) }, cut: 40},
		{head: "CREATED", show: func(w *client.Webhook) any { return moment(&w.CreatedAt) }, wide: true},
		{head: "AGE", show: func(w *client.Webhook) any { return w.CreatedAt }},
	},
	id:      func(w *client.Webhook) string { return w.ID },
	name:    func(w *client.Webhook) string { return w.URL },
	status:  func(w *client.Webhook) string { return webhookState(w).text },
	filters: []filter{byCreator},
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListWebhooks(ctx, client.WebhookFilter{CreatedBy: sel.text("created-by"), Page: sel.Page})
	},
}

// webhookState returns whether an endpoint gets events, or why it gets none.
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
	return shows(c, &cobra.Command{Use: "get ID", Aliases: []string{"show"}, Short: "Show an endpoint and how its deliveries went"},
		(*client.Client).GetWebhook, webhookScreen)
}

// secretMask is the text that the server shows in place of a secret.
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
		latency = span(client.MeanMillis(st.AverageLatency).Duration())
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
	return webhooks.deletes(c, &cobra.Command{
		Use:   "delete ID",
		Short: "Remove an endpoint; what waits for it is cancelled",
	}, (*client.Client).DeleteWebhook)
}
