package cmd

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/client"
)

var (
	markedVariable = regexp.MustCompile(`\$\{[^}]*\}`)
	markedText     = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	markedKey      = regexp.MustCompile(`([A-Za-z0-9_-]+)(?:\[\d+\])*$`)
)

// markOf finds what a problem speaks of in its line: the variable or the word that its reason quotes, else the
// last key of its path. It returns where that begins and ends, in bytes; false if it is not there.
func markOf(line string, p client.Problem) (begin, end int, ok bool) {
	reason, _, _ := strings.Cut(p.Reason, "; did you mean")
	var words []string
	if word := markedVariable.FindString(reason); word != "" {
		words = append(words, word, strings.TrimSuffix(strings.TrimPrefix(word, "${"), "}")) // variables may be bare
	}
	if quoted := markedText.FindString(reason); quoted != "" {
		if word, err := strconv.Unquote(quoted); err == nil {
			words = append(words, strings.TrimSuffix(word, "..."))
		}
	}
	for _, word := range words {
		if i := strings.Index(line, word); i >= 0 && word != "" {
			return i, i + len(word), true
		}
	}
	match := markedKey.FindStringSubmatch(p.Path)
	if match == nil {
		return 0, 0, false
	}
	key := regexp.MustCompile(`(?:^|[\s{,"'])` + regexp.QuoteMeta(match[1]) + `["']?\s*:`)
	found := key.FindStringIndex(line)
	if found == nil {
		return 0, 0, false
	}
	begin = found[0] + strings.Index(line[found[0]:found[1]], match[1])
	return begin, begin + len(match[1]), true
}
