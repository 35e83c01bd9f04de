package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// pageFlags are the flags of each list.
type pageFlags struct {
	page client.Page
	all  bool
}

func (p *pageFlags) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.page.Limit, "limit", 0, "rows of a page, 1 to 100 (default 20)")
	cmd.Flags().IntVar(&p.page.Offset, "offset", 0, "rows to skip")
	cmd.Flags().StringVar(&p.page.Cursor, "cursor", "", "nextCursor of the page before")
	cmd.Flags().BoolVar(&p.all, "all", false, "all rows, page by page")
	exclusive(cmd, "all", "limit")
	exclusive(cmd, "offset", "cursor")
}

// allLimit is the page size for reading a whole list: the largest the server gives.
const allLimit = 100

// fetch reads one page of a list.
type fetch func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error)

// showList prints one page of a list, or with --all every page as one document. name is the rows' member in
// the answer, table shows them to a person. Rows are handed on as they came, so that scripts see the same
// whichever way they read the list.
func showList[T any](
	ctx context.Context, c *cli, flags pageFlags, name string, read fetch, table func(s *screen, rows []T),
) error {
	if !flags.all {
		meta, info, err := read(ctx, flags.page)
		if err != nil {
			return err
		}
		return printList(c, meta.Body, name, info, table)
	}
	merged := []json.RawMessage{}
	page := client.Page{Limit: allLimit, Offset: flags.page.Offset, Cursor: flags.page.Cursor}
	for {
		meta, info, err := read(ctx, page)
		if err != nil {
			return err
		}
		rows, err := listRows[json.RawMessage](meta.Body, name)
		if err != nil {
			return err
		}
		merged = append(merged, rows...)
		if !info.HasMore || len(rows) == 0 {
			break
		}
		page.Cursor = info.NextCursor
		page.Offset += len(rows) // for a server without cursors; a cursor wins
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // rows stay as they came
	if err := encoder.Encode(map[string]any{name: merged, "total": len(merged)}); err != nil {
		return err
	}
	return printList(c, body.Bytes(), name, client.PageInfo{}, table)
}

func printList[T any](
	c *cli, body json.RawMessage, name string, info client.PageInfo, table func(s *screen, rows []T),
) error {
	rows, err := listRows[T](body, name)
	if err != nil {
		return err
	}
	return c.show(body, func(s *screen) {
		table(s, rows)
		if info.HasMore {
			s.line("%d of %d; --all shows the rest", len(rows), info.Total)
		}
	})
}

// listRows takes the rows out of a list's answer.
func listRows[T any](body json.RawMessage, name string) ([]T, error) {
	var members map[string]json.RawMessage
	var rows []T
	err := json.Unmarshal(body, &members)
	if err == nil && members[name] != nil {
		err = json.Unmarshal(members[name], &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("the server's list is not what it should be: %w", err)
	}
	return rows, nil
}
