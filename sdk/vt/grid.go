package vt

import "slices"

// grid holds the rows of one screen. Rows scroll by changing their order, never by moving cells.
type grid struct {
	cells   []cell
	order   []uint16 // order[y] is the place of row y in cells, used and wrapped
	used    []uint16 // cells from here to the end of the row are zero; by place
	wrapped []bool   // the row went on in the next one; by place
	cols    int
	saved   cursor // DECSC
	kept    bool   // saved was set
}

func newGrid(cols, rows int) *grid {
	g := &grid{cells: make([]cell, cols*rows), order: make([]uint16, rows), used: make([]uint16, rows),
		wrapped: make([]bool, rows), cols: cols}
	for y := range g.order {
		g.order[y] = uint16(y)
	}
	return g
}

func (g *grid) rows() int { return len(g.order) }

// row returns the cells of row y. Who writes to it tells with touch how far.
func (g *grid) row(y int) []cell {
	at := int(g.order[y]) * g.cols
	return g.cells[at : at+g.cols : at+g.cols]
}

// touch notes that row y may have content before column end.
func (g *grid) touch(y, end int) {
	if p := g.order[y]; int(g.used[p]) < end {
		g.used[p] = uint16(end)
	}
}

// content returns the cells of row y without the zero cells at its end.
func (g *grid) content(y int) []cell {
	p := int(g.order[y])
	row := g.cells[p*g.cols : p*g.cols+int(g.used[p])]
	for len(row) > 0 && row[len(row)-1] == 0 {
		row = row[:len(row)-1]
	}
	return row
}

// erase blanks the columns [from, to) of row y; blank carries the background. Halves of wide runes that lose
// their other half become blanks of their own style.
func (g *grid) erase(y, from, to int, blank cell) {
	if from >= to {
		return
	}
	row := g.row(y)
	g.split(row, from)
	g.split(row, to)
	p := g.order[y]
	if to == g.cols {
		g.wrapped[p] = false
	}
	if blank == 0 {
		if from >= int(g.used[p]) {
			return
		}
		clear(row[from:to])
		if to >= int(g.used[p]) {
			g.used[p] = uint16(from)
		}
		return
	}
	for x := range row[from:to] {
		row[from+x] = blank
	}
	g.touch(y, to)
}

// split separates a wide rune across the border before column x: both halves become blanks.
func (g *grid) split(row []cell, x int) {
	if x <= 0 || x >= len(row) || !row[x].isTail() {
		return
	}
	row[x] &^= lowMask
	row[x-1] &^= lowMask
}

// eraseRow blanks row y.
func (g *grid) eraseRow(y int, blank cell) {
	p := int(g.order[y])
	at := p * g.cols
	g.wrapped[p] = false
	if blank == 0 {
		clear(g.cells[at : at+int(g.used[p])])
		g.used[p] = 0
		return
	}
	row := g.cells[at : at+g.cols]
	for x := range row {
		row[x] = blank
	}
	g.used[p] = uint16(g.cols)
}

// eraseAll blanks all rows.
func (g *grid) eraseAll(blank cell) {
	for y := range g.order {
		g.eraseRow(y, blank)
	}
}

// scrollUp moves the rows [top, bottom] up by n; the rows that come in at the bottom are blank.
func (g *grid) scrollUp(top, bottom, n int, blank cell) {
	n = min(n, bottom-top+1)
	if n == 1 { // by far the most frequent
		first := g.order[top]
		copy(g.order[top:bottom], g.order[top+1:bottom+1])
		g.order[bottom] = first
		g.eraseRow(bottom, blank)
		return
	}
	rotate(g.order[top:bottom+1], n)
	for y := bottom - n + 1; y <= bottom; y++ {
		g.eraseRow(y, blank)
	}
}

// scrollDown moves the rows [top, bottom] down by n; the rows that come in at the top are blank.
func (g *grid) scrollDown(top, bottom, n int, blank cell) {
	n = min(n, bottom-top+1)
	rotate(g.order[top:bottom+1], bottom-top+1-n)
	for y := top; y < top+n; y++ {
		g.eraseRow(y, blank)
	}
}

// rotate moves the first n elements behind the others.
func rotate(order []uint16, n int) {
	slices.Reverse(order[:n])
	slices.Reverse(order[n:])
	slices.Reverse(order)
}

// insert moves the cells of row y from column x to the right by n; what leaves the row is lost.
func (g *grid) insert(y, x, n int, blank cell) {
	row := g.row(y)
	n = min(n, g.cols-x)
	g.split(row, x)
	g.split(row, g.cols-n)
	copy(row[x+n:], row[x:])
	for i := range row[x : x+n] {
		row[x+i] = blank
	}
	g.touch(y, g.cols)
}

// remove deletes n cells of row y from column x on; blanks come in from the right.
func (g *grid) remove(y, x, n int, blank cell) {
	row := g.row(y)
	n = min(n, g.cols-x)
	g.split(row, x)
	g.split(row, x+n)
	copy(row[x:], row[x+n:])
	for i := range row[g.cols-n:] {
		row[g.cols-n+i] = blank
	}
	p := g.order[y]
	g.wrapped[p] = false
	if blank != 0 {
		g.used[p] = uint16(g.cols)
	}
}

// resized returns a grid of another size with the same content, from row skip on. Wide runes that do not fit are
// blanked.
func (g *grid) resized(cols, rows, skip int) *grid {
	fresh := newGrid(cols, rows)
	fresh.saved, fresh.kept = g.saved, g.kept
	for y := 0; y < rows && y+skip < g.rows(); y++ {
		from := g.row(y + skip)
		place := g.order[y+skip]
		if cols < len(from) {
			g.split(from, cols)
		}
		copy(fresh.row(y), from)
		fresh.used[y] = min(g.used[place], uint16(cols))
		fresh.wrapped[y] = g.wrapped[place] && cols == g.cols
	}
	return fresh
}
