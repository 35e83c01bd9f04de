package fakemodel

import "strings"

// maxSchemaDepth ends the walk through schemas that nest without end.
const maxSchemaDepth = 8

// instance is a value that fits a JSON schema, the same one each time. The programs ask for such values besides
// the conversation: a title, or who speaks next.
func instance(schema node, name string, depth int) any {
	if !schema.isObject() || depth > maxSchemaDepth {
		return "x"
	}
	if name == "next_speaker" {
		return "user" // else gemini continues by itself
	}
	if schema.has("const") {
		return schema.get("const").v
	}
	if values := schema.get("enum").list(); len(values) > 0 {
		return values[0].v
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if choices := schema.get(key).list(); len(choices) > 0 {
			return instance(choices[0], name, depth+1)
		}
	}
	switch schemaType(schema) {
	case "object":
		fields := object{}
		properties, _ := schema.get("properties").v.(map[string]any)
		for key, property := range properties {
			fields[key] = instance(node{property}, key, depth+1)
		}
		return fields
	case "array":
		return []any{}
	case "integer", "number":
		if least, ok := schema.get("minimum").v.(float64); ok && least > 1 {
			return least
		}
		return 1
	case "boolean":
		return false
	case "null":
		return nil
	}
	if strings.Contains(name, "title") {
		return "fake title"
	}
	return "fake"
}

// schemaType is the type in lower case; Gemini writes it in upper case.
func schemaType(schema node) string {
	kind := schema.get("type")
	if kinds := kind.list(); len(kinds) > 0 {
		kind = kinds[0]
	}
	if kind.text() == "" && schema.has("properties") {
		return "object"
	}
	return strings.ToLower(kind.text())
}
