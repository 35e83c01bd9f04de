package pattern_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
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
	// An ordinary expression takes an ordinary text, however long.
	plan := mustParse(t, head+"  a: {type: string, pattern: '^[a-z ]+$'}\n")
	if _, err := plan.CheckInput(json.RawMessage(fmt.Sprintf(`{"a":%q}`, strings.Repeat("word ", 200_000)))); err != nil {
		t.Errorf("a text of 1 MB: %v", err)
	}
}
