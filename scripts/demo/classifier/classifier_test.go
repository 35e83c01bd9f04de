package classifier_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/demo/classifier"
)

func corpus(t testing.TB) []classifier.Example {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	examples, err := classifier.ParseExamples(data)
	if err != nil {
		t.Fatal(err)
	}
	return examples
}

func newClassifier(t testing.TB, method string) classifier.Classifier {
	t.Helper()
	c, err := classifier.New(method)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCorpus guards what the demo promises: enough real items, and a training set apart from them.
func TestCorpus(t *testing.T) {
	train, err := classifier.Training()
	if err != nil {
		t.Fatal(err)
	}
	items := corpus(t)
	if len(items) < 240 || len(train) < 100 {
		t.Errorf("%d items and %d training messages, want 240 and 100 at least", len(items), len(train))
	}
	seen, ids, count := map[string]bool{}, map[string]bool{}, map[classifier.Category]int{}
	for _, e := range append(items, train...) {
		text := strings.ToLower(e.Text)
		if seen[text] || ids[e.ID] {
			t.Errorf("%s is there twice: %s", e.ID, e.Text)
		}
		seen[text], ids[e.ID] = true, true
	}
	for _, e := range items {
		count[e.Gold]++
	}
	for _, c := range classifier.Categories {
		if count[c] < 40 {
			t.Errorf("only %d items of %s", count[c], c)
		}
	}
}

// TestMethods_Accuracy holds each method to being useful and to being different from the others.
func TestMethods_Accuracy(t *testing.T) {
	items := corpus(t)
	votes := map[string][]classifier.Category{}
	for _, method := range classifier.Methods {
		c := newClassifier(t, method)
		right := 0
		for _, item := range items {
			v := c.Classify(item.Text)
			if v.Confidence <= 0 || v.Confidence > 1 || v.Reasoning == "" || !slices.Contains(classifier.Categories, v.Category) {
				t.Fatalf("%s of %s: %+v", method, item.ID, v)
			}
			if v.Category == item.Gold {
				right++
			}
			votes[method] = append(votes[method], v.Category)
		}
		share := float64(right) / float64(len(items))
		t.Logf("%s: %.1f %%", method, 100*share)
		if share < 0.6 {
			t.Errorf("%s is right in %.1f %% only", method, 100*share)
		}
	}
	disagree := 0
	for i := range items {
		if votes["lexicon"][i] != votes["rules"][i] || votes["rules"][i] != votes["bayes"][i] {
			disagree++
		}
	}
	t.Logf("%d of %d not unanimous", disagree, len(items))
	if disagree < len(items)/10 {
		t.Errorf("only %d of %d items are disputed: the vote shows nothing", disagree, len(items))
	}
}

func TestMethods_Plain(t *testing.T) {
	for _, method := range classifier.Methods {
		c := newClassifier(t, method)
		for text, want := range map[string]classifier.Category{
			"Please send me the invoice for my last payment.":     classifier.Billing,
			"The app crashes with an error message on every save": classifier.Technical,
			"I forgot my password and cannot sign in":             classifier.Account,
			"The parcel was damaged, the courier dropped it":      classifier.Shipping,
			"Thank you, I really love the new design!":            classifier.Feedback,
		} {
			if v := c.Classify(text); v.Category != want {
				t.Errorf("%s: %q is %+v, want %s", method, text, v, want)
			}
		}
	}
}

func TestMethods_SameEveryTime(t *testing.T) {
	for _, method := range classifier.Methods {
		first, second := newClassifier(t, method), newClassifier(t, method)
		for _, item := range corpus(t) {
			if a, b := first.Classify(item.Text), second.Classify(item.Text); !reflect.DeepEqual(a, b) {
				t.Fatalf("%s of %s: %+v and %+v", method, item.ID, a, b)
			}
		}
	}
}

func TestNew_UnknownMethod(t *testing.T) {
	if _, err := classifier.New("oracle"); err == nil || !strings.Contains(err.Error(), "lexicon, rules, bayes") {
		t.Errorf("got %v", err)
	}
}

func TestParseExamples_Bad(t *testing.T) {
	for name, data := range map[string]string{
		"notJSON":      "{\"text\":\"a\",\"gold\":\"billing\"}\nx",
		"noText":       `{"gold":"billing"}`,
		"unknownLabel": `{"text":"a","gold":"weather"}`,
	} {
		if _, err := classifier.ParseExamples([]byte(data)); err == nil || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzClassify(f *testing.F) {
	for _, item := range corpus(f)[:20] {
		f.Add(item.Text)
	}
	f.Add("")
	f.Add("\xff\x00'’ße")
	var all []classifier.Classifier
	for _, method := range classifier.Methods {
		all = append(all, newClassifier(f, method))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range all {
			if v := c.Classify(text); v.Confidence <= 0 || v.Confidence > 1 || !slices.Contains(classifier.Categories, v.Category) {
				t.Errorf("%q: %+v", text, v)
			}
		}
	})
}
