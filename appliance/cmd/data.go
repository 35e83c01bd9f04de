package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) dataCommand() *cobra.Command {
	return c.nounGroup(erasures, &cobra.Command{
		Use: "data", Short: "Export and erase what is stored of a subject",
		Long: "Export and erase what is stored of a subject: of whoever made executions, batches, schedules, triggers and agents,\n" +
			"and of whom the metadata key subject of executions and batches names.",
	}, c.dataExport(), c.dataErase(), erasures.lists(c, &cobra.Command{Use: "erasures", Short: "List erasures, newest first"}), c.dataErasure())
}

var erasures = &resource[client.Erasure]{
	noun: "erasure", member: "erasures", prefix: core.PrefixErasure, empty: "no erasures",
	columns: []column[client.Erasure]{
		{head: "ERASURE", show: func(e *client.Erasure) any { return e.ID }},
		{head: "STATUS", show: func(e *client.Erasure) any { return erasureState(&e.Erasure) }},
		{head: "PSEUDONYM", show: func(e *client.Erasure) any { return e.Pseudonym }},
		{head: "DONE", show: func(e *client.Erasure) any { return countsText(e.Done) }, cut: 60},
		{head: "BY", show: func(e *client.Erasure) any { return e.RequestedBy }, wide: true},
		{head: "AGE", show: func(e *client.Erasure) any { return e.CreatedAt }},
	},
	filters: []filter{{flag: "created-by", usage: "only those that this caller asked for"}},
	id:      func(e *client.Erasure) string { return e.ID },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListErasures(ctx, sel.text("created-by"), sel.Page)
	},
}

func erasureState(e *wire.Erasure) cell {
	switch {
	case e.Status == wire.ErasureCompleted:
		return cell{string(e.Status), styleGood}
	case e.Waiting != "":
		return cell{"waiting: " + e.Step, styleBad}
	}
	return cell{spaced(string(e.Status), e.Step), styleBusy}
}

func countsText(counts wire.DataCounts) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(parts, ", ")
}

func erasureScreen(s *screen, e *wire.Erasure) {
	if e.ID != "" {
		s.fields("erasure", e.ID, "status", erasureState(e), "pseudonym", e.Pseudonym)
	}
	if e.Waiting != "" {
		s.fields("waits for", e.Waiting)
	}
	kinds := map[string]bool{}
	for _, counts := range []wire.DataCounts{e.Planned, e.Done} {
		for kind := range counts {
			kinds[kind] = true
		}
	}
	var cells [][]cell
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row := []cell{s.cell(kind), s.cell(e.Planned[kind]), s.cell(e.Active[kind])}
		if e.ID != "" {
			row = append(row, s.cell(e.Done[kind]))
		}
		cells = append(cells, row)
	}
	heads := []string{"KIND", "FOUND", "ACTIVE"}
	if e.ID != "" {
		heads = append(heads, "ERASED")
	}
	if len(cells) == 0 {
		s.line("nothing is stored of the subject")
	} else {
		s.grid(heads, make([]int, len(heads)), cells)
	}
	if len(e.Unreadable) > 0 {
		s.line("Cannot be read, and stays as it is (wardroom store check): %s", countsText(e.Unreadable))
	}
	if len(e.Remaining) > 0 {
		s.line("What stays:")
	}
	for _, r := range e.Remaining {
		n := ""
		if r.Count > 0 {
			n = fmt.Sprintf(" (%d)", r.Count)
		}
		s.line("  %s%s: %s", clean(r.Kind), n, clean(r.Note))
	}
}

func (c *cli) dataExport() *cobra.Command {
	var subject, file string
	cmd := &cobra.Command{
		Use: "export --subject S", Short: "Write what is stored of a subject to stdout or a file, a thing a line",
		Long: "Write what is stored of a subject, a JSON object {kind, id, data} a line. The last line has the kind end; without it\n" +
			"the export broke off, and the exit code is 1.",
		Example: "  wardroom data export --subject ann --file ann.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			return c.toFile(file, func(w io.Writer) error {
				body, err := api.ExportData(cmd.Context(), subject)
				if err != nil {
					return err
				}
				tail := new(tailWriter)
				_, err = io.Copy(io.MultiWriter(w, tail), body)
				if err = errors.Join(err, body.Close()); err == nil && !bytes.HasPrefix(tail.line(), []byte(`{"kind":"end"`)) {
					err = errors.New("the export broke off: its last line is missing")
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&subject, "subject", "", "id of who made the data, or value of the metadata key subject")
	cmd.Flags().StringVar(&file, "file", "", "write to this file, which appears once it is whole")
	_ = cmd.MarkFlagRequired("subject")
	return cmd
}

// tailWriter keeps the end of what is written.
type tailWriter struct{ end []byte }

// Write implements io.Writer.
func (t *tailWriter) Write(p []byte) (int, error) {
	const most = 256
	t.end = append(t.end, p[max(0, len(p)-most):]...)
	t.end = t.end[max(0, len(t.end)-most):]
	return len(p), nil
}

// line returns the last line.
func (t *tailWriter) line() []byte {
	whole := bytes.TrimSuffix(t.end, []byte("\n"))
	return whole[bytes.LastIndexByte(whole, '\n')+1:]
}

func (c *cli) dataErase() *cobra.Command {
	var req client.ErasureRequest
	var detach bool
	cmd := &cobra.Command{
		Use: "erase --subject S", Short: "Erase what is stored of a subject",
		Long: "Erase what is stored of a subject, for good: executions with all that belongs to them, batches, schedules, triggers,\n" +
			"agents, sessions, and what refers to them. In audit records and in what others made, a random pseudonym takes the\n" +
			"place of the subject; `wardroom audit verify` still passes. --dry-run tells what there is, and what stays.\n\n" +
			"Asks for the subject once more, unless --confirm gives it. The server goes on by itself if the command is\n" +
			"interrupted, and after a restart; the same command follows it again.",
		Example: "  wardroom data erase --subject ann --dry-run\n  wardroom data erase --subject ann --confirm ann --cancel",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error { return c.erase(ctx, api, req, detach) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Subject, "subject", "", "id of who made the data, or value of the metadata key subject")
	f.BoolVar(&req.DryRun, "dry-run", false, "only tell what there is")
	f.StringVar(&req.Confirm, "confirm", "", "the subject once more: do not ask")
	f.BoolVar(&req.Cancel, "cancel", false, "cancel what runs of the subject, which refuses the erasure otherwise")
	f.BoolVar(&detach, "detach", false, "do not wait for the end")
	_ = cmd.MarkFlagRequired("subject")
	return cmd
}

func (c *cli) erase(ctx context.Context, api *client.Client, req client.ErasureRequest, detach bool) error {
	if req.DryRun || req.Confirm == "" {
		plan := req
		plan.DryRun = true
		found, err := api.EraseData(ctx, plan)
		if err != nil {
			return err
		}
		if req.DryRun {
			return c.show(found.Body, func(s *screen) { erasureScreen(s, &found.Erasure) })
		}
		if req.Confirm, err = c.confirmErase(&found.Erasure); err != nil {
			return err
		}
	}
	e, err := api.EraseData(ctx, req)
	if err != nil {
		return err
	}
	if !detach {
		if e, err = c.followErasure(ctx, api, e); err != nil {
			return err
		}
	}
	return c.show(e.Body, func(s *screen) { erasureScreen(s, &e.Erasure) })
}

// confirmErase shows what is about to go and asks for the subject.
func (c *cli) confirmErase(plan *wire.Erasure) (string, error) {
	s := &screen{paint: c.painter(c.deps.Stderr)}
	erasureScreen(s, plan)
	s.line("Erase all of this for good? Type the subject to confirm:")
	if _, err := s.WriteTo(c.deps.Stderr); err != nil {
		return "", err
	}
	line, err := c.stdinLine()
	if err != nil {
		return "", err
	}
	if line = strings.TrimSpace(line); line == "" {
		return "", &outcomeError{code: exitFailed, message: "nothing was erased", hint: "--confirm gives the subject without asking"}
	}
	return line, nil
}

// followErasure shows how an erasure goes on, until it is over.
func (c *cli) followErasure(ctx context.Context, api *client.Client, e *client.Erasure) (*client.Erasure, error) {
	last := ""
	for e.Status != wire.ErasureCompleted {
		text := clean(e.ID) + ": " + clean(e.Step)
		if len(e.Done) > 0 {
			text += ": " + countsText(e.Done)
		}
		if e.Waiting != "" {
			text += " (waits: " + clean(e.Waiting) + ")"
		}
		if text != last {
			last = text
			fmt.Fprintln(c.deps.Stderr, text)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
		var err error
		if e, err = api.GetErasure(ctx, e.ID); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (c *cli) dataErasure() *cobra.Command {
	return shows(c, &cobra.Command{Use: "erasure ID", Short: "Show an erasure, with how far it is"}, (*client.Client).GetErasure,
		func(s *screen, e *client.Erasure) { erasureScreen(s, &e.Erasure) })
}
