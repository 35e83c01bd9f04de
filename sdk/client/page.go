package client

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Page asks for one page of a list. Cursor, the NextCursor of the page before, costs the same wherever the
// page lies; Offset is for jumping.
type Page struct {
	Limit  int // 1 to 100; 0: the server's default of 20
	Offset int
	Cursor string
}

// PageInfo comes back with each page.
type PageInfo = wire.PageInfo

// part returns the page of a filter, which embeds it.
func (p *Page) part() *Page { return p }

func (p Page) addTo(query url.Values) {
	if p.Limit != 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	switch {
	case p.Cursor != "":
		query.Set("cursor", p.Cursor)
	case p.Offset != 0:
		query.Set("offset", strconv.Itoa(p.Offset))
	}
}

// setTexts sets parameters that are not empty, given as name and value in turn.
func setTexts(query url.Values, pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
}

// queryOf returns parameters as setTexts sets them.
func queryOf(pairs ...string) url.Values {
	query := url.Values{}
	setTexts(query, pairs...)
	return query
}

// number returns n as a parameter; "", which is left out, unless it is above 0.
func number[N int | int64 | uint64](n N) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatUint(uint64(n), 10)
}

// stamp returns a time as a parameter; "", which is left out, for the zero time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// flag returns the parameter of a flag; "", which is left out, unless it is set.
func flag(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// maxPageLimit is the largest page the server gives; walking a list uses it.
const maxPageLimit = 100

// walk yields the rows of all pages from the given one on. It ends after the first error, and with one where pages come again: a
// caller that gathers rows would take them for ever.
func walk[T any](
	ctx context.Context, page Page, fetch func(context.Context, Page) ([]T, PageInfo, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		next := page
		next.Limit = cmp.Or(next.Limit, maxPageLimit)
		// Each cursor is compared with one from before, which is replaced after twice as many pages each time: so a circle of any
		// length is found, without all the cursors.
		mark, pages, most := next.Cursor, 0, 1
		for {
			rows, info, err := fetch(ctx, next)
			if err != nil {
				yield(zero, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if !info.HasMore || len(rows) == 0 && info.NextCursor == "" { // a page may be empty, and more follow
				return
			}
			switch {
			case info.NextCursor != "" && (info.NextCursor == next.Cursor || info.NextCursor == mark):
				yield(zero, fmt.Errorf("the server's list does not go on: the cursor %q comes again", info.NextCursor))
				return
			case info.NextCursor != "":
				next.Cursor = info.NextCursor
				if pages++; pages == most {
					mark, pages, most = next.Cursor, 0, 2*most
				}
			default:
				next.Cursor = ""
				next.Offset += len(rows)
			}
		}
	}
}

// walkPages yields the rows of all pages of a list, from the given one on.
func walkPages[T any, L interface{ page() ([]T, PageInfo) }](
	ctx context.Context, page Page, list func(context.Context, Page) (L, error),
) iter.Seq2[T, error] {
	return walk(ctx, page, func(ctx context.Context, page Page) (rows []T, info PageInfo, err error) {
		found, err := list(ctx, page)
		if err == nil {
			rows, info = found.page()
		}
		return rows, info, err
	})
}

// walkList yields the rows of all pages of a list, from the one that a filter names on.
func walkList[F, T any, P interface {
	*F
	part() *Page
}, L interface{ page() ([]T, PageInfo) }](ctx context.Context, filter F, list func(context.Context, F) (L, error)) iter.Seq2[T, error] {
	return walkPages(ctx, *P(&filter).part(), func(ctx context.Context, page Page) (L, error) {
		next := filter
		*P(&next).part() = page
		return list(ctx, next)
	})
}

// listOf returns a page of the list under a path, of the rows that have the texts. These are given as name and value in turn;
// empty ones select all.
func listOf[T any, P interface {
	*T
	answer
}](ctx context.Context, c *Client, path string, page Page, texts ...string) (*T, error) {
	query := url.Values{}
	setTexts(query, texts...)
	page.addTo(query)
	return ask[T, P](ctx, c, request{method: http.MethodGet, path: path, query: query})
}
