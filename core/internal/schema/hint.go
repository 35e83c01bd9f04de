package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known word that a text is most likely a misspelling or the beginning of, or "".
func Nearest(text string, known []string) string {
	const longest = 64 // the cost grows with the product of the lengths, and the text is anybody's
	if len(text) > longest {
		return ""
	}
	lower := strings.ToLower(text)
	best, least := "", mostEdits(text)+1
	for _, word := range known {
		if len(word) > longest {
			continue
		}
		candidate := strings.ToLower(word)
		d := levenshtein.ComputeDistance(lower, candidate)
		if len(lower) > 3 && strings.HasPrefix(candidate, lower[:3]) {
			d-- // vote is nearer to voting than the count of letters says
		}
		if d < least && d < len(word) {
			best, least = word, d
		}
	}
	if best != "" || len(text) < 3 {
		return best
	}
	for _, word := range known {
		if strings.HasPrefix(strings.ToLower(word), lower) {
			return word
		}
	}
	return ""
}

// mostEdits is how many edits still make a misspelling rather than another word. Two swapped letters count as two.
func mostEdits(text string) int {
	if len(text) < 4 {
		return 1
	}
	return max(2, min(3, len(text)/3))
}

// Hint returns what to do about a name that is not known below path, as the tail of a problem: the nearest
// known one, or else all of them.
func Hint(path, name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", Join(path, near))
	}
	if len(known) == 0 {
		return "; none is known here"
	}
	return "; known are " + strings.Join(known, ", ")
}

// Join extends a dotted path, which is "" at the top, by a name.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Clip shortens a text of somebody else for a problem.
func Clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}
