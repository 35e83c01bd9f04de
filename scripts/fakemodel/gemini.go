package fakemodel

import (
	"net/http"
	"strings"
)

// gemini answers a method of a Gemini model; sse is how it wants a stream.
func (x *exchange) gemini(method string, sse bool) {
	switch method {
	case "generateContent", "streamGenerateContent":
		x.entry.Stream = method == "streamGenerateContent"
		x.converse(dialect{
			api:    "gemini",
			read:   readGemini,
			side:   geminiSide,
			offers: geminiOffers,
			write:  func(x *exchange) { writeGemini(x, sse) },
		})
		return
	case "countTokens":
		x.entry.API = "gemini-" + method
		x.only(object{"totalTokens": x.inputTokens()})
	case "embedContent":
		x.entry.API = "gemini-" + method
		x.only(object{"embedding": object{"values": make([]float64, 8)}})
	default:
		x.entry.API = "gemini-other"
		x.refuse(noSuchPath(x.entry.Path))
	}
}

func geminiSide(b node) (node, bool) {
	config := b.get("generationConfig")
	if config.get("responseMimeType").text() != "application/json" {
		return node{}, false
	}
	for _, key := range []string{"responseJsonSchema", "responseSchema"} {
		if schema := config.get(key); schema.isObject() {
			return schema, true
		}
	}
	return node{map[string]any{"type": "object"}}, true
}

func geminiOffers(b node) (shell, ask bool) {
	names := geminiTools(b)
	return pick(names, geminiShells) != "", names["ask_user"]
}

var geminiShells = []string{"run_shell_command", "shell"}

func geminiTools(b node) map[string]bool {
	names := map[string]bool{}
	for _, tool := range b.get("tools").list() {
		for _, function := range tool.get("functionDeclarations").list() {
			names[function.get("name").text()] = true
		}
	}
	return names
}

func readGemini(b node) (user string, results []string) {
	contents := b.get("contents")
	if text, ok := contents.str(); ok {
		return text, nil
	}
	messages := contents.list()
	if contents.isObject() {
		messages = []node{contents}
	}
	for _, message := range messages {
		if first(message.get("role").text(), "user") != "user" {
			continue
		}
		said, answered := "", false
		for _, part := range message.get("parts").list() {
			if part.has("functionResponse") {
				response := part.get("functionResponse").get("response")
				results = append(results, first(response.get("output").text(), response.get("error").text(), response.compact()))
				answered = true
				continue
			}
			text := clean(part.get("text").text())
			if text != "" && !strings.HasPrefix(text, "This is the Gemini CLI") {
				said = text
			}
		}
		if said != "" && !answered { // gemini adds texts of its own beside results
			user, results = said, nil
		}
	}
	return user, results
}

func writeGemini(x *exchange, sse bool) {
	id := x.id("resp", x.turn.user)
	input, output := x.inputTokens(), x.outputTokens()
	document := func(finish string, parts ...object) object {
		candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		return object{
			"candidates": []object{candidate}, "modelVersion": x.entry.Model, "responseId": id,
			"usageMetadata": object{
				"promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output,
			},
		}
	}
	if !x.entry.Stream {
		x.reply(http.StatusOK, document("STOP", geminiParts(x)...))
		return
	}
	var all []object
	send := func(d object) { all = append(all, d) }
	if sse {
		send = func(d object) { x.event("", d) }
		x.stream()
	}
	for _, part := range geminiParts(x) {
		switch {
		case part["functionCall"] != nil:
			send(document("STOP", part))
		case part["thought"] != nil:
			send(document("", part))
		default:
			x.text(x.step.text, func(piece string, last bool) {
				finish := ""
				if last {
					finish = "STOP"
				}
				send(document(finish, object{"text": piece}))
			})
		}
	}
	if !sse {
		x.reply(http.StatusOK, all)
	}
}

// geminiParts are the parts of the answer, the text last and whole.
func geminiParts(x *exchange) []object {
	call := func(name string, args object) []object {
		return []object{{"functionCall": object{"name": name, "args": args}}}
	}
	names := geminiTools(x.body.node)
	shell := func(command string) []object {
		return call(pick(names, geminiShells), object{"command": command, "description": "fake tool call"})
	}
	switch x.step.kind {
	case kindTool:
		return shell(x.step.text)
	case kindRead:
		if names["read_file"] {
			return call("read_file", object{"file_path": x.step.text})
		}
		return shell(catCommand(x.step.text))
	case kindCall:
		return call(x.step.text, x.step.input)
	case kindAsk:
		return call("ask_user", question(x.step.text, object{"type": "choice"}))
	}
	parts := []object{{"text": x.step.text}}
	if x.thinks() {
		parts = append([]object{{"text": fakeThought, "thought": true}}, parts...)
	}
	return parts
}
