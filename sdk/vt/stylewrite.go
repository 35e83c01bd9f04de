package vt

import (
	"math/bits"
	"strconv"
)

// sgrOn are the SGR numbers of the attributes, in the order of their bits.
var sgrOn = [...]byte{1, 2, 3, 5, 7, 8, 9, 53}

// appendStyle appends what changes the pen of a terminal from one style to another.
func (t *tables) appendStyle(b []byte, from, to style) []byte {
	if from.link != to.link {
		b = append(b, "\x1b]8;"...)
		if to.link == 0 {
			b = append(b, ';')
		} else {
			b = append(b, t.links[to.link]...)
		}
		b = append(b, "\x1b\\"...)
	}
	from.link, to.link = 0, 0
	switch {
	case from == to:
		return b
	case to == style{}:
		return append(b, "\x1b[m"...)
	}
	b = append(b, "\x1b["...)
	lost := from.attr &^ to.attr &^ underlineMask
	if lost != 0 || from.attr&underlineMask != 0 && to.attr&underlineMask == 0 {
		b = append(b, "0;"...)
		from = style{}
	}
	for added := (to.attr &^ from.attr) &^ underlineMask; added != 0; added &= added - 1 {
		b = strconv.AppendUint(b, uint64(sgrOn[bits.TrailingZeros16(added)]), 10)
		b = append(b, ';')
	}
	if kind := to.attr & underlineMask; kind != from.attr&underlineMask {
		switch kind >>= underlineShift; kind {
		case 1:
			b = append(b, "4;"...)
		default:
			b = append(b, '4', ':', '0'+byte(kind), ';')
		}
	}
	if to.fg != from.fg {
		b = to.fg.append(b, 30)
	}
	if to.bg != from.bg {
		b = to.bg.append(b, 40)
	}
	if to.ul != from.ul {
		b = to.ul.append(b, 50)
	}
	b[len(b)-1] = 'm' // instead of the last ';'
	return b
}

// append appends the SGR parameters of a colour; base is 30, 40 or 50 for foreground, background, underline.
func (c color) append(b []byte, base uint64) []byte {
	number := uint64(c &^ colorKind)
	switch {
	case c == 0:
		b = strconv.AppendUint(b, base+9, 10)
	case c&colorKind == paletteColor && number < 8 && base != 50:
		b = strconv.AppendUint(b, base+number, 10)
	case c&colorKind == paletteColor && number < 16 && base != 50:
		b = strconv.AppendUint(b, base+60+number-8, 10)
	case c&colorKind == paletteColor:
		b = strconv.AppendUint(b, base+8, 10)
		b = append(b, ";5;"...)
		b = strconv.AppendUint(b, number, 10)
	default:
		b = strconv.AppendUint(b, base+8, 10)
		b = append(b, ";2;"...)
		b = strconv.AppendUint(b, number>>16, 10)
		b = append(b, ';')
		b = strconv.AppendUint(b, number>>8&0xFF, 10)
		b = append(b, ';')
		b = strconv.AppendUint(b, number&0xFF, 10)
	}
	return append(b, ';')
}
