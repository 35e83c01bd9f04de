package pattern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// These tests look inside: what they check cannot be seen through the exported names.

func TestPathRoundTrip(t *testing.T) {
	for _, text := range []string{"a", "a.b-c_1", "a[0][12].b", `a["x y"]`, `a["q\"\\"].z`, `a[""]`} {
		p, err := parsePath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.String(); got != text {
			t.Errorf("%s comes back as %s", text, got)
		}
	}
	if p, err := parsePath(`a["b"].c`); err != nil || p.String() != "a.b.c" {
		t.Errorf("a plain key keeps its quotes: %s, %v", p, err)
	}
	for _, bad := range []string{"", ".", "a.", ".a", "a..b", "a[", "a[]", "a[-1]", "a[+1]", "a[x]", "a[1", `a["`, `a["b`, `a["b"`, "a b", "a[9999999]", "é", "[0]"} {
		if p, err := parsePath(bad); err == nil {
			t.Errorf("%q is read as %v", bad, p)
		}
	}
}

func TestCacheDropsTheLeastRecentlyUsed(t *testing.T) {
	c := newCache(3 * (overhead + 100))
	put := func(key string) { c.put(key, &compiled{}, 100) }
	has := func(key string) bool { _, ok := c.byKey[key]; return ok }
	put("a")
	put("b")
	put("c")
	c.get("a")
	put("d")
	if !has("a") || has("b") || !has("c") || !has("d") {
		t.Errorf("kept %v", c.byKey)
	}
	put("d") // again: counted once
	if c.size != 3*(overhead+100) || c.order.Len() != 3 {
		t.Errorf("size %d of %d entries", c.size, c.order.Len())
	}
	c.put("huge", &compiled{}, 1<<20)
	if !has("huge") || c.order.Len() != 1 {
		t.Errorf("%d entries beside the newest", c.order.Len()-1)
	}
}

func TestFamilyRemembersFewRanges(t *testing.T) {
	f := newFamily([]*core.Pattern{{Name: "p", Version: "1.0.0"}})
	for i := range 3 * maxResolved {
		if p, err := f.find(fmt.Sprintf(">=0.%d", i)); err != nil || p == nil {
			t.Fatal(p, err)
		}
	}
	if len(f.resolved) != maxResolved {
		t.Errorf("%d ranges are kept", len(f.resolved))
	}
}

func TestHint(t *testing.T) {
	known := []string{"capabilities", "min", "max", "taskTimeout", "voting"}
	for word, want := range map[string]string{
		"capabilitys": "capabilities", "tasktimeout": "taskTimeout", "mn": "min", "vote": "voting", "zzz": "", "x": "", "": "",
	} {
		if want != "" {
			want = fmt.Sprintf("; did you mean %s?", want)
		}
		if got := hint(word, known); got != want {
			t.Errorf("hint(%q) is %q", word, got)
		}
	}
}

func TestEither(t *testing.T) {
	for want, words := range map[string][]string{"nothing": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := either(words); got != want {
			t.Errorf("either(%v) is %q", words, got)
		}
	}
}

func TestClip(t *testing.T) {
	if got := clip("aéb", 2); got != "a..." {
		t.Errorf("a cut character is shown: %q", got)
	}
	if got := clip("abc", 3); got != "abc" {
		t.Errorf("got %q", got)
	}
}

// TestWords: the words of the language are those of the core.
func TestWords(t *testing.T) {
	enum := func(s *schema.Shape, key string) []string { return s.Find(key).Enum }
	for _, c := range []struct{ got, want any }{
		{enum(shapeOf[stepTypeText](), "type"), core.StepKinds},
		{enum(shapeOf[escalationText](), "defaultBehavior"), core.Behaviors},
		{enum(shapeOf[escalationText](), "onMaxDepth"), core.Behaviors[1:]},
		{enum(shapeOf[aggregateText](), "method"), core.Methods},
		{enum(shapeOf[stepExecutionText](), "strategy"), []core.StepStrategy{core.StepParallel, core.StepSequential, core.StepRace}},
		{enum(shapeOf[validationText](), "onFailure"), []core.OnInvalid{core.OnInvalidFail, core.OnInvalidRetry, core.OnInvalidFallback}},
		{enum(shapeOf[approveText](), "onReject"), []core.OnReject{core.OnRejectContinue, core.OnRejectFail, core.OnRejectRetry}},
	} {
		if got, want := fmt.Sprint(c.got), fmt.Sprint(c.want); got != want {
			t.Errorf("%s, the core has %s", got, want)
		}
	}
	for _, kind := range core.StepKinds {
		if got := enum(stepShapes[kind], "type"); len(got) != 1 || got[0] != string(kind) {
			t.Errorf("%s is of type %v", kind, got)
		}
	}
}

// A text with 010 that an earlier release stored means what it did then; a new one is refused.
func TestStoredOctal(t *testing.T) {
	const source = "name: a\nversion: 010\nagents: {capabilities: [c], max: 010}\naggregation: {strategy: first}\n"
	plan, err := new(Service).compileStored(source, identity{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(plan.json); plan.definition.Version != "010" || !strings.Contains(got, `"max":8`) {
		t.Errorf("it is %s", got)
	}
	if _, problems := Parse(source); len(problems) != 1 || problems[0].Path != "agents.max" {
		t.Errorf("as a new one: %v", problems)
	}
}
