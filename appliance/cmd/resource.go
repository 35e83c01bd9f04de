package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// resource describes one noun of the API: how its rows are listed, selected, shown and told apart. The list command, all
// formats of its output, the completion of ids and the look-up of names are made from it.
type resource[T any] struct {
	noun    string // in messages, such as "managed agent"
	member  string // of the answer to a list that holds the rows
	prefix  string // of its ids; empty for what people name themselves
	columns []column[T]
	filters []filter
	empty   string              // shown in place of a list without rows
	foot    func([]T) string    // shown below the rows; may be nil
	unpaged bool                // the answer always has all rows
	forward bool                // pages have cursors only
	id      func(row *T) string // what commands take
	name    func(row *T) string // what people call it; nil if it has no name of its own
	status  func(row *T) string // nil if it has none
	over    func(row *T) bool   // yields to rows of the same name that are not; nil if none does
	fetch   func(ctx context.Context, api *client.Client, sel selection) (answered, error)
}

// column is one column of a list.
type column[T any] struct {
	head string
	show func(row *T) any // a text, a number, a cell, a time (shown as its age), or what is due
	cut  int              // columns of the terminal at most, and fewer where it is narrow; 0 for all that it takes
	wide bool             // with -o wide only
}

// answered is an answer of the API.
type answered interface{ Raw() json.RawMessage }

// view holds what a command shows: an answer as it came, a function that draws it for people, and the ids in it.
type view struct {
	body json.RawMessage
	draw func(s *screen)
	ids  []string
}

// lists makes cmd the command that lists r.
func (r *resource[T]) lists(c *cli, cmd *cobra.Command) *cobra.Command {
	c.lists[r.noun] = cmd
	registerFilters(cmd, r.filters)
	registerListing(cmd, !r.unpaged)
	if !r.unpaged && !r.forward {
		registerOffset(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.list(c, cmd, args) }
	return cmd
}

// list carries out a command that lists r.
func (r *resource[T]) list(c *cli, cmd *cobra.Command, args []string) error {
	sel, err := c.selection(cmd, r.filters, args)
	if err != nil {
		return err
	}
	look := func(ctx context.Context, api *client.Client) (view, error) { return r.view(ctx, api, sel) }
	if isSet(cmd, "watch") {
		return c.refresh(cmd, watchInterval, look)
	}
	return c.once(cmd, look)
}

// view reads what sel selects: a page, or every page as one document. Rows are handed on as they came, so that scripts
// see the same whichever way they read the list.
func (r *resource[T]) view(ctx context.Context, api *client.Client, sel selection) (view, error) {
	body, info, err := r.page(ctx, api, sel)
	if err == nil && sel.all {
		body, err = r.rest(ctx, api, sel, body, info)
		info = client.PageInfo{}
	}
	if err != nil {
		return view{}, err
	}
	rows, err := members[T](body, r.member)
	if err != nil {
		return view{}, err
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = r.id(&rows[i])
	}
	return view{body, func(s *screen) {
		r.draw(s, rows)
		switch {
		case info.HasMore && info.Total == 0: // they were not counted
			s.line("there are more; --all shows them")
		case info.HasMore:
			total := fmt.Sprint(info.Total)
			if info.AtLeast {
				total = "at least " + total
			}
			s.line("%d of %s; --all shows the rest", len(rows), total)
		}
	}, ids}, nil
}

// page reads one page.
func (r *resource[T]) page(ctx context.Context, api *client.Client, sel selection) (json.RawMessage, client.PageInfo, error) {
	var info client.PageInfo
	if sel.all {
		sel.Limit = allLimit
	}
	answer, err := r.fetch(ctx, api, sel)
	if err != nil {
		return nil, info, err
	}
	if err := json.Unmarshal(answer.Raw(), &info); err != nil {
		return nil, info, fmt.Errorf("the server's list is not what it should be: %w", err)
	}
	return answer.Raw(), info, nil
}

// maxList bounds the rows of all pages in bytes, with what a row and a page take beside their text: they are kept in memory, several
// times over while they are printed.
const (
	maxList   = 128 << 20
	rowBytes  = 64
	pageBytes = 1 << 10
)

// rest reads all pages after the first one, and joins them.
func (r *resource[T]) rest(
	ctx context.Context, api *client.Client, sel selection, body json.RawMessage, info client.PageInfo,
) (json.RawMessage, error) {
	merged := []json.RawMessage{}
	// A cursor is compared with one from before, which is replaced after twice as many pages each time: so a circle of any length
	// is found.
	mark, pages, most := "", 0, 1
	for size := 0; ; {
		rows, err := members[json.RawMessage](body, r.member)
		if err != nil {
			return nil, err
		}
		size += pageBytes
		for _, row := range rows {
			size += rowBytes + len(row)
		}
		if size > sel.most {
			return nil, &usageError{
				message: fmt.Sprintf("the list takes more than %d bytes", sel.most), hint: "select less of it, or read it page by page with --cursor",
			}
		}
		merged = append(merged, rows...)
		if !info.HasMore || len(rows) == 0 && info.NextCursor == "" { // a page may be empty, and more follow
			return document(map[string]any{r.member: merged, "total": len(merged)})
		}
		if next := info.NextCursor; next != "" && (next == sel.Cursor || next == mark) {
			return nil, fmt.Errorf("the server's list does not go on: the cursor %q comes again", next)
		}
		if pages++; pages == most {
			mark, pages, most = info.NextCursor, 0, 2*most
		}
		sel.Cursor = info.NextCursor
		sel.Offset += len(rows) // for a server without cursors; a cursor wins
		if body, info, err = r.page(ctx, api, sel); err != nil {
			return nil, err
		}
	}
}

// draw shows rows to a person.
func (r *resource[T]) draw(s *screen, rows []T) {
	if len(rows) == 0 {
		s.line("%s", r.empty)
		return
	}
	var shown []column[T]
	var head []string
	var cuts []int
	for _, col := range r.columns {
		if !col.wide || s.wide {
			shown, head, cuts = append(shown, col), append(head, col.head), append(cuts, col.cut)
		}
	}
	cells := make([][]cell, len(rows))
	for i := range rows {
		for _, col := range shown {
			cells[i] = append(cells[i], s.cell(col.show(&rows[i])))
		}
	}
	s.grid(head, cuts, cells)
	if r.foot != nil {
		if text := r.foot(rows); text != "" {
			s.line("%s", text)
		}
	}
}

// members takes the rows out of a list's answer.
func members[T any](body json.RawMessage, name string) ([]T, error) {
	var all map[string]json.RawMessage
	var rows []T
	err := json.Unmarshal(body, &all)
	if err == nil && all[name] != nil {
		err = json.Unmarshal(all[name], &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("the server's list is not what it should be: %w", err)
	}
	return rows, nil
}

// ask asks the server one thing, and shows the answer.
func ask[A answered](
	c *cli, cmd *cobra.Command, question func(ctx context.Context, api *client.Client) (A, error), draw func(s *screen, answer A),
) error {
	return c.call(cmd, func(ctx context.Context, api *client.Client) error {
		answer, err := question(ctx, api)
		return show(c, answer, err, draw)
	})
}

// shows makes cmd one that asks the server one thing about what its first argument names, and shows the answer.
func shows[A answered](
	c *cli, cmd *cobra.Command, find func(api *client.Client, ctx context.Context, id string) (A, error), draw func(s *screen, answer A),
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return ask(c, cmd, func(ctx context.Context, api *client.Client) (A, error) { return find(api, ctx, args[0]) }, draw)
	}
	return cmd
}

// deletes makes cmd the command that removes the one of r whose id it takes.
func (r *resource[T]) deletes(c *cli, cmd *cobra.Command, end func(api *client.Client, ctx context.Context, id string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.call(cmd, func(ctx context.Context, api *client.Client) error {
			if err := end(api, ctx, args[0]); err != nil {
				return err
			}
			return c.showValue(map[string]any{"id": args[0], "deleted": true}, func(s *screen) { s.line("%s %s deleted", r.noun, clean(args[0])) })
		})
	}
	return cmd
}

// show prints an answer, unless err says that there is none.
func show[A answered](c *cli, answer A, err error, draw func(s *screen, answer A)) error {
	if err != nil {
		return err
	}
	return c.show(answer.Raw(), func(s *screen) { draw(s, answer) })
}

// show prints an answer: to people as draw has it, else the API's JSON as it came, or the same as YAML.
func (c *cli) show(body json.RawMessage, draw func(s *screen)) error {
	return c.print(view{body: body, draw: draw})
}

// showValue prints what a command made itself.
func (c *cli) showValue(value any, draw func(s *screen)) error {
	body, err := document(value)
	if err != nil {
		return err
	}
	return c.show(body, draw)
}

// showJSON prints a document that has no other look.
func (c *cli) showJSON(body json.RawMessage) error {
	if c.tables() {
		return c.printJSON(body)
	}
	return c.print(view{body: body})
}

// idMembers are the members of answers that hold the id of what they are about, the likeliest first.
var idMembers = []string{"id", "newExecutionId", "executionId", "batchId", "threadId", "deliveryId", "name"}

// print writes a view in the format of --output.
func (c *cli) print(v view) error {
	switch {
	case c.output == "json":
		return c.printJSON(v.body)
	case c.output == "yaml":
		return c.printYAML(v.body)
	case c.output == "name":
		if v.ids == nil {
			var all map[string]any
			_ = json.Unmarshal(v.body, &all) // what is no object has no id
			for _, name := range idMembers {
				if id, ok := all[name].(string); ok {
					v.ids = []string{id}
					break
				}
			}
			if v.ids == nil {
				return &usageError{message: "the answer has no id that -o name could print", hint: "print all of it with -o json"}
			}
		}
		var out strings.Builder
		for _, id := range v.ids {
			out.WriteString(clean(id) + "\n")
		}
		_, err := c.deps.Stdout.Write([]byte(out.String()))
		return err
	case c.path != nil:
		return c.printPath(v.body)
	}
	s := c.screen()
	v.draw(s)
	_, err := s.WriteTo(c.deps.Stdout)
	return err
}

// tables reports whether answers are shown to people.
func (c *cli) tables() bool { return c.output == "table" || c.output == "wide" }

// once shows what look returns.
func (c *cli) once(cmd *cobra.Command, look func(ctx context.Context, api *client.Client) (view, error)) error {
	return c.call(cmd, func(ctx context.Context, api *client.Client) error {
		v, err := look(ctx, api)
		if err != nil {
			return err
		}
		return c.print(v)
	})
}

// refresh shows what look returns again and again until Ctrl-C: drawn in place on a terminal, and whenever it changed
// anywhere else. A server that goes away meanwhile is waited for.
func (c *cli) refresh(
	cmd *cobra.Command, interval time.Duration, look func(ctx context.Context, api *client.Client) (view, error),
) error {
	ctx, inPlace := cmd.Context(), c.drawsInPlace(c.deps.Stdout)
	persist := c.persist
	for last := []byte(nil); ; persist = c.outlive {
		var v view
		err := persist(ctx, defaultWait, func() error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) (err error) {
				v, err = look(ctx, api)
				return err
			})
		})
		switch {
		case ctx.Err() != nil:
			return nil // Ctrl-C is how it ends
		case err != nil:
			return err
		case inPlace:
			s := c.screen()
			s.line("%s  every %s, Ctrl-C ends", c.now().Format("15:04:05"), interval)
			v.draw(s)
			_, err = io.WriteString(c.deps.Stdout, s.frame())
		case !bytes.Equal(v.body, last):
			last = slices.Clone(v.body)
			err = c.print(v)
		}
		if err != nil {
			return err
		}
		if pauseFor(ctx, interval) != nil {
			return nil //nolint:nilerr // Ctrl-C is how it ends
		}
	}
}
