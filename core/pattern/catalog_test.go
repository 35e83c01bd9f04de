package pattern_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

func namesOf(patterns []*core.Pattern) string {
	var names []string
	for _, p := range patterns {
		names = append(names, p.Name+"@"+p.Version)
	}
	return strings.Join(names, " ")
}

func TestFindPatterns(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	if patterns, info, err := f.FindPatterns(t.Context(), core.PatternFilter{}); err != nil || len(patterns) != 0 || info.Total != 0 || info.HasMore {
		t.Errorf("empty: %v %+v %v", patterns, info, err)
	}
	f.create("old", "1.0.0")
	f.create("old", "0.9.0")
	f.create("new", "1.0.0")
	if _, err := f.CreatePattern(ann(t), core.PatternInput{Name: "aside", Version: "1", Description: "Über NEWS", Source: "agents: {}"}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		filter core.PatternFilter
		want   string
		total  int
		more   bool
	}{
		{core.PatternFilter{}, "aside@1 new@1.0.0 old@1.0.0", 3, false},
		{core.PatternFilter{Page: core.Page{Limit: 2}}, "aside@1 new@1.0.0", 3, true},
		{core.PatternFilter{Page: core.Page{Limit: 2, Offset: 2}}, "old@1.0.0", 3, false},
		{core.PatternFilter{Page: core.Page{Offset: 9}}, "", 3, false},
		{core.PatternFilter{Search: "new"}, "aside@1 new@1.0.0", 2, false},
		{core.PatternFilter{Search: "über"}, "aside@1", 1, false},
		{core.PatternFilter{Search: "none"}, "", 0, false},
	} {
		patterns, info, err := f.FindPatterns(t.Context(), tc.filter)
		if err != nil || namesOf(patterns) != tc.want || info.Total != tc.total || info.HasMore != tc.more || (info.NextCursor != "") != tc.more {
			t.Errorf("%+v: %s %+v %v", tc.filter, namesOf(patterns), info, err)
		}
	}
	for field, filter := range map[string]core.Page{
		"limit": {Limit: 101}, "offset": {Offset: -1}, "cursor": {Cursor: "%%%"},
	} {
		_, _, err := f.FindPatterns(t.Context(), core.PatternFilter{Page: filter})
		if e := wantCode(t, err, core.CodeValidation); e.Details["field"] != field {
			t.Errorf("%s: details %v", field, e.Details)
		}
	}
}

func TestFindPatternsByCursor(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	for i := range 25 {
		f.create(fmt.Sprintf("p%02d", i), "1.0.0")
		if i%2 == 0 {
			f.clock.Advance(-time.Second) // several of the same instant
		}
	}
	seen := map[string]bool{}
	filter := core.PatternFilter{Page: core.Page{Limit: 4}}
	for page := 0; ; page++ {
		patterns, info, err := f.FindPatterns(t.Context(), filter)
		if err != nil || info.Total < 25 {
			t.Fatalf("page %d: %+v %v", page, info, err)
		}
		for _, p := range patterns {
			if seen[p.Name] {
				t.Errorf("%s came twice", p.Name)
			}
			seen[p.Name] = true
		}
		if page == 1 { // newer ones do not disturb the walk
			f.clock.Advance(time.Hour)
			f.create("newer", "1.0.0")
		}
		if !info.HasMore {
			break
		}
		filter.Cursor = info.NextCursor
	}
	if len(seen) != 25 || seen["newer"] {
		t.Errorf("%d patterns seen", len(seen))
	}
}
