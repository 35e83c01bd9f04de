package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkWord(cmd, ofEvent, event); err != nil {
				return err
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				test, err := api.TestWebhook(ctx, args[0], event)
				err = show(c, test, err, func(s *screen, test *client.WebhookTest) {
					s.fields("delivery", test.DeliveryID, "event", test.Event, "status", status(test.Status), "answered", countText(test.StatusCode),
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

var deliveries = &resource[client.Delivery]{
	noun: "delivery", member: "deliveries", prefix: core.PrefixDelivery, empty: "no deliveries",
	columns: []column[client.Delivery]{
		{head: "DELIVERY", show: func(d *client.Delivery) any { return d.ID }},
		{head: "EVENT", show: func(d *client.Delivery) any {
			if d.Test {
				return d.Event + " (test)"
			}
			return d.Event
		}, cut: 40},
		{head: "STATUS", show: func(d *client.Delivery) any { return status(d.Status) }},
		{head: "CODE", show: func(d *client.Delivery) any { return countText(d.StatusCode) }},
		{head: "TRIES", show: func(d *client.Delivery) any { return d.Attempts }},
		{head: "TRIED", show: func(d *client.Delivery) any { return moment(&d.Timestamp) }, wide: true},
		{head: "TOOK", show: func(d *client.Delivery) any { return span(d.Duration.Duration()) }, wide: true},
		{head: "AGE", show: func(d *client.Delivery) any { return d.CreatedAt }},
		{head: "NEXT", show: func(d *client.Delivery) any {
			if d.Status != client.DeliveryPending {
				return ""
			}
			return due{d.NextAt}
		}},
		{head: "ERROR", show: func(d *client.Delivery) any { return d.LastError }, cut: 60},
	},
	filters: []filter{oneOf("status", core.DeliveryStatuses), ofEvent},
	id:      func(d *client.Delivery) string { return d.ID },
	status:  func(d *client.Delivery) string { return d.Event + " " + string(d.Status) },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListDeliveries(ctx, client.DeliveryFilter{
			WebhookID: sel.args[0], Status: sel.text("status"), Event: sel.text("event"), Page: sel.Page,
		})
	},
}

// ofEvent selects by the type of the event.
var ofEvent = func() filter {
	f := oneOf("event", core.PublicEvents)
	f.usage = "only of this type"
	return f
}()

func (c *cli) webhookDelivery() *cobra.Command {
	return &cobra.Command{
		Use: "delivery ID DELIVERY", Short: "Show a delivery with what is sent and each of its attempts",
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.DeliveryDetail, error) {
				return api.GetDelivery(ctx, args[0], args[1])
			}, deliveryScreen)
		},
	}
}

func deliveryScreen(s *screen, d *client.DeliveryDetail) {
	s.fields("delivery", d.ID, "event", d.Event, "event id", d.EventID, "subject", d.Subject, "status", status(d.Status), "created", moment(&d.CreatedAt),
		"next", moment(d.NextAt), "last answer", shorten(clean(strings.TrimSpace(d.ResponseBody)), 200))
	if len(d.AttemptLog) > 0 {
		s.line("")
		var rows [][]cell
		for i := range d.AttemptLog {
			a := &d.AttemptLog[i]
			rows = append(rows, plain(moment(&a.At), countText(a.StatusCode), span(time.Duration(a.DurationMs)*time.Millisecond), shorten(clean(a.Error), 80)))
		}
		s.table([]string{"TRIED", "CODE", "TOOK", "ERROR"}, rows)
	}
	s.line("")
	if d.Request == nil {
		s.line("what was sent is not stored any more")
		return
	}
	s.line("POST %s", clean(d.Request.URL))
	for _, name := range slices.Sorted(maps.Keys(d.Request.Headers)) {
		s.line("%s: %s", clean(name), clean(d.Request.Headers[name]))
	}
	s.line("")
	s.line("%s", pretty(d.Request.Body))
}

func (c *cli) webhookDeliveries() *cobra.Command {
	return deliveries.lists(c, &cobra.Command{
		Use: "deliveries ID", Aliases: []string{"log"}, Short: "List deliveries to an endpoint, newest first",
	})
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
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.DeliveryRetry, error) {
				return api.RetryDelivery(ctx, args[0], args[1], flags.key)
			}, func(s *screen, retry *client.DeliveryRetry) {
				s.line("delivery %s is due; see it with `wardroom webhook deliveries %s`", clean(retry.DeliveryID), clean(retry.WebhookID))
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
	if err := checkWord(cmd, ofEvent, flags.which.Event); err != nil {
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
	return c.showValue(struct {
		WebhookID string `json:"webhookId"`
		Count     int    `json:"count"`
		DryRun    bool   `json:"dryRun"`
	}{id, total, which.DryRun}, func(s *screen) {
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
