package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// TestSyntax: what is no YAML is reported at its line, with the mistake that people make there.
func TestSyntax(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"indent of a map", "name: a\nagents:\n  capabilities: [x]\n   min: 2\n", "4: did not find expected key: this line is not indented like the others of its map"},
		{"indent back", "name: a\nagents:\n    min: 2\n  max: 3\noutput: {}\n", "4: did not find expected key: this line is not indented like the others of its map"},
		{"indent below a value", "name: a\nagents:\n  min: 1\n    max: 2\n", "4: mapping values are not allowed in this context: this line is indented deeper than the one above, which has a value already"},
		{"blank lines between", "agents:\n  min: 1\n\n    max: 2\n", "4: mapping values are not allowed in this context: this line is indented deeper than the one above, which has a value already"},
		{"indent of a list", "steps:\n  - a: 1\n  b: 2\n", "3: did not find expected '-' indicator: this line is not indented like the others of its list"},
		{"a colon", "task: do this: now\n", "1: mapping values are not allowed in this context; a text with a colon and a space in it needs quotes"},
		{"a colon below", "a: b\ntask: do this: now\n", "2: mapping values are not allowed in this context; a text with a colon and a space in it needs quotes"},
		{"half quoted", "steps:\n  - type: condition\n    check: 'fast' == input.mode\n    then: x\n", "3: did not find expected key; a text that only begins with a quote needs quotes around the whole of it"},
		{"a flow", "a: 1\nsteps:\n  - {subject: ${x}}\n", "3: did not find expected ',' or '}'; inside { } and [ ] a text with ${...} needs quotes"},
		{"first line", "a: [", "1: did not find expected node content"},
		{"a star", "a: 1\nfrom: *\n", "2: did not find expected alphabetic or numeric character; a text that begins with * or & needs quotes"},
		{"no anchor", "a: 1\nb: *c\n", "2: *c refers to an anchor that is not there before it (&c); a text that begins with * needs quotes"},
		{"far below", "a:\n  b: 1\n" + strings.Repeat("  c: 1\n", 2000) + "   d: 1\n", "2003: mapping values are not allowed in this context: this line is indented deeper than the one above, which has a value already"},
		{"far below, a list", "a:\n  b: 1\n" + strings.Repeat("  c: [1]\n", 2000) + "   d: 1\n", "2003: did not find expected key: this line is not indented like the others of its map"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var node yaml.Node
			err := yaml.NewDecoder(strings.NewReader(c.source)).Decode(&node)
			if err == nil {
				t.Fatal("it is YAML")
			}
			line, reason := schema.Syntax(err, c.source)
			if got := fmt.Sprintf("%d: %s", line, strings.TrimPrefix(reason, "is not YAML: ")); got != c.want {
				t.Errorf("got  %s\nwant %s\nfrom %v", got, c.want, err)
			}
		})
	}
}
