package pattern

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// problems collects what is wrong with a definition.
type problems struct {
	list []core.Problem

	matching    int // instructions of the regular expressions so far
	mostToMatch int // of them; 0: any number
	matched     int // what they cost so far where defaults were checked, as inspection counts it
}

// maxProblems bounds how many problems a report has: hostile text could cause millions.
const maxProblems = 200

// maxPath is the length in bytes from which paths are cut in the middle.
const maxPath = 300

func (p *problems) add(path string, line int, format string, args ...any) {
	if len(p.list) == maxProblems {
		return
	}
	path = cmp.Or(path, whole)
	if len(path) > maxPath { // of steps nested deep; its end says most
		path = path[:maxPath/3] + "..." + strings.ToValidUTF8(path[len(path)-2*maxPath/3:], "")
	}
	p.list = append(p.list, core.Problem{Path: path, Line: line, Reason: fmt.Sprintf(format, args...)})
}

// enough reports whether no more problems are taken, so that looking for them can stop.
func (p *problems) enough() bool { return len(p.list) >= maxProblems }

// sorted returns the problems by line; those without one come first.
func (p *problems) sorted() []core.Problem {
	slices.SortStableFunc(p.list, func(a, b core.Problem) int { return a.Line - b.Line })
	return p.list
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// join extends a dotted path by a key.
func join(path, key string) string {
	if !plainKey.MatchString(key) {
		return path + "[" + strconv.Quote(clip(key, 64)) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// clip shortens text that is quoted in a message.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "..."
}

// hint names the known word nearest to word, as the tail of a message; "" if none is near.
func hint(word string, known []string) string {
	if len(known) > 100 { // not worth the time
		return ""
	}
	if near := schema.Nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// either writes words for people: a, b or c.
func either(words []string) string {
	switch n := len(words); n {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
}

// section reads a map of a definition key by key. Its getters report wrong values and return the default
// then, so that reading goes on and finds every problem. A nil node reads as an empty map.
type section struct {
	*problems
	path  string
	node  *node
	shape *schema.Shape // the keys of the map, and what their values may be; nil where keys are free
}

// section opens the map at n and reports keys that its shape does not have. ok is false if n is something else.
func (p *problems) section(path string, n *node, shape *schema.Shape) (s section, ok bool) {
	s = section{problems: p, path: path, node: &node{kind: mapNode}, shape: shape}
	if n == nil {
		return s, true
	}
	if n.kind != mapNode {
		p.add(path, n.line, "must be a map, not %s", n.kind)
		return s, false
	}
	s.node = n
	for _, e := range n.keys {
		if len(p.list) == maxProblems {
			break
		}
		if shape.Find(e.key) == nil {
			p.add(join(path, e.key), e.line, "unknown field%s", hintOrList(path, e.key, shape.Names()))
		}
	}
	return s, true
}

// hintOrList names the known word nearest to word below path, or else all of them.
func hintOrList(path, word string, known []string) string {
	if len(path) > maxPath/3 { // of steps nested deep: the word says enough
		path = ""
	}
	return clip(schema.Hint(path, word, known), maxPath)
}

func (s section) at(key string) string { return join(s.path, key) }

func (s section) get(key string) *node { return s.node.get(key) }

func (s section) wrong(key, format string, args ...any) {
	s.add(s.at(key), s.node.keyLine(key), format, args...)
}

// text returns the string at key. Numbers are not text here.
func (s section) text(key string) string {
	n := s.get(key)
	if n == nil {
		return ""
	}
	if n.kind != textNode {
		s.wrong(key, "must be text, not %s", n.kind)
		return ""
	}
	return n.text
}

// choice returns the word at key, which must be one of those of its shape.
func (s section) choice(key, missing string) string {
	return s.option(key, missing, s.shape.Find(key).Enum)
}

// option returns the word at key, which must be one of the options.
func (s section) option(key, missing string, options []string) string {
	n := s.get(key)
	if n == nil {
		return missing
	}
	if n.kind != textNode || !slices.Contains(options, n.text) {
		near := ""
		if n.kind == textNode {
			near = hint(n.text, options)
		}
		s.wrong(key, "must be one of %s, not %s%s", strings.Join(options, ", "), describe(n), near)
		return missing
	}
	return n.text
}

// describe shows a value in a message.
func describe(n *node) string {
	switch n.kind {
	case textNode:
		return strconv.Quote(clip(n.text, 64))
	case numberNode, boolNode:
		return clip(n.plain, 64)
	}
	return n.kind.String()
}

// integer returns the whole number at key, which must lie in the bounds of its shape.
func (s section) integer(key string, missing int) int {
	n := s.get(key)
	if n == nil {
		return missing
	}
	field := s.shape.Find(key)
	low, high := int(*field.Min), int(*field.Max)
	i, err := strconv.Atoi(n.text)
	if n.kind != numberNode || err != nil || i < low || i > high {
		s.wrong(key, "must be a whole number%s, not %s", bounds(key, low, high), describe(n))
		return missing
	}
	return i
}

// bounds says between what a number must be; of times also their unit, and the bounds in words.
func bounds(key string, low, high int) string {
	if lower := strings.ToLower(key); !strings.HasSuffix(lower, "timeout") && !strings.HasSuffix(key, "Ms") {
		return fmt.Sprintf(" from %d to %d", low, high)
	}
	return fmt.Sprintf(" of milliseconds from %d to %d (%s)", low, high, inWords(time.Duration(high)*time.Millisecond))
}

// inWords says how long d is in the largest unit that it is a whole number of.
func inWords(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := d / unit.length; n*unit.length == d && n > 0 {
			if n == 1 {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}

// number returns the number at key, which must lie in the bounds of its shape.
func (s section) number(key string, missing float64) float64 {
	field := s.shape.Find(key)
	return s.numberIn(key, missing, float64(*field.Min), float64(*field.Max))
}

// numberIn returns the number at key, which must lie in [low, high].
func (s section) numberIn(key string, missing, low, high float64) float64 {
	n := s.get(key)
	if n == nil {
		return missing
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if n.kind != numberNode || err != nil || f < low || f > high {
		s.wrong(key, "must be a number from %s to %s, not %s", formatNumber(low), formatNumber(high), describe(n))
		return missing
	}
	return f
}

// boolean returns the boolean at key.
func (s section) boolean(key string, missing bool) bool {
	n := s.get(key)
	if n == nil {
		return missing
	}
	if n.kind != boolNode {
		s.wrong(key, "must be true or false, not %s", describe(n))
		return missing
	}
	return n.text == "true"
}

// maxWord is the length in bytes of the longest capability, name, user or role.
const maxWord = 128

// maxWords is how many of them a list may have.
const maxWords = 1000

// words returns the list of distinct non-empty strings at key.
func (s section) words(key string) []string {
	n := s.get(key)
	if n == nil {
		return nil
	}
	if n.kind != listNode {
		s.wrong(key, "must be a list of texts, not %s", n.kind)
		return nil
	}
	if len(n.items) > maxWords {
		s.wrong(key, "has %d items; at most %d are allowed", len(n.items), maxWords)
		return nil
	}
	words := make([]string, 0, len(n.items))
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", s.at(key), i)
		switch {
		case item.kind != textNode:
			s.add(at, item.line, "must be text, not %s", item.kind)
		case item.text == "" || len(item.text) > maxWord || strings.ContainsFunc(item.text, isControl):
			s.add(at, item.line, "must be 1 to %d bytes of text without control characters", maxWord)
		case slices.Contains(words, item.text):
			s.add(at, item.line, "%q is listed twice", item.text)
		default:
			words = append(words, item.text)
		}
	}
	return words
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
