package core_test

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func TestPageOf(t *testing.T) {
	ids := core.NewIDs(coretest.NewClock())
	rows := make([]string, core.DefaultPageLimit+2)
	for i := range rows {
		rows[i] = ids.New(core.PrefixTrigger)
	}
	gone := rows[len(rows)-3]
	rows = slices.Delete(rows, len(rows)-3, len(rows)-2)
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
		"Default":   {core.Page{}, newest[:core.DefaultPageLimit], true},
		"Offset":    {core.Page{Limit: 2, Offset: len(rows) - 2}, newest[len(rows)-2:], false},
		"Cursor":    {core.Page{Limit: 2, Cursor: newest[1]}, newest[2:4], true},
		"CursorEnd": {core.Page{Limit: 2, Cursor: newest[len(rows)-1]}, nil, false},
		"Beyond":    {core.Page{Offset: 99}, nil, false},
		"Gone":      {core.Page{Limit: 2, Cursor: gone}, newest[2:4], true},
	} {
		got, info, err := page(test.page)
		if err != nil || !slices.Equal(got, test.want) || info.Total != len(rows) || info.HasMore != test.more {
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
	for _, test := range []struct {
		field string
		page  core.Page
	}{
		{"limit", core.Page{Limit: core.MaxPageLimit + 1}}, {"limit", core.Page{Limit: -1}}, {"offset", core.Page{Offset: -1}},
		{"cursor", core.Page{Cursor: "what?"}}, {"cursor", core.Page{Cursor: ids.New(core.PrefixWebhook)}},
	} {
		if got, _, err := page(test.page); core.ErrorCode(err) != core.CodeValidation || core.AsError(err).Details["field"] != test.field || got != nil {
			t.Errorf("%+v: %v, %v", test.page, got, err)
		}
	}
}
