package core

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

// PageInfo comes back with each page.
type PageInfo struct {
	Total      int    // true count of all rows that match the filter
	NextCursor string // empty on the last page
	HasMore    bool
	AtLeast    bool // Total is a lower bound: counting ended there
}
