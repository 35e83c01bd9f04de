package core

import (
	"cmp"
	"slices"
)

// DefaultPageLimit and MaxPageLimit bound every list of the API.
const (
	DefaultPageLimit = 20
	MaxPageLimit     = 100
)

// MaxPageBytes bounds the values of a page of rows that may be large: it ends early once they have so many bytes, but
// never without a row. One row may have a few MiB.
const MaxPageBytes = 4 << 20

// Page asks for one page of a list. Either Offset or Cursor places it; a Cursor costs the same wherever
// the page lies, an Offset costs a step per row skipped.
type Page struct {
	Limit  int    // 1 to MaxPageLimit; 0 means DefaultPageLimit
	Offset int    // rows to skip; ignored when Cursor is set
	Cursor string // NextCursor of the page before; opaque to clients
}

// PageOf returns the page of a list in memory, which it sorts in place: by id, newest first. A cursor is the id of the last row of the
// page before, which begins with prefix; that row may be gone.
func PageOf[T any](list []T, page Page, prefix string, id func(T) string) ([]T, PageInfo, error) {
	switch {
	case page.Limit < 0 || page.Limit > MaxPageLimit:
		return nil, PageInfo{}, Invalid("limit", "must be between 1 and %d", MaxPageLimit)
	case page.Offset < 0:
		return nil, PageInfo{}, Invalid("offset", "must not be negative")
	case page.Cursor != "" && !ValidID(prefix, page.Cursor):
		return nil, PageInfo{}, Invalid("cursor", "is not one that a list returned")
	}
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(id(b), id(a)) })
	from := min(page.Offset, len(list))
	if page.Cursor != "" {
		if from = slices.IndexFunc(list, func(row T) bool { return id(row) < page.Cursor }); from < 0 {
			from = len(list)
		}
	}
	info := PageInfo{Total: len(list)}
	if limit := cmp.Or(page.Limit, DefaultPageLimit); len(list)-from > limit {
		list = list[:from+limit]
		info.HasMore, info.NextCursor = true, id(list[len(list)-1])
	}
	return list[from:], info, nil
}

// PageInfo comes back with each page.
type PageInfo struct {
	Total      int    // true count of all rows that match the filter
	NextCursor string // empty on the last page
	HasMore    bool
	AtLeast    bool // Total is a lower bound: counting ended there
}
