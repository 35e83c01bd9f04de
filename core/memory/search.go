package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/wardroom/wardroom/core"
)

// Bounds of one search.
const (
	// maxQuery is how much of a query is looked at, in bytes.
	maxQuery = 4000
	// maxTerms is how many different words of a query are looked for, the rarest ones.
	maxTerms = 16
	// maxPostings bounds how many entries of the index a search reads, which is its cost: words that stand in
	// very many experiences are left out when rarer ones use it up.
	maxPostings = 60_000
	// MaxDepth is how far offset and limit of a list with a query may reach.
	MaxDepth = 10_000
)

// term is one word of a query, as the index has it.
type term struct {
	text     string
	fields   []string // in which it stands anywhere
	postings uint64   // entries over all of them
}

// hit is one experience that was found.
type hit struct {
	id    string
	score float64
}

// terms returns the words of people's text that are worth looking for. No character has a meaning of its own. With noDetails
// neither what they are nor where they are looked for depends on details.
func (x *index) terms(ctx context.Context, text string, noDetails bool) (list []term, err error) {
	defer survive(&err)
	reader, err := x.inner.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	seen := map[string]bool{}
	for _, token := range x.analyzer.Analyze([]byte(bounded(text, maxQuery))) {
		t := term{text: string(token.Term)}
		if seen[t.text] || t.text == "" {
			continue
		}
		seen[t.text] = true
		for _, field := range textNames {
			if noDetails && field == detailsField {
				continue
			}
			postings, err := reader.TermFieldReader(ctx, token.Term, field, false, false, false)
			if err != nil {
				return nil, err
			}
			if n := postings.Count(); n > 0 {
				t.postings += n
				t.fields = append(t.fields, field)
			}
			if err := postings.Close(); err != nil {
				return nil, err
			}
		}
		if t.postings > 0 {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b term) int {
		if a.postings != b.postings {
			if a.postings < b.postings {
				return -1
			}
			return 1
		}
		return strings.Compare(a.text, b.text)
	})
	read := uint64(0)
	for i, t := range list {
		read += t.postings
		if i > 0 && (read > maxPostings || i == maxTerms) {
			return list[:i], nil
		}
	}
	return list, nil
}

// search finds the experiences that hold any of the terms and match the filter, the most relevant first.
func (x *index) search(ctx context.Context, terms []term, f core.ExperienceFilter, offset, limit int) (hits []hit, total int, err error) {
	if len(terms) == 0 {
		return nil, 0, nil
	}
	defer survive(&err)
	var words []query.Query
	for _, t := range terms {
		for _, field := range t.fields {
			q := bleve.NewTermQuery(t.text)
			q.SetField(field)
			q.SetBoost(texts[field])
			words = append(words, q)
		}
	}
	all := []query.Query{bleve.NewDisjunctionQuery(words...)}
	for _, exact := range []struct{ field, value string }{
		{"repo", f.Repo}, {"role", f.Role}, {"outcome", string(f.Outcome)}, {"execution", f.ExecutionID},
	} {
		if exact.value != "" {
			q := bleve.NewTermQuery(exact.value)
			q.SetField(exact.field)
			q.SetBoost(0)
			all = append(all, q)
		}
	}
	q := all[0]
	if len(all) > 1 {
		q = bleve.NewConjunctionQuery(all...)
	}
	result, err := x.bleve.SearchInContext(ctx, bleve.NewSearchRequestOptions(q, limit, offset, false))
	if err != nil {
		return nil, 0, err
	}
	for _, found := range result.Hits {
		hits = append(hits, hit{found.ID, found.Score})
	}
	return hits, int(result.Total), nil
}
