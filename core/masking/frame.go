package masking

import "strings"

// dataNames are the fields that hold what people and agents wrote: texts, and values of any form. Whatever is in them is
// data.
var dataNames = set(
	"input", "inputs", "result", "output", "metadata", "details", "content", "context", "answer", "body", "payload", "text", "line",
	"message", "objective", "summary", "feedback", "reason", "cancelReason", "lastError", "responseBody", "reasoning", "fallback",
)

// frameNames are the fields that programs go by. Outside of data they are never masked.
var frameNames = set(
	"id", "ids", "status", "state", "type", "kind", "code", "version", "hash", "previousHash", "timestamp", "event", "sequence", "action", "outcome",
	"category", "method", "path", "cursor", "nextCursor", "statusUrl", "enabled", "severity", "stream", "scopes", "roles", "events", "level",
	"runtime", "agentType", "priority", "format", "key", "token", "secret", "signature", "keyId", "publicKey",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// isFrame reports whether a field is one that programs go by.
func isFrame(name []byte) bool {
	if frameNames[string(name)] {
		return true
	}
	text := string(name) // does not escape
	return strings.HasSuffix(text, "Id") || strings.HasSuffix(text, "Ids") || strings.HasSuffix(text, "_id") || strings.HasSuffix(text, "At")
}

// plainNames are the fields that hold no data of anybody, whatever is in them: definitions of patterns, schemas of settings.
var plainNames = set("definition", "schema", "examples")

// nested are the fields whose text is JSON itself.
var nested = set("data_json")
