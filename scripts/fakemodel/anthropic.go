package fakemodel

import (
	"fmt"
	"net/http"
	"strings"
)

// anthropic is the Messages API, which claude speaks.
var anthropic = dialect{
	api:  "anthropic",
	read: readAnthropic,
	side: func(b node) (node, bool) {
		format := b.get("output_format")
		if !format.isObject() {
			format = b.get("output_config").get("format")
		}
		schema := format.get("schema")
		return schema, schema.isObject()
	},
	offers: func(b node) (shell, ask bool) {
		names := anthropicTools(b)
		return pick(names, shellNames) != "", pick(names, []string{"AskUserQuestion"}) != ""
	},
	write: writeAnthropic,
}

// shellNames are names of shell tools, the best first.
var shellNames = []string{"Bash", "bash", "run_shell_command", "shell"}

// pick is the first preferred name that there is, or empty.
func pick(names map[string]bool, preferred []string) string {
	for _, name := range preferred {
		if names[name] {
			return name
		}
	}
	return ""
}

func anthropicTools(b node) map[string]bool {
	names := map[string]bool{}
	for _, tool := range b.get("tools").list() {
		names[tool.get("name").text()] = true
	}
	return names
}

func readAnthropic(b node) (user string, results []string) {
	for _, message := range b.get("messages").list() {
		if message.get("role").text() != "user" {
			continue
		}
		if text, ok := message.get("content").str(); ok {
			if text = clean(text); text != "" {
				user, results = text, nil
			}
			continue
		}
		said := ""
		for _, block := range message.get("content").list() {
			switch block.get("type").text() {
			case "text":
				text := clean(block.get("text").text())
				if text != "" && !strings.HasPrefix(text, "[Request interrupted") {
					said = text
				}
			case "tool_result":
				results = append(results, clean(joined(block.get("content"))))
			}
		}
		if said != "" { // a text beside results begins a new turn
			user, results = said, nil
		}
	}
	return user, results
}

// joined is a text, or the texts of a list of parts.
func joined(content node) string {
	if text, ok := content.str(); ok {
		return text
	}
	var b strings.Builder
	for _, part := range content.list() {
		b.WriteString(part.get("text").text())
	}
	return b.String()
}

func writeAnthropic(x *exchange) {
	message := object{
		"id": x.id("msg_", x.turn.user), "type": "message", "role": "assistant",
		"model": first(x.entry.Model, "fake-model"), "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": anthropicUsage(x, 1),
	}
	blocks := anthropicBlocks(x)
	stop := "end_turn"
	if x.step.calls() {
		stop = "tool_use"
	}
	usage := anthropicUsage(x, x.outputTokens())
	if !x.entry.Stream {
		message["content"], message["stop_reason"], message["usage"] = blocks, stop, usage
		x.reply(http.StatusOK, message)
		return
	}
	send := func(kind string, fields object) {
		fields["type"] = kind
		x.event(kind, fields)
	}
	x.stream()
	send("message_start", object{"message": message})
	send("ping", object{})
	for i, block := range blocks {
		streamAnthropicBlock(x, i, block, send)
	}
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	send("message_stop", object{})
}

func anthropicUsage(x *exchange, output int) object {
	return object{
		"input_tokens": x.inputTokens(), "output_tokens": output,
		"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
	}
}

func anthropicBlocks(x *exchange) []object {
	names := anthropicTools(x.body.node)
	call := func(name string, input object) []object {
		return []object{{"type": "tool_use", "id": x.id("toolu_", x.step.text), "name": name, "input": input}}
	}
	shell := func(command string) []object {
		return call(pick(names, shellNames), object{"command": command, "description": "fake tool call"})
	}
	switch x.step.kind {
	case kindTool:
		return shell(x.step.text)
	case kindRead:
		if names["Read"] {
			return call("Read", object{"file_path": x.step.text})
		}
		return shell(catCommand(x.step.text))
	case kindCall:
		blocks := call(x.step.text, x.step.input)
		for i, c := range x.step.with {
			id := x.id("toolu_", fmt.Sprint(c.Tool, " ", i+1))
			blocks = append(blocks, object{"type": "tool_use", "id": id, "name": c.Tool, "input": c.Input})
		}
		return blocks
	case kindAsk:
		return call("AskUserQuestion", question(x.step.text, object{"multiSelect": false}))
	}
	text := object{"type": "text", "text": x.step.text}
	if x.thinks() {
		return []object{{"type": "thinking", "thinking": "fake thought", "signature": "ZmFrZQ=="}, text}
	}
	return []object{text}
}

func streamAnthropicBlock(x *exchange, index int, block object, send func(string, object)) {
	start := func(block object) {
		send("content_block_start", object{"index": index, "content_block": block})
	}
	delta := func(kind, field string, value any) {
		send("content_block_delta", object{"index": index, "delta": object{"type": kind, field: value}})
	}
	switch block["type"] {
	case "tool_use":
		start(object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}})
		delta("input_json_delta", "partial_json", compact(block["input"]))
	case "thinking":
		start(object{"type": "thinking", "thinking": "", "signature": ""})
		delta("thinking_delta", "thinking", block["thinking"])
		delta("signature_delta", "signature", block["signature"])
	default:
		start(object{"type": "text", "text": ""})
		x.text(x.step.text, func(piece string, _ bool) { delta("text_delta", "text", piece) })
	}
	send("content_block_stop", object{"index": index})
}
