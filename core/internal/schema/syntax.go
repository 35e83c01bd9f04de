package schema

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

var unknownAnchor = regexp.MustCompile(`^unknown anchor '([^']+)' referenced`)

// lateLine matches the messages of the YAML reader that come with the number of the line before, or without one for the first.
var lateLine = regexp.MustCompile(`^(did not find expected (<|node content|'-'|key|',')|found (undefined tag handle|duplicate %|incompatible YAML))`)

// ownLine matches the messages of the YAML reader that name the line where the map or list around a fault began.
var ownLine = regexp.MustCompile(`^did not find expected (key|'-' indicator)`)

// keyedLine matches a line that begins with a key: its indent, and the value.
var keyedLine = regexp.MustCompile(`^( *)(?:- +)?[A-Za-z0-9_.-]+:(?: +(.*))?$`)

// maxSearched is the length of a text in bytes up to which the line of a fault is searched for: that reads it again and again.
const maxSearched = 128 << 10

// Syntax takes the line out of the YAML reader's error about source, 0 for none, and says what people do wrong where it shows.
func Syntax(err error, source string) (line int, reason string) {
	text := err.Error()
	match := yamlLine.FindStringSubmatch(text)
	line, _ = strconv.Atoi(match[1]) // 0 without one
	reason = strings.TrimSpace(text[len(match[0]):])
	if match := unknownAnchor.FindStringSubmatch(reason); match != nil {
		if before, _, ok := strings.Cut(source, "*"+match[1]); ok && line == 0 {
			line = strings.Count(before, "\n") + 1
		}
		return line, fmt.Sprintf("is not YAML: *%s refers to an anchor that is not there before it (&%s); a text that begins with * needs quotes",
			match[1], match[1])
	}
	if lateLine.MatchString(reason) {
		line++
	}
	line = max(1, min(line, strings.Count(strings.TrimRight(source, "\n"), "\n")+1)) // the end of the text is in its last line
	block := ownLine.FindStringSubmatch(reason)
	if block != nil {
		line = faultyLine(source, line)
	}
	at := lineOf(source, line)
	switch {
	case strings.HasPrefix(reason, "found character that cannot start any token") && strings.Contains(at, "\t"):
		return line, "is not YAML: there is a tab, and YAML is indented with spaces only"
	case strings.HasSuffix(reason, "did not find expected alphabetic or numeric character"):
		reason += "; a text that begins with * or & needs quotes"
	case block != nil && beginsQuoted(at):
		reason += "; a text that only begins with a quote needs quotes around the whole of it"
	case len(block) > 1 && block[1] == "key":
		reason += ": this line is not indented like the others of its map"
	case block != nil:
		reason += ": this line is not indented like the others of its list"
	case strings.HasPrefix(reason, "mapping values are not allowed") && deeper(source, line):
		reason += ": this line is indented deeper than the one above, which has a value already"
	case strings.HasPrefix(reason, "mapping values are not allowed"):
		reason += "; a text with a colon and a space in it needs quotes"
	case strings.HasPrefix(reason, "did not find expected ',' or"):
		reason += "; inside { } and [ ] a text with ${...} needs quotes"
	}
	return line, "is not YAML: " + reason
}

// faultyLine returns the line of a fault in a map or list that is written in lines: the first one whose text up to its end is
// refused in the same way. A text that is cut between two of their lines is whole. named is the line that the reader named.
func faultyLine(source string, named int) int {
	if len(source) > maxSearched {
		return named
	}
	var ends []int // of the lines
	for i, c := range []byte(source) {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	ends = append(ends, len(source))
	first := sort.Search(len(ends), func(i int) bool {
		var node yaml.Node
		err := yaml.Unmarshal([]byte(source[:ends[i]]), &node)
		if err == nil {
			return false
		}
		text := err.Error()
		return ownLine.MatchString(strings.TrimSpace(text[len(yamlLine.FindString(text)):]))
	})
	if first == len(ends) {
		return named
	}
	return first + 1
}

// lineOf returns a line of a text, from 1 on; "" for one that is not there.
func lineOf(source string, line int) string {
	lines := strings.SplitN(source, "\n", line+1)
	if line < 1 || line > len(lines) {
		return ""
	}
	return lines[line-1]
}

// beginsQuoted reports whether the value of a line begins with a quote.
func beginsQuoted(line string) bool {
	value := strings.TrimPrefix(strings.TrimSpace(line), "- ")
	if _, after, ok := strings.Cut(value, ": "); ok {
		value = after
	}
	value = strings.TrimSpace(value)
	return strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'")
}

// deeper reports whether a line begins with a key, deeper than that of the line above, which has a value.
func deeper(source string, line int) bool {
	here := keyedLine.FindStringSubmatch(strings.TrimRight(lineOf(source, line), "\r"))
	for line--; here != nil && line > 0; line-- {
		text := strings.TrimRight(lineOf(source, line), " \r")
		if text == "" {
			continue
		}
		above := keyedLine.FindStringSubmatch(text)
		return len(above) > 2 && above[2] != "" && len(above[1]) < len(here[1])
	}
	return false
}
