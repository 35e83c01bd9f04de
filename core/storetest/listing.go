package storetest

import (
	"context"
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// lister is one list of the store, with its filter bound and its page open.
type lister func(page core.Page) (ids []string, info core.PageInfo, err error)

// listOf makes a lister of a Find method.
func listOf[T any, F any](find func(context.Context, F) ([]T, core.PageInfo, error), filter func(core.Page) F, id func(T) string) lister {
	return func(page core.Page) ([]string, core.PageInfo, error) {
		rows, info, err := find(ctx, filter(page))
		var ids []string
		for _, row := range rows {
			ids = append(ids, id(row))
		}
		return ids, info, err
	}
}

// wantList reads a list by cursor and by offset and compares it with the ids it should have, newest first.
func wantList(t *testing.T, name string, list lister, want []string, limit int) {
	t.Helper()
	for _, byCursor := range []bool{true, false} {
		var got []string
		page := core.Page{Limit: limit}
		for {
			ids, info, err := list(page)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, ids...)
			if info.Total != len(want) || info.HasMore != (len(got) < len(want)) || info.HasMore != (info.NextCursor != "") {
				t.Fatalf("%s: after %d of %d rows: %+v", name, len(got), len(want), info)
			}
			if !info.HasMore {
				break
			}
			if byCursor {
				page.Cursor, page.Offset = info.NextCursor, 3 // an offset beside a cursor is ignored
			} else {
				page.Offset += len(ids)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s, by cursor %v: got %v, want %v", name, byCursor, got, want)
		}
	}
}

// wantPages checks what every list refuses.
func wantPages(t *testing.T, list lister) {
	t.Helper()
	for name, page := range map[string]core.Page{
		"limit": {Limit: core.MaxPageLimit + 1}, "offset": {Offset: -1}, "cursor": {Cursor: "what?"},
	} {
		_, _, err := list(page)
		if e := core.AsError(err); e == nil || e.Code != core.CodeValidation {
			t.Errorf("%s: got %v, want a validation error", name, err)
		}
	}
}

// selectIDs returns the ids of the rows that match, newest first.
func selectIDs[T any](rows map[string]T, match func(T) bool) []string {
	var ids []string
	for id, row := range rows {
		if match(row) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// either reports whether a value is the one that a filter asks for, which may be any.
func either[S ~string](want, have S) bool { return want == "" || want == have }
