package vt

// cell is one position of the grid: a glyph in the low half, the number of a style in the high half. The zero
// cell is blank in the default style, so that clearing memory erases.
//
// The low half is a rune, or with clusterBit the number of a string in the glyph table. A rune of two columns has
// wideBit, and the position after it is a cell with tailBit and no glyph.
type cell uint64

const (
	glyphMask  cell = 1<<21 - 1
	clusterBit cell = 1 << 21
	wideBit    cell = 1 << 22
	tailBit    cell = 1 << 23
	lowMask    cell = 1<<32 - 1

	styleShift = 32
)

// styleCell returns a blank cell in style id.
func styleCell(id uint32) cell { return cell(id) << styleShift }

func (c cell) style() uint32 { return uint32(c >> styleShift) }

// glyph returns the rune of a cell that is no cluster; 0 is a blank.
func (c cell) glyph() rune { return rune(c & glyphMask) }

func (c cell) cluster() int    { return int(c & glyphMask) }
func (c cell) isCluster() bool { return c&clusterBit != 0 }
func (c cell) isWide() bool    { return c&wideBit != 0 }
func (c cell) isTail() bool    { return c&tailBit != 0 }
