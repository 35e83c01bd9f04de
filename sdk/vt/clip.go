package vt

// Clip returns the bytes that draw the part of the screen that holds the cursor on a terminal of another size, which is
// smaller in one direction at least: bytes meant for a wider or higher terminal would garble it. They draw every row of
// it, and leave the cursor where the program has it. What stands to the right of a terminal that is too narrow is cut
// off, unless the cursor is there.
func (s *Screen) Clip(cols, rows int) []byte {
	cols, rows = clampSize(cols, rows)
	top, left := 0, 0
	if s.rows > rows {
		top = min(max(s.cur.row-rows+1, 0), s.rows-rows)
	}
	if step := max(cols/2, 1); s.cur.col >= cols { // by halves, so that the view does not jump with each key
		left = (s.cur.col - cols + step) / step * step
	}
	b := append([]byte(nil), "\x1b[?25l\x1b[?7l\x1b[?6l\x1b[r\x1b[m"...)
	for y := range rows {
		b = appendMove(b, y, 0)
		b = append(b, "\x1b[2K"...)
		if top+y < s.rows {
			b = s.appendLine(b, clipped(s.g.content(top+y), left, cols))
		}
	}
	b = appendMove(b, s.cur.row-top, min(s.cur.col-left, cols-1))
	b = append(b, "\x1b[?7h"...)
	if s.modes&modeVisible != 0 {
		b = append(b, "\x1b[?25h"...)
	}
	return b
}

// clipped returns the cells of a row from left on, at most cols of them. A character of two columns that is cut in the
// middle is blank.
func clipped(row []cell, left, cols int) []cell {
	if left >= len(row) {
		return nil
	}
	part := append([]cell(nil), row[left:min(left+cols, len(row))]...)
	if part[0].isTail() {
		part[0] = styleCell(part[0].style())
	}
	if last := len(part) - 1; part[last].isWide() && left+last+1 < len(row) {
		part[last] = styleCell(part[last].style())
	}
	return part
}
