package fakemodel

import "net/http"

// chat is the Chat Completions API of OpenAI, for programs that are not one of the three. It calls no tools.
var chat = dialect{
	api:    "chat",
	read:   readChat,
	side:   func(node) (node, bool) { return node{}, false },
	offers: func(node) (shell, ask bool) { return false, false },
	write:  writeChat,
}

func readChat(b node) (user string, results []string) {
	for _, message := range b.get("messages").list() {
		text := joined(message.get("content"))
		switch message.get("role").text() {
		case "user":
			if text = clean(text); text != "" {
				user, results = text, nil
			}
		case "tool":
			results = append(results, text)
		}
	}
	return user, results
}

func writeChat(x *exchange) {
	id := x.id("chatcmpl-", x.turn.user)
	if !x.entry.Stream {
		x.reply(http.StatusOK, object{
			"id": id, "object": "chat.completion", "created": x.server.options.Now().Unix(), "model": x.entry.Model,
			"choices": []object{{
				"index": 0, "finish_reason": "stop", "message": object{"role": "assistant", "content": x.step.text},
			}},
			"usage": object{
				"prompt_tokens": x.inputTokens(), "completion_tokens": x.outputTokens(),
				"total_tokens": x.inputTokens() + x.outputTokens(),
			},
		})
		return
	}
	chunk := func(delta object, finish any) {
		x.event("", object{
			"id": id, "object": "chat.completion.chunk", "created": x.server.options.Now().Unix(), "model": x.entry.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	x.stream()
	x.text(x.step.text, func(piece string, _ bool) {
		chunk(object{"role": "assistant", "content": piece}, nil)
	})
	chunk(object{}, "stop")
	x.write([]byte("data: [DONE]\n\n"))
}
