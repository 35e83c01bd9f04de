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
	const most = 1000
	pages := 0
	things := &resource[struct{ ID string }]{
		noun: "thing", member: "things", id: func(row *struct{ ID string }) string { return row.ID },
		fetch: func(ctx context.Context, _ *client.Client, _ selection) (answered, error) {
			if pages++; pages > 10*most {
				return nil, errors.New("enough")
			}
			return rawPage(fmt.Sprintf(`{"things":[{"id":"%s"}],"hasMore":true,"nextCursor":"c%d"}`, strings.Repeat("x", 80), pages)), ctx.Err()
		},
	}
	_, err := things.view(t.Context(), nil, selection{all: true, most: most})
	var usage *usageError
	if !errors.As(err, &usage) || !strings.Contains(usage.message, "the list has more than 1000 bytes") || pages > most/80+1 {
		t.Errorf("after %d pages: %v", pages, err)
	}
}
