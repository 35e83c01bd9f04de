package vt

import (
	"unicode"

	"github.com/rivo/uniseg"
)

// Runes with a part in clusters.
const (
	zwnj     = 0x200C
	zwj      = 0x200D
	keycap   = 0x20E3
	emojiVS  = 0xFE0F // variation selector 16: show the emoji, two columns wide
	riFirst  = 0x1F1E6
	riLast   = 0x1F1FF
	modFirst = 0x1F3FB // emoji modifiers (skin tones)
	modLast  = 0x1F3FF
)

// Widths of a rune. A mark joins the cell before it; an ignored rune is not shown at all.
const (
	ignored = iota
	mark
	narrow
	wide
)

// bmpWidths holds the width of the runes below 0x10000, two bits each. Immutable after it was built.
var bmpWidths = buildWidths()

func buildWidths() *[1 << 14]byte {
	var table [1 << 14]byte
	for i := range table {
		table[i] = narrow | narrow<<2 | narrow<<4 | narrow<<6
	}
	set := func(first, last rune, width byte) {
		for r := first; r <= last && r < 0x10000; r++ {
			shift := uint(r&3) * 2
			table[r>>2] = table[r>>2]&^(3<<shift) | width<<shift
		}
	}
	for _, each := range wideRanges {
		set(each[0], each[1], wide)
	}
	for _, class := range []struct {
		table *unicode.RangeTable
		width byte
	}{{unicode.Cc, ignored}, {unicode.Cf, ignored}, {unicode.Mn, mark}, {unicode.Me, mark}} {
		for _, each := range class.table.R16 {
			for r := rune(each.Lo); r <= rune(each.Hi); r += rune(each.Stride) {
				set(r, r, class.width)
			}
		}
	}
	set(0xAD, 0xAD, narrow)      // a soft hyphen is shown by terminals
	set(zwnj, zwj, mark)         // joiners belong to the cluster
	set(0x1160, 0x11FF, mark)    // Hangul vowels and finals combine with the initial
	set(0xD7B0, 0xD7FF, mark)    // the same, extended
	set(0x2028, 0x2029, ignored) // line and paragraph separators
	return &table
}

// runeWidth returns ignored, mark, narrow or wide.
func runeWidth(r rune) int {
	switch {
	case r < 0x7F:
		return narrow
	case r < 0x10000:
		return int(bmpWidths[r>>2]>>(uint(r&3)*2)) & 3
	case r >= 0x1F000 && r < 0x20000:
		return astralWidth(r)
	case r >= 0x20000 && r <= 0x3FFFD:
		return wide
	case r >= 0xE0000 && r <= 0xE0FFF: // tags of flags, variation selectors
		return mark
	case unicode.In(r, unicode.Mn, unicode.Me):
		return mark
	case unicode.Is(unicode.Cf, r):
		return ignored
	}
	return astralWidth(r)
}

func astralWidth(r rune) int {
	low, high := 0, len(wideRanges)
	for low < high {
		middle := (low + high) / 2
		if wideRanges[middle][1] < r {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(wideRanges) && wideRanges[low][0] <= r {
		return wide
	}
	return narrow
}

func isRegional(r rune) bool { return r >= riFirst && r <= riLast }
func isModifier(r rune) bool { return r >= modFirst && r <= modLast }

// oneCluster reports whether text is a single grapheme cluster. Slow: for the few runes that may join.
func oneCluster(text []byte) bool {
	_, rest, _, _ := uniseg.FirstGraphemeCluster(text, -1)
	return len(rest) == 0
}

// widensToEmoji reports whether text, which ends with the emoji variation selector, takes two columns.
func widensToEmoji(text []byte) bool {
	_, rest, width, _ := uniseg.FirstGraphemeCluster(text, -1)
	return len(rest) == 0 && width == 2
}
