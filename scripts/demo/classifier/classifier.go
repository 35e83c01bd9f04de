// Package classifier sorts customer-support messages into categories, in three ways that err differently: a
// lexicon of weighted words, rules over phrases, and naive Bayes trained on bundled messages.
//
// It owns the methods and their knowledge, and no input or output: it works on text, in memory, the same
// every time. The demo's agents call it, one method each, so that their votes truly differ.
package classifier

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Category is the subject of a message.
type Category string

// The categories.
const (
	Billing   Category = "billing"   // money: charges, invoices, refunds, plans
	Technical Category = "technical" // something does not work, or how to make it work
	Account   Category = "account"   // sign-in, identity, users and rights, personal data
	Shipping  Category = "shipping"  // orders on their way, returns, damage
	Feedback  Category = "feedback"  // praise, complaints and wishes that ask for no help
)

// Categories lists all categories, in a fixed order.
var Categories = []Category{Billing, Technical, Account, Shipping, Feedback}

// Verdict is the classification of a message by one method.
type Verdict struct {
	Category   Category `json:"category"`
	Confidence float64  `json:"confidence"` // 0 to 1
	Reasoning  string   `json:"reasoning"`  // the cues that decided, for people
}

// Classifier is one method. Implementations are immutable: safe for concurrent use, no side effects.
type Classifier interface {
	Classify(text string) Verdict
}

// Methods lists the names that New takes.
var Methods = []string{"lexicon", "rules", "bayes"}

// New makes the classifier of a method.
func New(method string) (Classifier, error) {
	switch method {
	case "lexicon":
		return newLexicon(), nil
	case "rules":
		return newRules(), nil
	case "bayes":
		examples, err := Training()
		if err != nil {
			return nil, err
		}
		return newBayes(examples), nil
	}
	return nil, fmt.Errorf("unknown method %q: must be one of %s", method, strings.Join(Methods, ", "))
}

// scores are the weights that cues gave to the categories, and the cues themselves.
type scores struct {
	weight map[Category]float64
	cues   map[Category][]string
}

func newScores() *scores {
	return &scores{weight: make(map[Category]float64), cues: make(map[Category][]string)}
}

func (s *scores) add(c Category, weight float64, cue string) {
	s.weight[c] += weight
	if !slices.Contains(s.cues[c], cue) {
		s.cues[c] = append(s.cues[c], cue)
	}
}

// verdict is the category with the highest weight; on a tie the first in the order of Categories. Without
// any cue it is fallback, with little confidence.
func (s *scores) verdict(fallback Category) Verdict {
	best, total := fallback, 0.0
	for _, c := range Categories {
		total += s.weight[c]
		if s.weight[c] > s.weight[best] {
			best = c
		}
	}
	if s.weight[best] == 0 {
		return Verdict{Category: fallback, Confidence: 0.25, Reasoning: "no known cue"}
	}
	// Confident when the cues agree and when there are enough of them.
	agreement := s.weight[best] / total
	evidence := 1 - math.Exp(-s.weight[best]/2)
	return Verdict{Category: best, Confidence: round(0.2 + 0.79*agreement*evidence), Reasoning: reasoning(s.cues[best])}
}

func reasoning(cues []string) string {
	const most = 5
	if len(cues) > most {
		cues = cues[:most]
	}
	return "cues: " + strings.Join(cues, ", ")
}

// round keeps two decimals, so that results read well and compare equal.
func round(x float64) float64 { return math.Round(x*100) / 100 }
