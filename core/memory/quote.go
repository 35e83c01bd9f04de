package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis ends a text that was cut.
const ellipsis = "…"

// cut shortens s to limit characters.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == limit { // the ellipsis is one
			return strings.TrimRightFunc(s[:i], unicode.IsSpace) + ellipsis
		}
	}
	return s
}

// cutBytes shortens s to limit bytes of whole characters; at least the ellipsis stays.
func cutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = bounded(s, limit-len(ellipsis))
	return strings.TrimRightFunc(s, unicode.IsSpace) + ellipsis
}

// plain is text without characters that people do not see: control characters, and those that only change how others
// are shown. Line ends become \n.
func plain(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n").Replace(s)
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u200c' || r == '\u200d': // parts of words and of emoji
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}

// quote writes each line of a text as one of a Markdown quotation, which nothing within it can end.
func quote(b *strings.Builder, indent, s string) {
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		b.WriteString(indent)
		if line == "" {
			b.WriteString(">\n")
			continue
		}
		b.WriteString("> ")
		b.WriteString(line)
		b.WriteByte('\n')
	}
}

// maxName bounds a name within a line, in characters.
const maxName = 200

// name writes a name of others as code within a line.
func name(s string) string {
	s = strings.Join(strings.Fields(strings.ReplaceAll(plain(s), "`", "'")), " ")
	if s == "" {
		return "-"
	}
	return "`" + cut(s, maxName) + "`"
}
