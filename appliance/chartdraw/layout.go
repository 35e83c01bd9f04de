package chartdraw

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Measures of the SVG in pixels. The typeface is of fixed width, so that boxes fit their text wherever it is shown.
const (
	cellWidth  = 7.3 // of one column at 12 pixels
	lineHeight = 17.0
	padding    = 10.0
	siblingGap = 16.0
	stackGap   = 24.0 // holds an arrow
	headGap    = 26.0 // between the head of a composite step and its steps
	levelGap   = 44.0 // between a manager and the level below
	indent     = 28.0 // of roles below each other
	boxColumns = 36   // of text in a box; longer lines are cut
	rowWidth   = 1120.0
	maxTip     = 1000 // bytes of the words that a box shows where it is pointed at
	manyLeaves = 5    // as many reports without reports of their own stand below each other
)

// box is a rectangle with lines of text, in it or below it further boxes.
type box struct {
	x, y, w, h float64 // x and y relative to the parent until place has run
	head       float64 // height of the text
	lines      []string
	tip        string // all that there is to say, up to maxTip
	class      string
	label      string // of the way to it: then, else
	kids       []*box
	stacked    bool // the kids stand below each other
}

// newBox makes a box as wide as its lines.
func newBox(class string, texts ...string) *box {
	b := &box{class: class, head: padding}
	columns := 8
	for _, text := range texts {
		if text == "" {
			continue
		}
		if b.tip != "" {
			b.tip += "\n"
		}
		b.tip += text
		text = cut(text, boxColumns, "…")
		b.lines = append(b.lines, text)
		columns = max(columns, uniseg.StringWidth(text))
	}
	if len(b.tip) > maxTip {
		b.tip = strings.ToValidUTF8(b.tip[:maxTip], "") + "…"
	}
	b.w = float64(columns)*cellWidth + 2*padding
	b.head += float64(len(b.lines))*lineHeight + padding - 4
	b.h = b.head
	return b
}

// layoutStep sizes a step and places the steps in it.
func layoutStep(s *Step) *box {
	title := s.Path + "  " + s.Kind
	if s.Role != "" {
		title += " → " + s.Role
	}
	b := newBox("k-"+s.Kind, append([]string{title, s.Name, s.Text}, s.Notes...)...)
	b.label = s.Branch
	if len(s.Steps) == 0 {
		return b
	}
	b.class += " composite"
	b.stacked = s.Kind == "sequential"
	for _, kid := range s.Steps {
		b.kids = append(b.kids, layoutStep(kid))
	}
	w, h := arrange(b.kids, b.stacked)
	b.w = max(b.w, w+2*padding)
	for _, kid := range b.kids {
		kid.x += (b.w - w) / 2
		kid.y += b.head + headGap
	}
	b.h = b.head + headGap + h + padding
	return b
}

// arrange places boxes from 0, 0 on, below each other or side by side in as many rows as it takes, and returns how
// much room they take.
func arrange(boxes []*box, stacked bool) (width, height float64) {
	if stacked {
		for _, b := range boxes {
			width = max(width, b.w)
		}
		for i, b := range boxes {
			if i > 0 {
				height += stackGap
			}
			b.x, b.y = (width-b.w)/2, height
			height += b.h
		}
		return width, height
	}
	x, tallest := 0.0, 0.0
	for _, b := range boxes {
		if x > 0 && x+b.w > rowWidth {
			height += tallest + stackGap
			x, tallest = 0, 0
		}
		b.x, b.y = x, height
		x += b.w + siblingGap
		width, tallest = max(width, x-siblingGap), max(tallest, b.h)
	}
	return width, height + tallest
}

// layoutRole sizes a role with those that report to it. The box that it returns is the role's; width and height are
// those of the whole tree, in which the role lies at x, 0.
func layoutRole(r *Role) (b *box, width, height float64) {
	class := "role"
	if r.Managed {
		class += " managed"
	}
	b = newBox(class, append([]string{title(r)}, details(r)...)...)
	if len(r.Reports) == 0 {
		return b, b.w, b.h
	}
	leaves := true
	for _, report := range r.Reports {
		leaves = leaves && len(report.Reports) == 0
	}
	b.stacked = leaves && len(r.Reports) >= manyLeaves
	width, height = 0, b.h+levelGap
	below := 0.0
	for _, report := range r.Reports {
		kid, w, h := layoutRole(report)
		b.kids = append(b.kids, kid)
		if b.stacked {
			kid.x, kid.y = indent, height
			height += h + siblingGap/2
			width = max(width, indent+w)
			continue
		}
		shift(kid, width, height)
		width += w + siblingGap
		below = max(below, h)
	}
	if b.stacked {
		return b, max(width, b.w), height - siblingGap/2
	}
	width -= siblingGap
	if b.w > width {
		for _, kid := range b.kids {
			shift(kid, (b.w-width)/2, 0)
		}
		width = b.w
	}
	first, last := b.kids[0], b.kids[len(b.kids)-1]
	middle := (first.x + first.w/2 + last.x + last.w/2) / 2
	b.x = min(max(middle-b.w/2, 0), width-b.w)
	return b, width, height + below
}

// shift moves a tree of roles, whose places are all relative to the same corner.
func shift(b *box, dx, dy float64) {
	b.x += dx
	b.y += dy
	for _, kid := range b.kids {
		shift(kid, dx, dy)
	}
}

// place makes the places of nested boxes absolute.
func place(b *box, x, y float64) {
	b.x += x
	b.y += y
	for _, kid := range b.kids {
		place(kid, b.x, b.y)
	}
}
