package core_test

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func TestPageOf(t *testing.T) {
	ids := core.NewIDs(coretest.NewClock())
	rows := make([]string, 5)
	for i := range rows {
		rows[i] = ids.New(core.PrefixTrigger)
	}
	newest := slices.Clone(rows)
	slices.Reverse(newest)
	page := func(p core.Page) ([]string, core.PageInfo, error) {
		return core.PageOf(slices.Clone(rows), p, core.PrefixTrigger, func(id string) string { return id })
	}
	for name, test := range map[string]struct {
		page core.Page
		want []string
		more bool
	}{
		"First":     {core.Page{Limit: 2}, newest[:2], true},
		"Default":   {core.Page{}, newest, false},
		"Offset":    {core.Page{Limit: 2, Offset: 3}, newest[3:], false},
		"Cursor":    {core.Page{Limit: 2, Cursor: newest[1]}, newest[2:4], true},
		"CursorEnd": {core.Page{Limit: 2, Cursor: newest[4]}, nil, false},
		"Beyond":    {core.Page{Offset: 9}, nil, false},
	} {
		got, info, err := page(test.page)
		if err != nil || !slices.Equal(got, test.want) || info.Total != 5 || info.HasMore != test.more {
			t.Errorf("%s: %v, %+v, %v", name, got, info, err)
		}
		next := ""
		if test.more {
			next = got[len(got)-1]
		}
		if info.NextCursor != next {
			t.Errorf("%s: next cursor %q", name, info.NextCursor)
		}
	}
	for field, bad := range map[string]core.Page{
		"limit": {Limit: core.MaxPageLimit + 1}, "offset": {Offset: -1}, "cursor": {Cursor: "what?"},
	} {
		if _, _, err := page(bad); core.ErrorCode(err) != core.CodeValidation || core.AsError(err).Details["field"] != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
