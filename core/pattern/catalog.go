package pattern

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// catalog knows every version of every pattern, without source texts. Reads take a shared lock only.
type catalog struct {
	mu       sync.RWMutex // guards all below
	families map[string]*family
	sorted   []*listing // latest versions in list order; nil after a change
}

// family is all versions of one name.
type family struct {
	versions []version       // latest first
	patterns []*core.Pattern // of the same index; Source and Definition are empty

	mu       sync.Mutex // guards resolved; taken last
	resolved map[string]*core.Pattern
}

// listing is a pattern in a list, with what a search compares.
type listing struct {
	pattern  *core.Pattern
	haystack string // name and description in lower case
}

// maxResolved bounds the ranges that a family remembers; clients use few.
const maxResolved = 64

func newFamily(patterns []*core.Pattern) *family {
	type pair struct {
		version version
		pattern *core.Pattern
	}
	pairs := make([]pair, 0, len(patterns))
	for _, p := range patterns {
		light := *p
		light.Source, light.Definition = "", nil
		pairs = append(pairs, pair{newVersion(p.Version, p.CreatedAt), &light})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return compareVersions(b.version, a.version) })
	f := &family{resolved: make(map[string]*core.Pattern)}
	for _, p := range pairs {
		f.versions = append(f.versions, p.version)
		f.patterns = append(f.patterns, p.pattern)
	}
	return f
}

// find returns the version that text selects, or nil. VALIDATION_ERROR for a malformed range.
func (f *family) find(text string) (*core.Pattern, error) {
	if text == "" || text == latestVersion {
		return f.patterns[0], nil
	}
	f.mu.Lock()
	found, known := f.resolved[text]
	f.mu.Unlock()
	if known {
		return found, nil
	}
	s, err := parseSelector(text)
	if err != nil {
		return nil, err
	}
	i := s.choose(f.versions)
	if i < 0 {
		return nil, nil
	}
	f.mu.Lock()
	if len(f.resolved) < maxResolved {
		f.resolved[text] = f.patterns[i]
	}
	f.mu.Unlock()
	return f.patterns[i], nil
}

// reset replaces everything.
func (c *catalog) reset(all []*core.Pattern) {
	byName := make(map[string][]*core.Pattern)
	for _, p := range all {
		byName[p.Name] = append(byName[p.Name], p)
	}
	families := make(map[string]*family, len(byName))
	for name, patterns := range byName {
		families[name] = newFamily(patterns)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.families, c.sorted = families, nil
}

// replace sets the versions of one name; none removes it.
func (c *catalog) replace(name string, patterns []*core.Pattern) {
	var f *family
	if len(patterns) > 0 {
		f = newFamily(patterns)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sorted = nil
	if f == nil {
		delete(c.families, name)
	} else {
		c.families[name] = f
	}
}

// family returns all versions of a name, or nil.
func (c *catalog) family(name string) *family {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.families[name]
}

// latestHash returns the hash of the definition of the latest version of a name; "" if there is none.
func (c *catalog) latestHash(name string) string {
	if f := c.family(name); f != nil {
		return f.patterns[0].Hash
	}
	return ""
}

// listings returns the latest version of every name in list order. The slice is never changed.
func (c *catalog) listings() []*listing {
	c.mu.RLock()
	sorted := c.sorted
	c.mu.RUnlock()
	if sorted != nil {
		return sorted
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sorted == nil {
		c.sorted = make([]*listing, 0, len(c.families))
		for _, f := range c.families {
			p := f.patterns[0]
			c.sorted = append(c.sorted, &listing{p, strings.ToLower(p.Name + "\n" + p.Description)})
		}
		slices.SortFunc(c.sorted, func(a, b *listing) int { return placeOf(a.pattern).compare(placeOf(b.pattern)) })
	}
	return c.sorted
}

// place is where a pattern stands in lists: newest first, by name among those made at once.
type place struct {
	created int64 // nanoseconds since 1970
	name    string
}

func placeOf(p *core.Pattern) place { return place{p.CreatedAt.UnixNano(), p.Name} }

func (a place) compare(b place) int {
	if c := cmp.Compare(b.created, a.created); c != 0 {
		return c
	}
	return strings.Compare(a.name, b.name)
}

// cursor writes the place as an opaque word.
func (a place) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(a.created, 10) + " " + a.name))
}

// parseCursor reads what cursor wrote. VALIDATION_ERROR on `cursor` for anything else.
func parseCursor(text string) (place, error) {
	if len(text) < 512 {
		if raw, err := base64.RawURLEncoding.DecodeString(text); err == nil {
			created, name, ok := strings.Cut(string(raw), " ")
			if n, err := strconv.ParseInt(created, 10, 64); ok && err == nil {
				return place{n, name}, nil
			}
		}
	}
	return place{}, core.Invalid("cursor", "is not a cursor of this list; use nextCursor of the page before")
}

// page returns one page of the listings that match.
func (c *catalog) page(filter core.PatternFilter) ([]*core.Pattern, core.PageInfo, error) {
	limit := cmp.Or(filter.Limit, core.DefaultPageLimit)
	if limit < 0 || limit > core.MaxPageLimit {
		return nil, core.PageInfo{}, core.Invalid("limit", "must be from 1 to %d", core.MaxPageLimit)
	}
	if filter.Offset < 0 {
		return nil, core.PageInfo{}, core.Invalid("offset", "must not be negative")
	}
	all := c.listings()
	if needle := strings.ToLower(filter.Search); needle != "" || filter.CreatedBy != "" {
		matching := make([]*listing, 0, limit)
		for _, l := range all {
			if strings.Contains(l.haystack, needle) && (filter.CreatedBy == "" || l.pattern.CreatedBy == filter.CreatedBy) {
				matching = append(matching, l)
			}
		}
		all = matching
	}
	start := min(filter.Offset, len(all))
	if filter.Cursor != "" {
		after, err := parseCursor(filter.Cursor)
		if err != nil {
			return nil, core.PageInfo{}, err
		}
		at, found := slices.BinarySearchFunc(all, after, func(l *listing, p place) int { return placeOf(l.pattern).compare(p) })
		start = at
		if found {
			start++
		}
	}
	end := min(start+limit, len(all))
	patterns := make([]*core.Pattern, 0, end-start)
	for _, l := range all[start:end] {
		patterns = append(patterns, l.pattern)
	}
	info := core.PageInfo{Total: len(all), HasMore: end < len(all)}
	if info.HasMore && len(patterns) > 0 {
		info.NextCursor = placeOf(patterns[len(patterns)-1]).cursor()
	}
	return patterns, info, nil
}
