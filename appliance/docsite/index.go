package docsite

import (
	"cmp"
	"html/template"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// index finds sections by the words in them. It never changes once it is made.
type index struct {
	sections []indexed
	words    []string             // sorted
	postings map[string][]posting // by word
}

// indexed is a section as it is found.
type indexed struct {
	section
	page *page
}

// posting says how much a word means to a section.
type posting struct {
	at     int // in index.sections
	weight float64
}

// found is a section that has all words of a query.
type found struct {
	indexed
	excerpt template.HTML
}

// Weights of a word by where it stands.
const (
	inPageTitle = 3
	inTitle     = 5
)

// newIndex reads all pages.
func newIndex(s *site) *index {
	ix := &index{postings: map[string][]posting{}}
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		p := s.byName[name]
		for _, part := range p.made().sections {
			if part.ID == "" && part.text == "" {
				continue
			}
			part.Title = cmp.Or(part.Title, p.title)
			ix.add(indexed{part, p})
		}
	}
	ix.words = slices.Sorted(maps.Keys(ix.postings))
	return ix
}

func (ix *index) add(s indexed) {
	at := len(ix.sections)
	ix.sections = append(ix.sections, s)
	weights := map[string]float64{}
	body := wordsOf(s.text)
	for _, word := range body {
		weights[word]++
	}
	long := 1 + math.Log1p(float64(len(body))/100) // a word means less in a long section
	for word, n := range weights {
		weights[word] = (1 + math.Log(n)) / long
	}
	for _, word := range wordsOf(s.Title) {
		weights[word] += inTitle
	}
	for _, word := range wordsOf(s.page.title) {
		weights[word] += inPageTitle
	}
	for word, weight := range weights {
		ix.postings[word] = append(ix.postings[word], posting{at, weight})
	}
}

// maxWords bounds the words of a query that count.
const maxWords = 8

// find returns the sections that have all words of a query, or words that begin with them, the best first.
func (ix *index) find(query string, most int) []found {
	words := wordsOf(query)
	if len(words) > maxWords {
		words = words[:maxWords]
	}
	var scores map[int]float64
	for _, word := range words {
		of := ix.scores(word)
		if scores == nil {
			scores = of
			continue
		}
		for at := range scores {
			if weight, ok := of[at]; ok {
				scores[at] += weight
			} else {
				delete(scores, at)
			}
		}
	}
	list := slices.SortedFunc(maps.Keys(scores), func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), a-b)
	})
	results := make([]found, 0, min(most, len(list)))
	for _, at := range list[:min(most, len(list))] {
		s := ix.sections[at]
		results = append(results, found{s, excerpt(s.text, words)})
	}
	return results
}

// scores returns what each section that has a word, or one that begins with it, is worth by it. Words that few sections
// have count for more.
func (ix *index) scores(word string) map[int]float64 {
	best := map[int]float64{}
	for i := sort.SearchStrings(ix.words, word); i < len(ix.words) && strings.HasPrefix(ix.words[i], word); i++ {
		near := 1.0
		if ix.words[i] != word {
			near = 0.4
		}
		for _, p := range ix.postings[ix.words[i]] {
			best[p.at] = max(best[p.at], near*p.weight)
		}
	}
	rare := math.Log1p(float64(len(ix.sections)) / float64(1+len(best)))
	for at := range best {
		best[at] *= rare
	}
	return best
}

// wordsOf returns the words of a text in lower case: letters and digits.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// excerptBytes is about how much of a section a result shows.
const excerptBytes = 240

// excerpt returns the part of a text around the first word of a query, with the words marked.
func excerpt(text string, words []string) template.HTML {
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // some letters are longer in lower case: places would not agree
		lower = text
	}
	from := len(lower)
	for _, word := range words {
		if at := strings.Index(lower, word); at >= 0 {
			from = min(from, at)
		}
	}
	if from == len(lower) {
		from = 0
	}
	from = max(0, from-excerptBytes/4)
	if space := strings.IndexByte(text[from:], ' '); from > 0 && space >= 0 {
		from += space + 1
	}
	to := min(len(text), from+excerptBytes)
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	var b strings.Builder
	for at := from; at < to; {
		marked := 0
		if at == 0 || !isWord(lower[at-1]) {
			for _, word := range words {
				if strings.HasPrefix(lower[at:to], word) {
					marked = max(marked, len(word))
				}
			}
		}
		if marked > 0 {
			b.WriteString("<mark>" + template.HTMLEscapeString(text[at:at+marked]) + "</mark>")
			at += marked
			continue
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		b.WriteString(template.HTMLEscapeString(text[at : at+size]))
		at += size
	}
	if to < len(text) {
		b.WriteString(" …")
	}
	return template.HTML(b.String())
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= utf8.RuneSelf
}
