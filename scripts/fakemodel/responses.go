package fakemodel

import (
	"maps"
	"net/http"
)

// responses is the Responses API of OpenAI, which codex speaks.
var responses = dialect{
	api:  "responses",
	read: readResponses,
	side: func(b node) (node, bool) {
		format := b.get("text").get("format")
		return format.get("schema"), format.get("type").text() == "json_schema"
	},
	offers: func(b node) (shell, ask bool) {
		tools := responsesTools(b)
		_, ask = tools["request_user_input"]
		return shellTool(tools) != "", ask
	},
	write: writeResponses,
}

func writeResponses(x *exchange) {
	begun := object{
		"id": x.id("resp_", x.turn.user), "object": "response", "created_at": x.server.options.Now().Unix(),
		"model": x.entry.Model, "status": "in_progress", "output": []any{},
	}
	items := responsesItems(x)
	input, output := x.inputTokens(), x.outputTokens()
	done := maps.Clone(begun)
	maps.Copy(done, object{"status": "completed", "output": items, "usage": object{
		"input_tokens": input, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": output, "output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens": input + output,
	}})
	if !x.entry.Stream {
		x.reply(http.StatusOK, done)
		return
	}
	sequence := 0
	send := func(kind string, fields object) {
		sequence++
		fields["type"], fields["sequence_number"] = kind, sequence
		x.event(kind, fields)
	}
	x.stream()
	send("response.created", object{"response": begun})
	send("response.in_progress", object{"response": begun})
	for i, item := range items {
		streamResponsesItem(x, i, item, send)
	}
	send("response.completed", object{"response": done})
}

func responsesItems(x *exchange) []object {
	switch x.step.kind {
	case kindTool, kindRead:
		command := x.step.text
		if x.step.kind == kindRead {
			command = catCommand(command)
		}
		if call, ok := shellCall(x, responsesTools(x.body.node), command); ok {
			return []object{call}
		}
	case kindCall:
		return []object{toolCall(x)}
	case kindAsk:
		return []object{functionCall(x, "request_user_input", question(x.step.text, object{"id": "choice"}))}
	}
	var items []object
	if x.thinks() {
		items = append(items, object{
			"type": "reasoning", "id": x.id("rs_", x.turn.user), "encrypted_content": "ZmFrZQ==",
			"summary": []object{{"type": "summary_text", "text": fakeThought}},
		})
	}
	return append(items, object{
		"type": "message", "id": x.id("msg_", x.turn.user), "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": x.step.text, "annotations": []any{}}},
	})
}

// fakeThought has the bold first line that codex and gemini show as a heading.
const fakeThought = "**Fake thought** thinking"

func streamResponsesItem(x *exchange, index int, item object, send func(string, object)) {
	begun := maps.Clone(item)
	begun["status"] = "in_progress"
	switch item["type"] {
	case "message":
		begun["content"] = []any{}
		place := func(fields object) object {
			maps.Copy(fields, object{"item_id": item["id"], "output_index": index, "content_index": 0})
			return fields
		}
		send("response.output_item.added", object{"output_index": index, "item": begun})
		send("response.content_part.added", place(object{
			"part": object{"type": "output_text", "text": "", "annotations": []any{}},
		}))
		x.text(x.step.text, func(piece string, _ bool) {
			send("response.output_text.delta", place(object{"delta": piece}))
		})
		send("response.output_text.done", place(object{"text": x.step.text}))
	case "reasoning":
		send("response.output_item.added", object{"output_index": index, "item": begun})
		send("response.reasoning_summary_text.delta", object{
			"item_id": item["id"], "output_index": index, "summary_index": 0, "delta": fakeThought,
		})
	default:
		send("response.output_item.added", object{"output_index": index, "item": begun})
	}
	send("response.output_item.done", object{"output_index": index, "item": item})
}
