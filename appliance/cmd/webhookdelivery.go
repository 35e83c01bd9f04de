package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) webhookTest() *cobra.Command {
	var event string
	cmd := &cobra.Command{
		Use:   "test ID",
		Short: "Have one made-up event delivered, and show what the endpoint answered",
		Long: "Have one made-up event delivered at once, signed, with data.test set to true; the endpoint may be disabled.\n" +
			"Exits with 1 when the endpoint does not take it.",
		Args: wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := webhookEventFlag(cmd, event); err != nil {
				return err
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				test, err := api.TestWebhook(ctx, args[0], event)
				if err != nil {
					return err
				}
				err = c.show(test.Body, func(s *screen) {
					s.fields("delivery", test.DeliveryID, "event", test.Event, "status", status(string(test.Status)), "answered", countText(test.StatusCode),
						"took", span(test.Duration.Duration()), "error", test.LastError, "body", shorten(clean(strings.TrimSpace(test.ResponseBody)), 200))
				})
				if err == nil && test.Status != client.DeliverySucceeded {
					err = &outcomeError{
						code: exitFailed, message: "the endpoint did not take the test event",
						hint: "run a receiver that shows what arrives with `wardroom webhook listen`",
					}
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&event, "event", string(core.EventSystemAlert), "type of the event")
	return cmd
}

// webhookEventFlag checks the value of --event; empty is none.
func webhookEventFlag(cmd *cobra.Command, value string) error {
	if value == "" {
		return nil
	}
	var known []string
	for _, e := range core.PublicEvents {
		known = append(known, string(e))
	}
	if !contains(known, value) {
		return usagef(cmd, "--event must be one of %s, not %q", strings.Join(known, ", "), value)
	}
	return nil
}

func (c *cli) webhookDeliveries() *cobra.Command {
	var filter client.DeliveryFilter
	var flags pageFlags
	cmd := &cobra.Command{
		Use:     "deliveries ID",
		Aliases: []string{"log"},
		Short:   "List deliveries to an endpoint, newest first",
		Args:    wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := webhookEventFlag(cmd, filter.Event); err != nil {
				return err
			}
			if err := deliveryStatusFlag(cmd, filter.Status); err != nil {
				return err
			}
			filter.WebhookID = args[0]
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
					filter.Page = page
					list, err := api.ListDeliveries(ctx, filter)
					if err != nil {
						return client.Meta{}, client.PageInfo{}, err
					}
					return list.Meta, list.PageInfo, nil
				}
				return showList(ctx, c, flags, "deliveries", read, deliveryTable)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Status, "status", "", "pending, succeeded, failed or cancelled")
	cmd.Flags().StringVar(&filter.Event, "event", "", "only of this type")
	flags.register(cmd)
	return cmd
}

func deliveryStatusFlag(cmd *cobra.Command, value string) error {
	if value == "" {
		return nil
	}
	for _, known := range core.DeliveryStatuses {
		if value == string(known) {
			return nil
		}
	}
	return usagef(cmd, "--status must be one of %v, not %q", core.DeliveryStatuses, value)
}

func deliveryTable(s *screen, rows []client.Delivery) {
	if len(rows) == 0 {
		s.line("no deliveries")
		return
	}
	var cells [][]cell
	for i := range rows {
		d := &rows[i]
		event, next := d.Event, ""
		if d.Test {
			event += " (test)"
		}
		if d.Status == client.DeliveryPending {
			next = moment(d.NextAt)
		}
		cells = append(cells, []cell{
			{text: d.ID}, {text: event}, status(string(d.Status)), {text: countText(d.StatusCode)}, {text: fmt.Sprint(d.Attempts)},
			{text: moment(&d.Timestamp)}, {text: span(d.Duration.Duration())}, {text: next}, {text: shorten(clean(d.LastError), 60)},
		})
	}
	s.table([]string{"DELIVERY", "EVENT", "STATUS", "CODE", "ATTEMPTS", "LAST ATTEMPT", "TOOK", "NEXT", "ERROR"}, cells)
}

// webhookRetryFlags are the flags of webhook retry.
type webhookRetryFlags struct {
	failed bool
	since  string
	which  client.DeliveriesRetry
	key    string
}

func (c *cli) webhookRetry() *cobra.Command {
	var flags webhookRetryFlags
	cmd := &cobra.Command{
		Use:   "retry ID [DELIVERY]",
		Short: "Deliver again what failed: one delivery, or all that failed",
		Long: "Deliver again what failed, now and with all attempts anew: DELIVERY, or with --failed all of the endpoint.\n" +
			"Receivers tell an event that they have already by its id.",
		Example: "  wardroom webhook retry wh_... dlv_...\n" +
			"  wardroom webhook retry wh_... --failed --since 24h --dry-run",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return wants("ID", "DELIVERY")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 2) == flags.failed {
				return usagef(cmd, "name a DELIVERY, or retry all that failed with --failed")
			}
			if flags.failed {
				return c.retryFailed(cmd, args[0], &flags)
			}
			if flags.since != "" || flags.which.Event != "" || flags.which.DryRun {
				return usagef(cmd, "--since, --event and --dry-run go with --failed")
			}
			if flags.key == "" {
				flags.key = client.NewIdempotencyKey()
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				retry, err := api.RetryDelivery(ctx, args[0], args[1], flags.key)
				if err != nil {
					return err
				}
				return c.show(retry.Body, func(s *screen) {
					s.line("delivery %s is due; see it with `wardroom webhook deliveries %s`", clean(retry.DeliveryID), clean(retry.WebhookID))
				})
			})
		},
	}
	cmd.Flags().BoolVar(&flags.failed, "failed", false, "all deliveries that failed")
	cmd.Flags().StringVar(&flags.since, "since", "", "with --failed: made after this time (RFC 3339), or from this long ago (90m, 24h)")
	cmd.Flags().StringVar(&flags.which.Event, "event", "", "with --failed: only of this type")
	cmd.Flags().BoolVar(&flags.which.DryRun, "dry-run", false, "with --failed: only count them")
	cmd.Flags().StringVar(&flags.key, "idempotency-key", "", "of one delivery: the same key retries it once only (default a fresh one)")
	exclusive(cmd, "failed", "idempotency-key")
	return cmd
}

// retryFailed retries everything that failed, request by request.
func (c *cli) retryFailed(cmd *cobra.Command, id string, flags *webhookRetryFlags) error {
	if err := webhookEventFlag(cmd, flags.which.Event); err != nil {
		return err
	}
	since, err := timeFlag(cmd, "since", flags.since, time.Now())
	if err != nil {
		return err
	}
	which, total := flags.which, 0
	which.Since = since
	for {
		var got *client.DeliveriesRetried
		err := c.call(cmd, func(ctx context.Context, api *client.Client) error {
			var err error
			got, err = api.RetryDeliveries(ctx, id, which)
			return err
		})
		if err != nil {
			if total > 0 {
				fmt.Fprintf(c.deps.Stderr, "%s due before this failure\n", deliveriesText(total))
			}
			return err
		}
		total += got.Count
		if which.Cursor = got.NextCursor; !got.HasMore || which.Cursor == "" {
			break
		}
	}
	body, err := json.Marshal(struct {
		WebhookID string `json:"webhookId"`
		Count     int    `json:"count"`
		DryRun    bool   `json:"dryRun"`
	}{id, total, which.DryRun})
	if err != nil {
		return err
	}
	return c.show(body, func(s *screen) {
		if which.DryRun {
			s.line("%s would be due", deliveriesText(total))
			return
		}
		s.line("%s due", deliveriesText(total))
	})
}

// deliveriesText counts deliveries.
func deliveriesText(n int) string {
	if n == 1 {
		return "1 delivery"
	}
	return fmt.Sprintf("%d deliveries", n)
}
