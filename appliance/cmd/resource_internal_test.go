package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// rawPage is a page of a list as it came.
type rawPage string

func (p rawPage) Raw() json.RawMessage { return json.RawMessage(p) }

// A list without an end is given up before it takes all memory.
func TestEndlessList(t *testing.T) {
	const most = 100_000
	pages, rows := 0, ""
	things := &resource[struct{ ID string }]{
		noun: "thing", member: "things", id: func(row *struct{ ID string }) string { return row.ID },
		fetch: func(ctx context.Context, _ *client.Client, _ selection) (answered, error) {
			if pages++; pages > most {
				return nil, errors.New("enough")
			}
			return rawPage(fmt.Sprintf(`{"things":[%s],"hasMore":true,"nextCursor":"c%d"}`, rows, pages)), ctx.Err()
		},
	}
	for _, tt := range []struct {
		rows  string
		pages int // at most
	}{
		{`{"id":"` + strings.Repeat("x", 8000) + `"}`, most / 8000},
		{strings.Repeat("{},", 999) + "{}", 2}, // rows take memory beside their text,
		{"", 100},                              // and pages
	} {
		pages, rows = 0, tt.rows
		_, err := things.view(t.Context(), nil, selection{all: true, most: most})
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(usage.message, "the list takes more than 100000 bytes") || pages > tt.pages {
			t.Errorf("rows %.20s: after %d pages: %v", tt.rows, pages, err)
		}
	}
}
