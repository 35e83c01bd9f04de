package report

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth is how deep the objects and lists of a report may nest.
const maxDepth = 16

// parseObject reads one object, and nothing behind it. What is not JSON is read as a person would: single and
// typographic quotes, keys without quotes, commas before an end, comments, and line ends within strings are taken. Keys
// are in lower case.
func parseObject(text string) (map[string]any, bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return nil, false
	}
	var v map[string]any
	if json.Unmarshal([]byte(text), &v) != nil {
		p := &loose{text: strings.ToValidUTF8(text, "\uFFFD")}
		parsed, ok := p.value(0)
		p.space()
		if !ok || p.at < len(p.text) {
			return nil, false
		}
		v, _ = parsed.(map[string]any)
	}
	fields := make(map[string]any, len(v))
	for key, value := range v {
		lower := strings.ToLower(strings.TrimSpace(key))
		if _, twice := fields[lower]; !twice || key == lower {
			fields[lower] = value
		}
	}
	return fields, true
}

// loose parses JSON that was written by hand.
type loose struct {
	text string
	at   int
}

// space passes white space and comments.
func (p *loose) space() {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.at += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				return
			}
			p.at += end + 2
		default:
			r, size := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) {
				return
			}
			p.at += size
		}
	}
}

// take passes one byte if it is next.
func (p *loose) take(b byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == b {
		p.at++
		return true
	}
	return false
}

func (p *loose) value(depth int) (any, bool) {
	p.space()
	if p.at >= len(p.text) || depth > maxDepth {
		return nil, false
	}
	switch {
	case p.take('{'):
		return p.object(depth + 1)
	case p.take('['):
		return p.list(depth + 1)
	}
	if s, quoted, ok := p.quoted(); quoted {
		return s, ok
	}
	return p.bare()
}

func (p *loose) object(depth int) (any, bool) {
	v := map[string]any{}
	for !p.take('}') {
		p.space()
		key, quoted, ok := p.quoted()
		if !quoted {
			key, ok = p.word()
		}
		if !ok || !p.take(':') {
			return nil, false
		}
		value, ok := p.value(depth)
		if !ok {
			return nil, false
		}
		v[key] = value
		if !p.take(',') {
			return v, p.take('}')
		}
	}
	return v, true
}

func (p *loose) list(depth int) (any, bool) {
	v := []any{}
	for !p.take(']') {
		value, ok := p.value(depth)
		if !ok {
			return nil, false
		}
		v = append(v, value)
		if !p.take(',') {
			return v, p.take(']')
		}
	}
	return v, true
}

// closers are the characters that may end a string, by the one that began it.
var closers = map[rune]string{'"': "\"", '\'': "'", '“': "”\"", '”': "”\"", '„': "“”", '‘': "’'", '’': "’", '«': "»"}

// quoted reads a string; quoted is false when none begins here.
func (p *loose) quoted() (s string, quoted, ok bool) {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	ends, quoted := closers[r]
	if !quoted {
		return "", false, false
	}
	p.at += size
	var b strings.Builder
	for p.at < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
		switch {
		case strings.ContainsRune(ends, r):
			return b.String(), true, true
		case r == '\\':
			if !p.escape(&b) {
				return "", true, false
			}
		default:
			b.WriteRune(r)
		}
	}
	return "", true, false
}

// escape reads what follows a backslash.
func (p *loose) escape(b *strings.Builder) bool {
	if p.at >= len(p.text) {
		return false
	}
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += size
	switch r {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r', 'b', 'f':
	case 'u':
		if p.at+4 > len(p.text) {
			return false
		}
		n, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 16)
		if err != nil {
			return false
		}
		p.at += 4
		b.WriteRune(rune(n))
	default:
		b.WriteRune(r)
	}
	return true
}

// word reads a key without quotes.
func (p *loose) word() (string, bool) {
	start := p.at
	for p.at < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' {
			break
		}
		p.at += size
	}
	return p.text[start:p.at], p.at > start
}

// bare reads a number, a constant, or a single word without quotes.
func (p *loose) bare() (any, bool) {
	start := p.at
	for p.at < len(p.text) && !strings.ContainsRune(",]}\n{[\"", rune(p.text[p.at])) {
		p.at++
	}
	s := strings.TrimSpace(p.text[start:p.at])
	switch s {
	case "":
		return nil, false
	case "true", "True":
		return true, true
	case "false", "False":
		return false, true
	case "null", "None", "undefined":
		return nil, true
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f, true
	}
	return s, !strings.ContainsAny(s, " \t|:")
}
