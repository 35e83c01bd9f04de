package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// pagedEvents answers as a server whose agent or thread has n events, with pages of at most 100.
func pagedEvents(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		since, _ := strconv.Atoi(q.Get("since"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		if limit == 0 {
			limit = 100
		}
		first, last := since+1, min(since+limit, n)
		hasMore, nextBefore := last < n, 0
		if q.Has("before") {
			before, _ := strconv.Atoi(q.Get("before"))
			if last = n; before > 0 {
				last = before - 1
			}
			first = max(last-limit+1, 1)
			hasMore, nextBefore = first > 1, first
		}
		var rows []string
		for i := first; i <= last; i++ {
			rows = append(rows, fmt.Sprintf(`{"sequence":%d,"type":"thread_ready","timestamp":"2026-01-02T03:04:05.678Z","data":{"later":%d}}`, i, i))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"events":[%s],"limit":%d,"hasMore":%t,"nextSince":%d,"nextBefore":%d}`, strings.Join(rows, ","), limit, hasMore, last, nextBefore)
	}
}

// A script gets all the events that a command reads, however many pages they are.
func TestEventPages(t *testing.T) {
	server := serve(t, pagedEvents(250))
	for _, tt := range []struct {
		args        string
		first, last int
		hasMore     bool
	}{
		{"agent events magent_1", 1, 100, true},
		{"agent events magent_1 --all", 1, 250, false},
		{"agent events magent_1 --all --after 120", 121, 250, false},
		{"agent events magent_1 --tail 100", 151, 250, true},
		{"agent events magent_1 --tail 230", 21, 250, true},
		{"agent events magent_1 --tail 1000", 1, 250, false},
		{"thread events thread_1 --all", 1, 250, false},
		{"thread events thread_1 --all --after 249", 250, 250, false},
	} {
		r := execute(t, server, append(strings.Fields(tt.args), "-o", "json")...)
		r.expect(t, 0)
		var list struct {
			Events []struct {
				Sequence int
				Data     struct{ Later int } // rows keep what this client does not know
			}
			Limit     int
			HasMore   *bool
			NextSince int
		}
		if err := json.Unmarshal([]byte(r.stdout.String()), &list); err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if list.Limit != 100 {
			t.Errorf("%s: the limit of a page is %d, want 100", tt.args, list.Limit)
		}
		var got, want []int
		for _, e := range list.Events {
			got = append(got, e.Sequence)
			if e.Data.Later != e.Sequence {
				t.Errorf("%s: event %d has data of %d", tt.args, e.Sequence, e.Data.Later)
			}
		}
		for i := tt.first; i <= tt.last; i++ {
			want = append(want, i)
		}
		if !slices.Equal(got, want) || list.HasMore == nil || *list.HasMore != tt.hasMore || list.NextSince != tt.last {
			t.Errorf("%s: events %d, hasMore %v, nextSince %d; want %d to %d", tt.args, got, list.HasMore, list.NextSince, tt.first, tt.last)
		}

		lines := execute(t, server, strings.Fields(tt.args)...)
		lines.expect(t, 0)
		if n := strings.Count(lines.stdout.String(), "ready"); n != len(want) {
			t.Errorf("%s: %d lines, want %d", tt.args, n, len(want))
		}
	}
}

func TestEventPagesWithoutEnd(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { // a page that leads to itself
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"events":[],"limit":100,"hasMore":true,"nextSince":7,"nextBefore":7}`))
	})
	for _, args := range []string{
		"agent events magent_1 --all", "agent events magent_1 --tail 5", "agent events magent_1 --tail 5 --follow", "thread events thread_1 --all",
	} {
		execute(t, server, append(strings.Fields(args), "--timeout", "0")...).expect(t, 1, "does not go on")
	}
}

// The pages of a list that come again are an error, and not more and more rows.
func TestListInCircles(t *testing.T) {
	next := map[string]string{"": "a", "a": "b", "b": "c", "c": "d", "d": "b"}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"patterns":[{"name":"p"}],"total":9,"hasMore":true,"nextCursor":%q}`, next[r.URL.Query().Get("cursor")])
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	start(ctx, server, cmd.Deps{}, "pattern", "list", "--all", "--timeout", "0").expect(t, 1, "does not go on")
}

func TestEventPageFlags(t *testing.T) {
	server := serve(t, pagedEvents(1))
	for _, args := range []string{
		"agent events a --all --limit 3", "agent events a --all --tail 3", "agent events a --all --follow",
		"thread events t --all --limit 3", "thread events t --all --before 3", "thread events t --all --newest",
	} {
		execute(t, server, strings.Fields(args)...).expect(t, 2)
	}
}
