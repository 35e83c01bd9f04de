package classifier

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// bayes is a multinomial naive Bayes classifier over stems and pairs of neighbouring stems.
type bayes struct {
	prior    map[Category]float64            // logarithm of the share of each category
	features map[string]map[Category]float64 // logarithm of each feature's likelihood
	unseen   map[Category]float64            // the same of a feature that a category never had
}

// smoothing is added to every count, so that one unknown word does not rule out a category.
const smoothing = 0.4

func newBayes(examples []Example) *bayes {
	counts := make(map[string]map[Category]float64)
	totals, documents := make(map[Category]float64), make(map[Category]float64)
	for _, e := range examples {
		documents[e.Gold]++
		for _, f := range features(e.Text) {
			if counts[f] == nil {
				counts[f] = make(map[Category]float64)
			}
			counts[f][e.Gold]++
			totals[e.Gold]++
		}
	}
	b := &bayes{
		prior:    make(map[Category]float64),
		features: make(map[string]map[Category]float64),
		unseen:   make(map[Category]float64),
	}
	vocabulary := float64(len(counts))
	for _, c := range Categories {
		b.prior[c] = math.Log((documents[c] + 1) / (float64(len(examples)) + float64(len(Categories))))
		b.unseen[c] = math.Log(smoothing / (totals[c] + smoothing*vocabulary))
	}
	for f, byCategory := range counts {
		b.features[f] = make(map[Category]float64)
		for c, n := range byCategory {
			b.features[f][c] = math.Log((n + smoothing) / (totals[c] + smoothing*vocabulary))
		}
	}
	return b
}

// common are stems that every kind of message is full of. Alone they say nothing; in a pair they may.
var common = func() map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(`a an the this that these those it its i im ive id we our us you your he she they them his
		her my me and or but so if then than as of in on at to for from by with about into over is are was were be been
		am has have had do does did will would can could should may not no nor only just very too more most some any
		all every each other one two three few there here when where what who which how why now still yet again up out`) {
		set[stem(w)] = true
	}
	return set
}()

// features are the distinct stems and pairs of a text: whether a word is there says more than how often.
func features(text string) []string {
	words := tokens(text)
	var all []string
	for i, w := range words {
		if !common[w] {
			all = append(all, w)
		}
		if i > 0 && !(common[words[i-1]] && common[w]) {
			all = append(all, words[i-1]+" "+w)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Classify implements Classifier.
func (b *bayes) Classify(text string) Verdict {
	logs := make(map[Category]float64)
	for _, c := range Categories {
		logs[c] = b.prior[c]
	}
	type cue struct {
		feature string
		scores  map[Category]float64
	}
	var cues []cue
	for _, f := range features(text) {
		likelihood, known := b.features[f]
		if !known {
			continue // says the same, nothing, about each category
		}
		cues = append(cues, cue{f, likelihood})
		for _, c := range Categories {
			logs[c] += b.likelihood(likelihood, c)
		}
	}
	best := Categories[0]
	for _, c := range Categories {
		if logs[c] > logs[best] {
			best = c
		}
	}
	if len(cues) == 0 {
		return Verdict{Category: best, Confidence: 0.25, Reasoning: "no known cue"}
	}
	// Features of a text depend on each other, so the plain posterior is far too sure: it is cooled by their
	// number.
	heat := 1 + math.Sqrt(float64(len(cues)))/2
	sum := 0.0
	for _, c := range Categories {
		sum += math.Exp((logs[c] - logs[best]) / heat)
	}
	// What set the winner most apart from the average of the others.
	apart := func(x cue) float64 {
		others := 0.0
		for _, c := range Categories {
			if c != best {
				others += b.likelihood(x.scores, c)
			}
		}
		return b.likelihood(x.scores, best) - others/float64(len(Categories)-1)
	}
	slices.SortStableFunc(cues, func(x, y cue) int { return cmp.Compare(apart(y), apart(x)) })
	var names []string
	for _, x := range cues[:min(len(cues), 4)] {
		if apart(x) > 0 {
			names = append(names, x.feature)
		}
	}
	return Verdict{Category: best, Confidence: round(1 / sum), Reasoning: reasoning(names)}
}

func (b *bayes) likelihood(byCategory map[Category]float64, c Category) float64 {
	if l, seen := byCategory[c]; seen {
		return l
	}
	return b.unseen[c]
}
