package api

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Bounds of what one request looks at for a caller from whom some rows may be hidden. A list that is longer says that its total
// is a lower bound, and goes on by its cursor.
const (
	maxLook  = 2000 // rows
	findCost = 10   // rows that a page without any counts as
)

// readsAll reports whether nothing of what a list has is hidden from the caller, so that its totals may count all of it.
func (c *call) readsAll(need Access) bool {
	o := &c.s.opts
	return o.Authorize == nil || o.ReadsAll != nil && o.ReadsAll(c.ctx, c.principal, need)
}

// need returns the access that a row of the route's list asks for, without its id.
func (c *call) need() Access {
	return Access{Action: c.route.Action, Resource: c.route.Resource, Scope: c.route.Scope}
}

// mayList reports whether the caller may read a row of a list. It is no attempt that somebody counts.
func (c *call) mayList(need Access) bool {
	switch o := &c.s.opts; {
	case o.Authorize == nil:
		return true
	case o.Decide != nil:
		return o.Decide(c.ctx, c.principal, need).Allowed
	default:
		return o.Authorize(c.ctx, c.principal, need) == nil
	}
}

// rows is a list of which the caller may read some.
type rows[T any] struct {
	find func(core.Page) ([]T, core.PageInfo, error)
	id   func(T) string // identifies a row
	may  func(T) (may, slow bool)
	all  bool // nothing is hidden from the caller
}

// listOf makes the rows of a list whose rows are read by their ids with what the route asks for.
func listOf[T any](c *call, id func(T) string, find func(core.Page) ([]T, core.PageInfo, error)) *rows[T] {
	need := c.need()
	return &rows[T]{find: find, id: id, all: c.readsAll(need), may: func(row T) (may, slow bool) {
		one := need
		one.ID = id(row)
		return c.may(one)
	}}
}

// pageTries is how often a page is read at most whose rows all go meanwhile.
const pageTries = 5

// page returns a page of the rows that the caller may read. Where some may be hidden, offset, total and hasMore are about the
// others alone: nothing tells how many are hidden.
func (r *rows[T]) page(page core.Page) (shown []T, info core.PageInfo, err error) {
	for range pageTries {
		var whole bool
		if shown, info, whole, err = r.cut(page); err != nil || whole {
			return shown, info, err
		}
	}
	return nil, core.PageInfo{}, core.Unavailable("busy", "rows come and go faster than they are read; try again")
}

// cut is page of one moment; whole is false where the rows went before the cursor behind them was known.
func (r *rows[T]) cut(page core.Page) (shown []T, info core.PageInfo, whole bool, err error) {
	skip := page.Offset
	if page.Cursor != "" {
		if skip, page.Cursor, err = unskipped(page.Cursor); err != nil {
			return nil, core.PageInfo{}, false, err
		}
	}
	if r.all {
		found, info, err := r.find(page)
		shown = make([]T, 0, len(found))
		for _, row := range found {
			may, slow := r.may(row)
			if slow {
				return nil, core.PageInfo{}, false, errSlow
			}
			if may {
				shown = append(shown, row)
			}
		}
		return shown, info, true, err
	}
	limit := cmp.Or(page.Limit, core.DefaultPageLimit)
	shown = make([]T, 0, limit)
	var last place
	seen := 0
	end, err := r.walk(page.Cursor, func(row T, at place) bool {
		switch seen++; {
		case seen <= skip:
		case len(shown) < limit:
			shown, last = append(shown, row), at
		default:
			info.HasMore = true
			return page.Cursor == "" // the total is counted by the way
		}
		return true
	})
	if err == nil && end != nil && end.slow && len(shown) == 0 {
		err = errSlow
	}
	if err != nil {
		return nil, core.PageInfo{}, false, err
	}
	info.Total, info.AtLeast = seen, end != nil
	if page.Cursor != "" {
		total, atLeast, err := r.count()
		if err != nil {
			return nil, core.PageInfo{}, false, err
		}
		if atLeast {
			total = max(total, seen)
		}
		info.Total, info.AtLeast = total, atLeast
	}
	switch {
	case len(shown) == limit && (info.HasMore || end != nil), end != nil && end.slow:
		info.NextCursor, info.HasMore, whole, err = r.behind(last)
		return shown, info, whole, err
	case end != nil && end.next.Cursor != "":
		info.HasMore, info.NextCursor = true, skipping(skip-seen, end.next.Cursor)
	}
	return shown, info, true, nil
}

// skips stands in a cursor between the number of rows that are still to be skipped behind it and the cursor of the list.
const skips = "~"

// skipping returns a cursor behind which so many of the caller's rows are skipped; none or fewer: the cursor itself.
func skipping(n int, cursor string) string {
	if n <= 0 {
		return cursor
	}
	return strconv.Itoa(n) + skips + cursor
}

// unskipped returns what skipping made a cursor of.
func unskipped(cursor string) (n int, of string, err error) {
	number, of, skipped := strings.Cut(cursor, skips)
	if !skipped {
		return 0, cursor, nil
	}
	if n, err = strconv.Atoi(number); err != nil || n <= 0 || of == "" {
		return 0, "", core.Invalid("cursor", "is not one that a list returned")
	}
	return n, of, nil
}

// count returns how many rows the caller may read; atLeast reports whether it ended before the list did.
func (r *rows[T]) count() (total int, atLeast bool, err error) {
	if r.all {
		_, info, err := r.find(core.Page{Limit: 1})
		return info.Total, info.AtLeast, err
	}
	cut, err := r.walk("", func(T, place) bool { total++; return true })
	return total, cut != nil, err
}

// place is where a row stands: the page that it was found in, and which of its rows it is, from 1.
type place struct {
	page core.Page
	row  int
	next string   // the cursor behind the page
	ids  []string // of the rows of the page
}

// stop is where a walk ended before the list did.
type stop struct {
	next core.Page
	slow bool // within a page, as there was no time to decide about more; next is not known
}

// walk calls fn with the rows that the caller may read, from a cursor on, until it returns false. It returns where it ended because
// it had looked at enough, or decided for long enough; nil: the list ended, or fn ended it.
func (r *rows[T]) walk(cursor string, fn func(row T, at place) bool) (*stop, error) {
	next := core.Page{Limit: core.MaxPageLimit, Cursor: cursor}
	for looked := 0; ; {
		found, info, err := r.find(next)
		if err != nil {
			return nil, err
		}
		at := place{page: next, next: info.NextCursor, ids: make([]string, len(found))}
		for i, row := range found {
			at.ids[i] = r.id(row)
		}
		for i, row := range found {
			at.row = i + 1
			may, slow := r.may(row)
			if slow {
				return &stop{slow: true}, nil
			}
			if may && !fn(row, at) {
				return nil, nil
			}
		}
		switch {
		case !info.HasMore:
			return nil, nil
		case info.NextCursor != "":
			next = core.Page{Limit: core.MaxPageLimit, Cursor: info.NextCursor}
		case len(found) > 0: // a list that has no cursors
			next = core.Page{Limit: core.MaxPageLimit, Offset: next.Offset + len(found)}
		default:
			return nil, nil
		}
		if looked += max(len(found), findCost); looked >= maxLook {
			return &stop{next: next}, nil
		}
	}
}

// maxMoved is how many rows may come before a row, while its page is cut, that its cursor is looked for behind.
const maxMoved = 10

// behind returns the cursor behind a row. Rows that came before it meanwhile move it down, and it may be gone itself: the cursor
// leaves out no row that was behind it, and shows one of those before it again rather than that. more is false if nothing is behind
// it any more, there if the list begins with what was behind the row.
func (r *rows[T]) behind(at place) (cursor string, more, there bool, err error) {
	id, behind := at.ids[at.row-1], at.ids[at.row:]
	if len(behind) == 0 || at.next == "" && at.page.Offset > 0 {
		return at.next, true, true, nil
	}
	page, step := at.page, 1
	cursor, more, there = page.Cursor, true, page.Cursor != ""
	for page.Limit = at.row; page.Limit > 0 && page.Limit <= min(at.row+maxMoved, core.MaxPageLimit); page.Limit += step {
		found, info, err := r.find(page)
		if err != nil {
			return "", false, false, err
		}
		last := ""
		if len(found) > 0 {
			last = r.id(found[len(found)-1])
		}
		if last != id && slices.Contains(behind, last) {
			if page.Limit > at.row {
				break
			}
			step = -1
			continue
		}
		cursor, more, there = info.NextCursor, info.HasMore, true
		if last == id || step < 0 || !info.HasMore {
			break
		}
	}
	return cursor, more, there, nil
}
