package classifier

import (
	"strings"
	"unicode"
)

// tokens splits text into lower-case stems. Apostrophes join ("don't" is "dont"), everything else that is
// not a letter separates, digits included.
func tokens(text string) []string {
	text = strings.ToLower(strings.NewReplacer("'", "", "’", "").Replace(text))
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	for i, w := range words {
		words[i] = stem(w)
	}
	return words
}

// stem cuts the common English endings. It is coarse: it need only map the same words to the same stem.
func stem(w string) string {
	for _, rule := range [...]struct {
		ending, instead string
		least           int // letters that must remain
	}{
		{"ies", "y", 3}, {"sses", "ss", 2}, {"ings", "", 4}, {"ing", "", 4}, {"ed", "", 4}, {"es", "", 4}, {"s", "", 3},
	} {
		if base, found := strings.CutSuffix(w, rule.ending); found && len(base) >= rule.least {
			if rule.ending == "s" && strings.HasSuffix(base, "s") {
				return w
			}
			return strings.TrimSuffix(base, "e") + rule.instead
		}
	}
	if len(w) > 3 {
		return strings.TrimSuffix(w, "e")
	}
	return w
}
