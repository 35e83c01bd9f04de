package pattern_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pattern"
)

// What regular expressions of an input cost is bounded, by the instructions that they are compiled to times the text that
// they are applied to: unbounded, the first takes 25 s that nobody can cancel.
func TestInputExpressionsAreBounded(t *testing.T) {
	const head = "name: p\nversion: 1.0.0\nagents: {capabilities: [c]}\ninput:\n"
	costly := strings.Repeat("(a?){1000}", 29) + "b$"
	for name, c := range map[string]struct {
		fields string
		input  string
	}{
		"one text":   {"  a: {type: string, pattern: '" + costly + "'}\n", fmt.Sprintf(`{"a":%q}`, strings.Repeat("a", 10<<10))},
		"many texts": {"  a: {type: array, items: {type: string, pattern: '" + costly + "'}}\n", `{"a":["` + strings.Repeat(`aaaaaaaaaa","`, 10_000) + `"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			plan := mustParse(t, head+c.fields)
			began := coretest.CPU(t)
			_, err := plan.CheckInput(json.RawMessage(c.input))
			if took := coretest.CPU(t) - began; took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(fmt.Sprint(core.AsError(err).Details), "too long to be matched") {
				t.Errorf("got %.300v", err)
			}
		})
	}
	// So is what they take by themselves: unbounded, these 27 kB take 40 s and keep a GiB.
	var fields strings.Builder
	for i := range 50 {
		fmt.Fprintf(&fields, "  f%d: {type: string, pattern: '(?:%s){1000}'}\n", i, strings.Repeat("abcdefghij", 49))
	}
	began := coretest.CPU(t)
	_, found := pattern.Parse(head + fields.String())
	if took := coretest.CPU(t) - began; took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(found) != 49 || !strings.Contains(found[0].Reason, "longer than 500000 instructions") {
		t.Errorf("%d problems: %.300v", len(found), found)
	}
	// And what they cost on the defaults of a definition: each by itself within the bound, together they take minutes.
	var defaults strings.Builder
	defaults.WriteString("  t: {type: string, default: &t " + strings.Repeat("a", 10_000) + "}\n")
	for i := range 200 {
		fmt.Fprintf(&defaults, "  d%d: {type: string, pattern: '(a?){495}b?$', default: *t}\n", i)
	}
	began = coretest.CPU(t)
	_, found = pattern.Parse(head + defaults.String())
	if took := coretest.CPU(t) - began; took > 10*time.Second {
		t.Errorf("the defaults took %v", took)
	}
	if len(found) == 0 || !strings.Contains(found[0].Reason, "too long to be matched") {
		t.Errorf("%d problems of the defaults: %.300s", len(found), fmt.Sprint(found))
	}
	var ordinary strings.Builder
	for i := range 30 {
		fmt.Fprintf(&ordinary, "  f%d: {type: string, pattern: '^[\\p{L}\\p{N}_. -]{1,64}$'}\n", i)
	}
	mustParse(t, head+ordinary.String())
	// An ordinary expression takes an ordinary text, however long.
	plan := mustParse(t, head+"  a: {type: string, pattern: '^[a-z ]+$'}\n")
	if _, err := plan.CheckInput(json.RawMessage(fmt.Sprintf(`{"a":%q}`, strings.Repeat("word ", 200_000)))); err != nil {
		t.Errorf("a text of 1 MB: %v", err)
	}
}
