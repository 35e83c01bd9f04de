package cmd

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) auditCommand() *cobra.Command {
	return c.nounGroup(auditRecords, &cobra.Command{
		Use: "audit", Short: "Who did what: list, export and verify audit records",
		Long: "List, export and verify audit records, and show how their sinks are.\n\n" +
			"With --config, list, export, verify and status work on the machine of the server: on its store while it does not\n" +
			"run, and while it does over its admin socket, or over REST with the key in the file admin.key unless another\n" +
			"credential is given.",
	}, c.auditList(), c.auditExport(), c.auditVerify(), c.auditStatus())
}

var auditRecords = &resource[wire.AuditRecord]{
	noun: "audit record", member: "records", prefix: core.PrefixAudit, empty: "no records", forward: true,
	columns: []column[wire.AuditRecord]{
		{head: "SEQ", show: func(r *wire.AuditRecord) any { return r.Sequence }},
		{head: "TIME", show: func(r *wire.AuditRecord) any { return r.Timestamp.Local().Format("2006-01-02 15:04:05") }},
		{head: "ACTION", show: func(r *wire.AuditRecord) any { return r.Action }},
		{head: "OUTCOME", show: func(r *wire.AuditRecord) any { return outcomeCell(r.Outcome) }},
		{head: "ACTOR", show: func(r *wire.AuditRecord) any { return r.Actor.ID }, cut: 30},
		{head: "FROM", show: func(r *wire.AuditRecord) any { return r.Actor.IP }},
		{head: "RESOURCE", show: func(r *wire.AuditRecord) any { return resourceText(r) }, cut: 50},
		{head: "CATEGORY", show: func(r *wire.AuditRecord) any { return r.Category }, wide: true},
		{head: "REQUEST", show: func(r *wire.AuditRecord) any { return r.Request.RequestID }, wide: true},
		{head: "DETAILS", show: func(r *wire.AuditRecord) any { return string(r.Details) }, wide: true},
	},
	filters: []filter{
		{flag: "since", usage: "only from then on: a time, or a duration back from now", kind: filterTime},
		{flag: "until", usage: "only before then: a time, or a duration back from now", kind: filterTime},
		{flag: "action", usage: "such as executions.create, or keys.* for all that begin so"},
		{flag: "actor", usage: "id of who did it"},
		{flag: "category", usage: "only of one category", words: wire.AuditCategories},
		{flag: "resource", usage: "a type such as patterns, or one thing of it such as patterns/classify"},
		{flag: "outcome", usage: "only of one outcome", words: wire.AuditOutcomes},
		{flag: "before", usage: "only records with a smaller number", kind: filterCount},
	},
	id: func(r *wire.AuditRecord) string { return r.EventID },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListAudit(ctx, auditFilter(sel))
	},
}

func auditFilter(sel selection) client.AuditFilter {
	since, _ := sel.values["since"].(time.Time)
	until, _ := sel.values["until"].(time.Time)
	before, _ := sel.values["before"].(uint64)
	return client.AuditFilter{
		Since: since, Until: until, Action: sel.text("action"), Actor: sel.text("actor"), Category: sel.text("category"),
		Resource: sel.text("resource"), Outcome: sel.text("outcome"), Before: before, Limit: sel.Limit, Cursor: sel.Cursor,
	}
}

func outcomeCell(outcome string) cell {
	switch outcome {
	case wire.AuditSuccess:
		return cell{outcome, styleGood}
	case wire.AuditFailure, wire.AuditDenied:
		return cell{outcome, styleBad}
	}
	return cell{outcome, stylePlain}
}

func resourceText(r *wire.AuditRecord) string {
	text := r.Resource.Type
	if r.Resource.ID != "" {
		text += "/" + r.Resource.ID
	}
	if r.Resource.Version != "" {
		text += "@" + r.Resource.Version
	}
	return text
}

func (c *cli) auditList() *cobra.Command {
	var flags authFlags
	cmd := auditRecords.lists(c, &cobra.Command{
		Use: "list", Short: "List audit records, newest first",
		Example: "  wardroom audit list --since 24h --action 'keys.*'\n  wardroom audit list --outcome denied --all -o json",
	})
	online := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.config == "" {
			return online(cmd, args)
		}
		sel, err := c.selection(cmd, auditRecords.filters, args)
		if err != nil {
			return err
		}
		return c.atStore(cmd, &flags, func(_ *config.Config, at store.Location) error {
			return c.deps.Audit(cmd.Context(), at, func(ctx context.Context, audit core.AuditService) error {
				return c.listOffline(ctx, audit, sel)
			})
		}, func() error { return online(cmd, args) })
	}
	flags.register(cmd)
	return cmd
}

// listOffline lists the records of a store.
func (c *cli) listOffline(ctx context.Context, audit core.AuditService, sel selection) error {
	f := auditFilter(sel)
	rows := []wire.AuditRecord{}
	for {
		page, err := audit.FindAudit(ctx, core.AuditFilter{
			Since: f.Since, Until: f.Until, Action: f.Action, Actor: f.Actor, Category: f.Category, Resource: f.Resource,
			Outcome: f.Outcome, Before: f.Before, Limit: f.Limit, Cursor: f.Cursor,
		})
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			rows = append(rows, *r)
		}
		if f.Cursor = page.NextCursor; !page.HasMore || !sel.all && len(rows) > 0 {
			return c.showValue(map[string]any{"records": rows, "hasMore": page.HasMore, "nextCursor": page.NextCursor}, func(s *screen) { auditRecords.draw(s, rows) })
		}
	}
}

func (c *cli) auditExport() *cobra.Command {
	var flags authFlags
	var since, until, format, file string
	cmd := &cobra.Command{
		Use: "export", Short: "Write audit records to stdout or a file, oldest first",
		Long: "Write audit records, oldest first. json is a record a line and csv a row, and both can be verified; cef is the Common\n" +
			"Event Format. Text that a spreadsheet would take for a formula begins with an apostrophe in csv.",
		Example: "  wardroom audit export --since 720h --format csv --file audit.csv",
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, to, err := c.exportTimes(cmd, since, until)
			if err != nil {
				return err
			}
			return c.toFile(file, func(w io.Writer) error {
				return c.export(cmd, &flags, from, to, format, w)
			})
		},
	}
	flags.register(cmd)
	f := cmd.Flags()
	f.StringVar(&since, "since", "", "only from then on: a time, or a duration back from now")
	f.StringVar(&until, "until", "", "only before then: a time, or a duration back from now")
	words := filter{flag: "format", words: wire.AuditFormats}
	f.StringVar(&format, "format", string(trail.FormatJSON), words.choice())
	f.StringVar(&file, "file", "", "write to this file, which appears once it is whole")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(wire.AuditFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *cli) exportTimes(cmd *cobra.Command, since, until string) (from, to time.Time, err error) {
	if from, err = timeFlag(cmd, "since", since, c.now()); err == nil {
		to, err = timeFlag(cmd, "until", until, c.now())
	}
	return from, to, err
}

// toFile has write write to stdout, or to a file that appears once it is whole, in place of one of that name.
func (c *cli) toFile(name string, write func(w io.Writer) error) error {
	if name == "" || name == "-" {
		return write(c.deps.Stdout)
	}
	if err := mayWrite(name, true); err != nil {
		return err
	}
	return writeWhole(name, write)
}

// export writes records to w, from the store of a server that does not run or over REST.
func (c *cli) export(cmd *cobra.Command, flags *authFlags, from, to time.Time, format string, w io.Writer) error {
	online := func() error {
		api, err := c.client()
		if err != nil {
			return err
		}
		body, err := api.ExportAudit(cmd.Context(), from, to, format)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, body)
		return errors.Join(err, body.Close())
	}
	if flags.config == "" {
		return online()
	}
	return c.atStore(cmd, flags, func(_ *config.Config, at store.Location) error {
		return c.deps.Audit(cmd.Context(), at, func(ctx context.Context, audit core.AuditService) error {
			return audit.ExportAudit(ctx, from, to, format, w)
		})
	}, online)
}

func (c *cli) auditVerify() *cobra.Command {
	var flags authFlags
	var keys []string
	whole := false
	cmd := &cobra.Command{
		Use: "verify [FILE...]", Short: "Check that no audit record was changed, removed or inserted; exits with 1 if one was",
		Long: "Check the hashes and signatures of audit records, and name each record that was changed, removed, inserted or moved.\n" +
			"Without FILE the records of the server are read. FILEs are exports in json or csv, or what the plugin audit-file\n" +
			"wrote, also compressed; several are read as one trail, in the order given, and no server is needed.\n\n" +
			"Checkpoints are checked with the public key in the file audit.pub beside the store: keep a copy of it elsewhere, and\n" +
			"give it with --public-key. Without one, a trail that somebody made anew with a key of their own passes.",
		Example: "  wardroom audit verify --config /etc/wardroom/wardroom.yaml\n  wardroom audit verify --public-key audit.pub audit-*.log.gz audit.log",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			v := &trail.Verifier{Whole: whole || len(files) == 0}
			for _, name := range keys {
				key, err := readPublicKey(name)
				if err != nil {
					return err
				}
				v.Keys = append(v.Keys, key)
			}
			if err := c.verify(cmd, &flags, files, v); err != nil {
				return err
			}
			report := v.Report()
			if report.Findings == nil {
				report.Findings = []trail.Finding{}
			}
			if err := c.showValue(report, func(s *screen) { reportScreen(s, &report) }); err != nil {
				return err
			}
			if !report.OK {
				return &outcomeError{code: exitFailed}
			}
			return nil
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&whole, "whole", false, "FILEs are to begin with the first record, or behind what retention removed; without FILE they always are")
	cmd.Flags().StringSliceVar(&keys, "public-key", nil, "file with a public key that signs checkpoints, or the key itself; may be repeated")
	return cmd
}

// readPublicKey reads a key from a file, or from the text itself.
func readPublicKey(name string) (ed25519.PublicKey, error) {
	if key, err := trail.ParsePublicKey(name); err == nil {
		return key, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, &usageError{message: fmt.Sprintf("--public-key: %s", err)}
	}
	key, err := trail.ParsePublicKey(string(text))
	if err != nil {
		return nil, &usageError{message: fmt.Sprintf("--public-key: %s %s", name, err)}
	}
	return key, nil
}

// verify hands records to v: those of files, of the server, or of its store.
func (c *cli) verify(cmd *cobra.Command, flags *authFlags, files []string, v *trail.Verifier) error {
	for _, name := range files {
		if err := verifyFile(name, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(files) > 0 {
		return nil
	}
	online := func() error {
		api, err := c.client()
		if err != nil {
			return err
		}
		status, err := api.GetAuditStatus(cmd.Context())
		if err != nil {
			return err
		}
		if key, err := trail.ParsePublicKey(status.PublicKey); err == nil && len(v.Keys) == 0 {
			v.Keys = []ed25519.PublicKey{key}
		}
		body, err := api.ExportAudit(cmd.Context(), time.Time{}, time.Time{}, string(trail.FormatJSON))
		if err != nil {
			return err
		}
		return errors.Join(trail.VerifyFile(body, v), body.Close())
	}
	if flags.config == "" {
		return online()
	}
	return c.atStore(cmd, flags, func(_ *config.Config, at store.Location) error {
		return c.deps.Audit(cmd.Context(), at, func(ctx context.Context, audit core.AuditService) error {
			status, err := audit.AuditStatus(ctx)
			if err != nil {
				return err
			}
			if key, err := trail.ParsePublicKey(status.PublicKey); err == nil && len(v.Keys) == 0 {
				v.Keys = []ed25519.PublicKey{key}
			}
			from, to := io.Pipe()
			done := make(chan error, 1)
			go func() {
				done <- to.CloseWithError(audit.ExportAudit(ctx, time.Time{}, time.Time{}, string(trail.FormatJSON), to))
			}()
			err = trail.VerifyFile(from, v)
			return errors.Join(err, from.Close(), <-done)
		})
	}, online)
}

// verifyFile hands the records of a file to v.
func verifyFile(name string, v *trail.Verifier) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	v.Begin(name)
	v.Growing = func() bool { return growing(f) }
	if !strings.HasSuffix(name, ".gz") {
		return trail.VerifyFile(f, v)
	}
	v.Growing = nil
	in, err := gzip.NewReader(f)
	if err == nil {
		err = trail.VerifyFile(in, v)
	}
	// A file that was cut off or changed is a finding as any other, beside those of what can be read of it.
	var corrupt flate.CorruptInputError
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		v.Unreadable("the compressed file is damaged or cut off here: " + err.Error())
		return nil
	}
	return err
}

// growing reports whether a file that was read to its end is being written: a sink holds its lock, or it is longer by now.
func growing(f *os.File) bool {
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return true
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // the sink may come
	at, err := f.Seek(0, io.SeekCurrent)
	info, statErr := f.Stat()
	return err == nil && statErr == nil && info.Size() > at
}

func reportScreen(s *screen, r *trail.Report) {
	word := cell{"sound", styleGood}
	if !r.OK {
		word = cell{"not sound", styleBad}
	}
	signed := fmt.Sprintf("up to record %d, by %d checkpoints", r.Signed, r.Checkpoints)
	switch {
	case r.Checkpoints == 0:
		signed = "nothing: there is no checkpoint"
	case !r.KeysGiven:
		signed += ", with the key " + r.SelfSigned + " that they name themselves; give --public-key"
	}
	s.fields("trail", word, "records", r.Records, "from", r.First, "to", r.Last, "hash", r.Hash, "signed", signed)
	if r.Trimmed > 0 {
		s.fields("retention", fmt.Sprintf("removed those up to record %d", r.Trimmed))
	}
	if r.Redacted > 0 {
		s.fields("redacted", fmt.Sprintf("%d, by erasures, each signed", r.Redacted))
	}
	if r.Duplicates > 0 {
		s.fields("duplicates", fmt.Sprintf("%d, which are harmless", r.Duplicates))
	}
	if f := r.Unfinished; f != nil {
		s.fields("unfinished", fmt.Sprintf("%sline %d, which is being written: no damage", ofFile(f.File), f.Line))
	}
	for _, f := range r.Findings {
		s.line("%sline %d: %s: %s", ofFile(f.File), f.Line, f.Kind, clean(f.Text))
	}
	if r.More > 0 {
		s.line("and %d more", r.More)
	}
}

// ofFile names a file in front of a line of it.
func ofFile(file string) string {
	if file == "" {
		return ""
	}
	return clean(file) + ": "
}

func (c *cli) auditStatus() *cobra.Command {
	var flags authFlags
	cmd := &cobra.Command{
		Use: "status", Short: "Show how the audit trail and its sinks are",
		RunE: func(cmd *cobra.Command, _ []string) error {
			online := func() error {
				return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.AuditStatus, error) {
					return api.GetAuditStatus(ctx)
				}, func(s *screen, st *client.AuditStatus) { auditScreen(s, &st.AuditStatus) })
			}
			if flags.config == "" {
				return online()
			}
			return c.atStore(cmd, &flags, func(_ *config.Config, at store.Location) error {
				return c.deps.Audit(cmd.Context(), at, func(ctx context.Context, audit core.AuditService) error {
					st, err := audit.AuditStatus(ctx)
					if err != nil {
						return err
					}
					return c.showValue(st, func(s *screen) { auditScreen(s, st) })
				})
			}, online)
		},
	}
	flags.register(cmd)
	return cmd
}

func auditScreen(s *screen, st *wire.AuditStatus) {
	s.fields("enabled", st.Enabled, "mode", st.Mode, "level", st.Level, "events", strings.Join(st.Events, ","), "records", fmt.Sprintf("%d to %d", st.First, st.Last),
		"bytes", st.Bytes, "lost", st.Lost, "hash", st.Hash, "signed by", st.KeyID, "public key", st.PublicKey)
	if len(st.Sinks) == 0 {
		return
	}
	var cells [][]cell
	for _, k := range st.Sinks {
		cells = append(cells, []cell{
			s.cell(k.Name), s.cell(sinkCell(k.State)), s.cell(k.Cursor), s.cell(k.Behind),
			s.cell((time.Duration(k.BehindSeconds) * time.Second).String()), s.cell(k.Rejected), s.cell(k.Error),
		})
	}
	s.grid([]string{"SINK", "STATE", "CURSOR", "BEHIND", "FOR", "REJECTED", "ERROR"}, make([]int, 7), cells)
}

func sinkCell(state string) cell {
	if state == "ok" {
		return cell{state, styleGood}
	}
	return cell{state, styleBad}
}
