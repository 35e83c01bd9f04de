package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) batchCommand() *cobra.Command {
	return c.nounGroup(batches, &cobra.Command{Use: "batch", Aliases: []string{"batches"}, Short: "Run a pattern over many inputs"},
		batches.lists(c, &cobra.Command{Use: "list", Short: "List batches, newest first"}), c.batchRun(), c.batchGet(), c.batchWatch(), c.batchCancel())
}

var batches = &resource[client.BatchRow]{
	noun: "batch", member: "batches", prefix: core.PrefixBatch, empty: "no batches",
	columns: []column[client.BatchRow]{
		{head: "BATCH", show: func(b *client.BatchRow) any { return b.BatchID }},
		{head: "PATTERN", show: func(b *client.BatchRow) any { return b.Pattern.Name }, cut: 40},
		{head: "VERSION", show: func(b *client.BatchRow) any { return b.Pattern.Version }, wide: true},
		{head: "STATUS", show: func(b *client.BatchRow) any { return status(b.Status) }},
		{head: "ITEMS", show: func(b *client.BatchRow) any { return b.Total }},
		{head: "DONE", show: func(b *client.BatchRow) any { return b.Completed + b.Failed + b.Cancelled }},
		{head: "FAILED", show: func(b *client.BatchRow) any { return b.Failed }},
		{head: "CREATED BY", show: func(b *client.BatchRow) any { return b.CreatedBy }, wide: true, cut: 24},
		{head: "AGE", show: func(b *client.BatchRow) any { return b.CreatedAt }},
	},
	filters: []filter{
		oneOf("status", core.BatchStatuses),
		{flag: "pattern", usage: "only of this pattern"},
		byCreator,
	},
	id:     func(b *client.BatchRow) string { return b.BatchID },
	status: func(b *client.BatchRow) string { return b.Pattern.Name + " " + string(b.Status) },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListBatches(ctx, client.BatchFilter{
			Status: sel.text("status"), Pattern: sel.text("pattern"), CreatedBy: sel.text("created-by"), Page: sel.Page,
		})
	},
}

// batchFlags are the flags of `wardroom batch run`.
type batchFlags struct {
	pattern     string
	version     string
	format      string
	concurrency int
	stopOnError bool
	detach      bool
	itemTimeout time.Duration
	priority    string
	metadata    []string
	key         string
	watch       watchFlags
}

// watchFlags are the flags of commands that follow a batch.
type watchFlags struct {
	wait time.Duration
	rows int
}

func (w *watchFlags) register(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&w.wait, "wait", defaultWait, "how long to bear a server that went away meanwhile")
	cmd.Flags().IntVar(&w.rows, "rows", 20, "rows of the result table; 0 for none, -1 for all")
}

func (c *cli) batchRun() *cobra.Command {
	var flags batchFlags
	cmd := &cobra.Command{
		Use:   "run FILE --pattern NAME",
		Short: "Run a pattern over each item of a file and show the results",
		Long: "Run a pattern over each item of FILE (- reads stdin) and wait for the end, across restarts of the server.\n\n" +
			"FILE is a JSON array of objects, JSON lines, or CSV with a head. A CSV cell is text unless its column's\n" +
			"name says otherwise: amount:number, urgent:boolean, tags:json.\n\n" +
			"Exits with 1 when an item failed. Ctrl-C leaves the batch running.",
		Example: "  wardroom batch run tickets.jsonl --pattern triage --concurrency 10",
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := c.batchRequest(cmd, args[0], flags)
			if err != nil {
				return err
			}
			return c.runBatch(cmd.Context(), req, flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.pattern, "pattern", "", "name of the pattern (required)")
	f.StringVar(&flags.version, "version", "", "exact version or a range such as 1.x (default the latest)")
	f.StringVar(&flags.format, "format", "", "json, jsonl or csv (default by name and content)")
	f.IntVar(&flags.concurrency, "concurrency", 0, "items at once, 1 to 50 (default the server's, 5)")
	f.BoolVar(&flags.stopOnError, "stop-on-error", false, "the first failed item cancels the rest")
	f.BoolVar(&flags.detach, "detach", false, "start it and return")
	f.DurationVar(&flags.itemTimeout, "item-timeout", 0, "deadline of each item")
	f.StringVar(&flags.priority, "priority", "", "low, normal, high or critical")
	f.StringArrayVar(&flags.metadata, "metadata", nil, "key=value kept with each execution; may be repeated")
	f.StringVar(&flags.key, "idempotency-key", "", "the same key gives the same batch for 24 hours")
	flags.watch.register(cmd)
	return cmd
}

func (c *cli) batchRequest(cmd *cobra.Command, file string, flags batchFlags) (client.BatchRequest, error) {
	if flags.pattern == "" {
		return client.BatchRequest{}, usagef(cmd, "--pattern is missing")
	}
	if cmd.Flags().Changed("concurrency") && (flags.concurrency < 1 || flags.concurrency > 50) {
		return client.BatchRequest{}, usagef(cmd, "--concurrency must be 1 to 50, not %d", flags.concurrency)
	}
	options, err := executeOptions(cmd, flags.itemTimeout, flags.priority, flags.metadata)
	if err != nil {
		return client.BatchRequest{}, err
	}
	data, err := c.readFile(file)
	if err != nil {
		return client.BatchRequest{}, err
	}
	inputs, err := batchInputs(file, flags.format, data)
	if err != nil {
		return client.BatchRequest{}, err
	}
	key := flags.key
	if key == "" {
		key = client.NewIdempotencyKey()
	}
	return client.BatchRequest{
		Pattern: flags.pattern, Version: flags.version, Inputs: inputs, Concurrency: flags.concurrency,
		StopOnError: flags.stopOnError, Options: options, IdempotencyKey: key,
	}, nil
}

func (c *cli) runBatch(ctx context.Context, req client.BatchRequest, flags batchFlags) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	var batch *client.Batch
	err = c.persist(ctx, flags.watch.wait, func() (err error) {
		ctx, cancel := c.bounded(ctx)
		defer cancel()
		batch, err = api.StartBatch(ctx, req)
		return c.unanswered(ctx, api, err)
	})
	if err != nil {
		return err
	}
	if flags.detach {
		return c.show(batch.Body, func(s *screen) {
			s.line("batch %s %s, %s", clean(batch.BatchID), clean(batch.Status), count(batch.Total, "item"))
			s.line("follow it: wardroom batch watch %s", clean(batch.BatchID))
		})
	}
	return c.followBatch(ctx, api, batch.BatchID, true, flags.watch)
}

func (c *cli) batchGet() *cobra.Command {
	var rows int
	cmd := shows(c, &cobra.Command{Use: "get ID", Short: "Show a batch with its results so far"},
		(*client.Client).GetBatch, func(s *screen, batch *client.Batch) { batchScreen(s, batch, rows) })
	cmd.Flags().IntVar(&rows, "rows", 20, "rows of the result table; 0 for none, -1 for all")
	return cmd
}

func (c *cli) batchWatch() *cobra.Command {
	var flags watchFlags
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow a batch until it is over and show the results",
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			return c.followBatch(cmd.Context(), api, args[0], false, flags)
		},
	}
	flags.register(cmd)
	return cmd
}

func (c *cli) batchCancel() *cobra.Command {
	return shows(c, &cobra.Command{Use: "cancel ID", Short: "Cancel a batch: its running items, and those not yet started"},
		(*client.Client).CancelBatch, func(s *screen, batch *client.Batch) {
			s.line("batch %s %s", clean(batch.BatchID), clean(batch.Status))
		})
}

// batchScreen shows a batch; rows bounds its table, -1 for all.
func batchScreen(s *screen, b *client.Batch, rows int) {
	s.fields("batch", b.BatchID, "status", status(b.Status),
		"items", fmt.Sprintf("%d in all, %d completed, %d failed, %d cancelled", b.Total, b.Completed, b.Failed, b.Cancelled))
	if rows == 0 || len(b.Results) == 0 {
		return
	}
	shown := b.Results
	if rows > 0 && len(shown) > rows {
		shown = shown[:rows]
	}
	var cells [][]cell
	for _, r := range shown {
		outcome := compact(r.Result, 80)
		if r.Error != nil {
			outcome = shorten(r.Error.String(), 80)
		}
		cells = append(cells, []cell{{text: fmt.Sprint(r.Index)}, {text: r.ExecutionID}, status(r.Status), {text: outcome}})
	}
	s.line("")
	s.table([]string{"ITEM", "EXECUTION", "STATUS", "RESULT"}, cells)
	if rest := len(b.Results) - len(shown); rest > 0 {
		s.line("and %d more; --rows -1 shows all", rest)
	}
}
