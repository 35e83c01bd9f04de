package roles

import (
	"encoding/json"
	"strings"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// fence begins and ends a block of code.
const fence = "```"

// resultOf is an answer as a result: the JSON object or array that it is, or ends in as a fenced block, else its
// text.
func resultOf(answer string) json.RawMessage {
	trimmed := strings.TrimSpace(answer)
	if value := structured(trimmed); value != nil {
		return value
	}
	if value := structured(lastBlock(trimmed)); value != nil {
		return value
	}
	return rawjson.AppendString(nil, strings.ToValidUTF8(answer, "\uFFFD"))
}

// structured returns text that is one JSON object or array, compact; nil for any other.
func structured(said string) json.RawMessage {
	raw := []byte(said)
	if kind := rawjson.KindOf(raw); kind != rawjson.Object && kind != rawjson.Array || rawjson.Check(raw) != nil {
		return nil
	}
	return rawjson.Compact(raw)
}

// lastBlock returns the content of the fenced block that a text ends in; "" if it ends in none.
func lastBlock(said string) string {
	body, ok := strings.CutSuffix(said, fence)
	if !ok {
		return ""
	}
	start := strings.LastIndex(body, fence)
	if start < 0 || start > 0 && body[start-1] != '\n' && strings.TrimLeft(body[strings.LastIndexByte(body[:start], '\n')+1:start], " \t") != "" {
		return ""
	}
	info, content, ok := strings.Cut(body[start+len(fence):], "\n")
	switch strings.ToLower(strings.TrimSpace(info)) {
	case "", "json", "jsonc", "json5":
		if ok {
			return strings.TrimSpace(content)
		}
	}
	return ""
}
