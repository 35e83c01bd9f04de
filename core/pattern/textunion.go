package pattern

import "github.com/wardroom/wardroom/core/internal/schema"

// The types of this file stand for values of a definition that are written in more ways than one. They hold nothing: what
// reads them looks at the text, and editors get the schema.

type jsonSchema = schema.Object

func ref(name string) jsonSchema { return jsonSchema{"$ref": schemaRefs + name} }

func anyOf(ways ...any) jsonSchema { return jsonSchema{"anyOf": ways} }

func listOf(item any) jsonSchema { return jsonSchema{"type": "array", "minItems": 1, "items": item} }

// versionText is a version; an unquoted number counts as the text that it looks like.
type versionText struct{}

// JSONSchema implements schema.Described, as those below do.
func (versionText) JSONSchema() any { return jsonSchema{"type": []any{"string", "number"}} }

// anyText is any value.
type anyText struct{}

func (anyText) JSONSchema() any { return jsonSchema{} }

// freeText is a map of anything.
type freeText struct{}

func (freeText) JSONSchema() any { return jsonSchema{"type": "object"} }

// expressionText is an expression, or a value with expressions in it.
type expressionText struct{}

func (expressionText) JSONSchema() any { return jsonSchema{} }

// fieldsText is declared fields by their names.
type fieldsText struct{}

func (fieldsText) JSONSchema() any {
	return jsonSchema{
		"type": "object", "maxProperties": maxFields, "additionalProperties": itemText{}.JSONSchema(),
		"properties": jsonSchema{additionalKey: anyOf(jsonSchema{"type": "boolean"}, itemText{}.JSONSchema())},
	}
}

// itemText is the type name of a field, or its full declaration.
type itemText struct{}

func (itemText) JSONSchema() any { return anyOf(jsonSchema{"enum": fieldTypes}, ref("Field")) }

// weightsText is the weights of a vote.
type weightsText struct{}

func (weightsText) JSONSchema() any {
	return anyOf(jsonSchema{"const": "confidence"}, jsonSchema{
		"type": "object", "minProperties": 1, "maxProperties": maxAgents,
		"additionalProperties": jsonSchema{"type": "number", "minimum": 0, "maximum": 1e9},
	})
}

// wordsText is a word, or several.
type wordsText struct{}

func (wordsText) JSONSchema() any {
	word := jsonSchema{"type": "string", "minLength": 1, "maxLength": maxWord}
	return anyOf(word, listOf(word))
}

// roleNameText is the key of a role, or null for none.
type roleNameText struct{}

func (roleNameText) JSONSchema() any { return jsonSchema{"type": []any{"string", "null"}} }

// textsText is texts by topic.
type textsText struct{}

func (textsText) JSONSchema() any {
	return jsonSchema{"type": "object", "maxProperties": maxRules, "additionalProperties": jsonSchema{"type": "string"}}
}

// rolesText is roles by their key. A role may be nothing but its key.
type rolesText struct{}

func (rolesText) JSONSchema() any {
	return jsonSchema{
		"type": "object", "minProperties": 1, "maxProperties": maxRoles,
		"propertyNames":        jsonSchema{"pattern": stepRule.String()},
		"additionalProperties": anyOf(ref("Role"), jsonSchema{"type": "null"}),
	}
}

// chartStepText is a step of a workflow, of any type.
type chartStepText struct{}

func (chartStepText) JSONSchema() any { return ref("ChartStep") }

// branchText is a step of a workflow, or several in turn.
type branchText struct{}

func (branchText) JSONSchema() any { return anyOf(ref("ChartStep"), listOf(ref("ChartStep"))) }
