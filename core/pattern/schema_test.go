package pattern_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/pattern"
)

// compiledSchema returns the schema, which must itself satisfy the 2020-12 meta-schema.
func compiledSchema(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	data, err := pattern.Schema()
	if err != nil {
		tb.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("pattern.json", document); err != nil {
		tb.Fatal(err)
	}
	compiled, err := compiler.Compile("pattern.json")
	if err != nil {
		tb.Fatal(err)
	}
	return compiled
}

// TestSchemaAccepts: an editor finds nothing wrong with what Parse takes.
func TestSchemaAccepts(t *testing.T) {
	compiled := compiledSchema(t)
	for name, source := range sources(t, "good") {
		var value any
		if err := yaml.Unmarshal([]byte(source), &value); err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, source := range shipped(t) {
		var value any
		if err := yaml.Unmarshal([]byte(source), &value); err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRefuses: it finds wrong keys, types, words and bounds.
func TestSchemaRefuses(t *testing.T) {
	compiled := compiledSchema(t)
	told := 0
	for name, source := range sources(t, "bad") {
		_, problems := pattern.Parse(source)
		var value any
		if yaml.Unmarshal([]byte(source), &value) != nil {
			continue
		}
		for _, p := range problems {
			for _, part := range []string{"unknown field", "must be one of", "must be a whole number", "must be true or false", "must be a list of texts"} {
				if !strings.HasPrefix(p.Reason, part) || strings.HasPrefix(p.Path, "output") {
					continue
				}
				told++
				if compiled.Validate(value) == nil {
					t.Errorf("%s: the schema takes %s: %s", name, p.Path, p.Reason)
				}
			}
		}
	}
	if told < 20 {
		t.Errorf("only %d such problems", told)
	}
	for _, source := range []string{
		"agents: {min: 0}", "agents: {min: 1001}", "agents: {min: a}", "validation: {minConfidence: 1.5}", "validation: {onFailure: never}",
		"execution: {timeout: 604800001}", "aggregation: {strategy: vote}", "input: {a: text}", "input: {a: {kind: string}}",
		"steps: []", "structure: {roles: {}}", "structure: {roles: {a: {}}}\nworkflow: {steps: [{type: assign, role: a}]}",
		"structure: {roles: {a: {}}}\nworkflow: {steps: [{type: wait, role: a, task: b}]}",
		"structure: {roles: {a: {agentTypes: [b]}}}\nworkflow: {steps: [{type: assign, role: a, task: b}]}",
	} {
		source = "name: a\nversion: 1.0.0\n" + source
		var value any
		if err := yaml.Unmarshal([]byte(source), &value); err != nil {
			t.Fatal(err)
		}
		if _, problems := pattern.Parse(source); len(problems) == 0 {
			t.Errorf("%q is taken", source)
		}
		if compiled.Validate(value) == nil {
			t.Errorf("the schema takes %q", source)
		}
	}
}

// TestPublishedSchema: what configs publishes is made from the structs of the language.
func TestPublishedSchema(t *testing.T) {
	data, err := pattern.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../configs/pattern.schema.json", string(data))
}
