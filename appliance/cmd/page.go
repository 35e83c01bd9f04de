package cmd

import (
	"encoding/json"
	"iter"

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

// more writes how to see the rest of a list.
func more(s *screen, info client.PageInfo, shown int) {
	if info.HasMore {
		s.line("%d of %d; --all shows the rest", shown, info.Total)
	}
}

// collect gathers all rows, and the same as a JSON document under name.
func collect[T any](name string, rows iter.Seq2[T, error]) ([]T, json.RawMessage, error) {
	list := []T{}
	for row, err := range rows {
		if err != nil {
			return nil, nil, err
		}
		list = append(list, row)
	}
	body, err := json.Marshal(map[string]any{name: list, "total": len(list)})
	return list, body, err
}
