package pattern

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// schemaID names the published schema; it is an identity and need not resolve.
const schemaID = "https://github.com/wardroom/wardroom/raw/main/configs/pattern.schema.json"

// schemaRefs is what references within it begin with.
const schemaRefs = "#/$defs/"

// written are the structs of the language that the schema defines by name.
var written = []reflect.Type{
	reflect.TypeFor[flatText](), reflect.TypeFor[chartText](), reflect.TypeFor[fieldText](), reflect.TypeFor[roleText](),
	reflect.TypeFor[assignText](), reflect.TypeFor[parallelText](), reflect.TypeFor[sequentialText](), reflect.TypeFor[reviewText](),
	reflect.TypeFor[approveText](), reflect.TypeFor[aggregateText](), reflect.TypeFor[conditionText](),
	reflect.TypeFor[agentsText](), reflect.TypeFor[core.AgentPreference](), reflect.TypeFor[aggregationText](), reflect.TypeFor[validationText](),
	reflect.TypeFor[executionText](), reflect.TypeFor[stepExecutionText](), reflect.TypeFor[limitsText](), reflect.TypeFor[securityText](),
	reflect.TypeFor[stepText](), reflect.TypeFor[structureText](), reflect.TypeFor[workflowText](), reflect.TypeFor[workplaceText](),
	reflect.TypeFor[core.RoutingRule](), reflect.TypeFor[escalationText](),
}

// Schema returns the JSON Schema (2020-12) of definitions, flat ones and org charts, for editors. It is as strict as Parse about
// keys, types, words and bounds; what needs more than one key only Parse checks.
func Schema() ([]byte, error) {
	set := &schema.Set{Defs: jsonSchema{}, Names: map[reflect.Type]string{}, Refs: schemaRefs}
	for _, t := range written {
		set.Names[t] = strings.ToUpper(t.Name()[:1]) + strings.TrimSuffix(t.Name()[1:], "Text")
	}
	for _, t := range written {
		set.Of(t, true)
	}
	var kinds []any
	for _, kind := range core.StepKinds {
		name := string(kind)
		kinds = append(kinds, jsonSchema{
			"if":   jsonSchema{"properties": jsonSchema{"type": jsonSchema{"const": name}}},
			"then": ref(strings.ToUpper(name[:1]) + name[1:]),
		})
	}
	set.Defs["ChartStep"] = jsonSchema{
		"type": "object", "required": []string{"type"}, "allOf": kinds,
		"properties": jsonSchema{"type": jsonSchema{"enum": shapeOf[stepTypeText]().Find("type").Enum, "description": "What the step does."}},
	}
	text, err := json.MarshalIndent(jsonSchema{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     schemaID, "title": "Pattern of Wardroom",
		"description": "A pattern: how agents cooperate. Times are in milliseconds.",
		"type":        "object",
		"if":          jsonSchema{"anyOf": []any{jsonSchema{"required": []string{"structure"}}, jsonSchema{"required": []string{"workflow"}}}},
		"then":        ref("Chart"),
		"else":        ref("Flat"),
		"$defs":       set.Defs,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema of patterns: %w", err)
	}
	return append(text, '\n'), nil
}
