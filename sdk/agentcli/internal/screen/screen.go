// Package screen reads screens: whether words stand on them, however wrapped, and the address of a login.
//
// It owns only reading. Which words matter, and when the screen may be believed, the adapters of sdk/agentcli,
// which call it, decide: after the start nothing is read from it.
package screen

import (
	"slices"
	"strings"
	"unicode"
)

// Has reports whether a row holds words.
func Has(rows []string, words string) bool {
	return slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, words) })
}

// Solid returns a text without what wraps it on a screen: white space.
func Solid(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// URL returns the first address that begins with prefix. A program that wraps an address breaks it where the
// row is full; rows are joined as long as they hold nothing but more of it.
func URL(rows []string, prefix string) string {
	width := 0
	for _, row := range rows {
		width = max(width, len([]rune(strings.TrimRight(row, " "))))
	}
	for i, row := range rows {
		at := strings.Index(row, prefix)
		if at < 0 {
			continue
		}
		url, rest := word(row[at:])
		for j := i + 1; rest == "" && j < len(rows) && full(rows[j-1], width); j++ {
			var more string
			more, rest = word(strings.TrimLeft(rows[j], " "))
			if more == "" || rest != "" || !isURL(more) {
				break
			}
			url += more
		}
		return url
	}
	return ""
}

// full reports whether a row reaches (nearly: borders and margins) as far as the widest.
func full(row string, width int) bool { return len([]rune(strings.TrimRight(row, " "))) >= width-2 }

func word(s string) (first, rest string) {
	s = strings.TrimRight(s, " │┃|")
	first, rest, _ = strings.Cut(s, " ")
	return first, strings.TrimSpace(rest)
}

func isURL(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^{|}`+"`", r) })
}
