package vt

// color is the default (0), a number of the palette, or an RGB value; the top byte tells which.
type color uint32

const (
	paletteColor color = 1 << 24
	rgbColor     color = 2 << 24
	colorKind    color = 0xFF << 24
)

// Attributes of a style. The underline style is a number of three bits, 0 for none.
const (
	attrBold uint16 = 1 << iota
	attrFaint
	attrItalic
	attrBlink
	attrInverse
	attrInvisible
	attrStrike
	attrOverline

	underlineShift        = 8
	underlineMask  uint16 = 7 << underlineShift
)

// style is how a cell looks. The zero style is the default one.
type style struct {
	fg, bg, ul color
	link       uint32 // number of a hyperlink in the table, 0 for none
	attr       uint16
}

// What a table may hold before it is searched for what is no longer on the screen.
const (
	tableEntries = 1024
	linkBytes    = 256 << 10
	maxCluster   = 32      // bytes of one grapheme cluster; further marks are dropped
	maxLink      = 2083    // bytes of parameters and URI of a hyperlink; a longer one is not kept
	maxLinks     = 8 << 20 // bytes of all hyperlinks that are shown; further ones are not kept
)

// tables intern what does not fit into a cell. Numbers are given in order of appearance and hold until compact.
type tables struct {
	styles   []style
	styleIDs map[style]uint32

	links   []string // "params;uri"; [0] is none
	linkIDs map[string]uint32
	linkLen int // bytes of links, and of those that were not kept since compact

	clusters   []string
	clusterIDs map[string]int

	styleLimit, linkLimit, clusterLimit int // beyond these, compact first
	linkLenLimit                        int
}

func newTables() tables {
	return tables{
		styles: make([]style, 1, 8), links: make([]string, 1),
		styleLimit: tableEntries, linkLimit: tableEntries, clusterLimit: tableEntries, linkLenLimit: linkBytes,
	}
}

// find returns the number of a style that is known.
func (t *tables) find(st style) (uint32, bool) {
	if st == (style{}) {
		return 0, true
	}
	id, ok := t.styleIDs[st]
	return id, ok
}

func (t *tables) addStyle(st style) uint32 {
	if id, ok := t.find(st); ok {
		return id
	}
	if t.styleIDs == nil {
		t.styleIDs = make(map[style]uint32)
	}
	id := uint32(len(t.styles))
	t.styles = append(t.styles, st)
	t.styleIDs[st] = id
	return id
}

func (t *tables) addLink(link string) uint32 {
	if id, ok := t.linkIDs[link]; ok {
		return id
	}
	if t.linkIDs == nil {
		t.linkIDs = make(map[string]uint32)
	}
	id := uint32(len(t.links))
	t.links = append(t.links, link)
	t.linkIDs[link] = id
	t.linkLen += len(link)
	return id
}

func (t *tables) addCluster(bytes []byte) int {
	if id, ok := t.clusterIDs[string(bytes)]; ok {
		return id
	}
	text := string(bytes)
	if t.clusterIDs == nil {
		t.clusterIDs = make(map[string]int)
	}
	id := len(t.clusters)
	t.clusters = append(t.clusters, text)
	t.clusterIDs[text] = id
	return id
}

func (t *tables) full() bool {
	return len(t.styles) >= t.styleLimit || len(t.links) >= t.linkLimit || t.linkLen >= t.linkLenLimit ||
		len(t.clusters) >= t.clusterLimit
}

// compact forgets the styles, links and clusters that neither a cell nor a pen uses, and renumbers the others in
// place. Numbers held elsewhere are void afterwards; the limits move so that the cost stays constant per entry.
func (t *tables) compact(grids []*grid, pens []*style) {
	old := *t
	*t = newTables()
	link := func(id uint32) uint32 {
		if id == 0 {
			return 0
		}
		return t.addLink(old.links[id])
	}
	for _, pen := range pens {
		pen.link = link(pen.link)
	}
	renumbered := make([]uint32, len(old.styles))
	for _, g := range grids {
		for i, c := range g.cells {
			if c == 0 {
				continue
			}
			if id := c.style(); id != 0 {
				if renumbered[id] == 0 {
					st := old.styles[id]
					st.link = link(st.link)
					renumbered[id] = t.addStyle(st)
				}
				c = c&lowMask | styleCell(renumbered[id])
			}
			if c.isCluster() {
				c = c&^glyphMask | cell(t.addCluster([]byte(old.clusters[c.cluster()])))
			}
			g.cells[i] = c
		}
	}
	t.styleLimit = max(t.styleLimit, 2*len(t.styles))
	t.linkLimit = max(t.linkLimit, 2*len(t.links))
	t.linkLenLimit = max(t.linkLenLimit, 2*t.linkLen)
	t.clusterLimit = max(t.clusterLimit, 2*len(t.clusters))
}
