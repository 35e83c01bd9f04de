package fakemodel_test

import (
	"testing"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

const reportPrompt = `READ[it's.md] USE_TOOL[ls] QUOTE[wo] SAY[so] REPORT[{"state": "complete"}]`

// A file is read with the program's own tool, then the shell is called, then the answer quotes and reports.
func TestAnthropicReport(t *testing.T) {
	server := start(t, fakemodel.Options{})
	turns := []any{reportPrompt}
	_, data := post(t, server, messages, anthropicBody(false, turns...))
	got := decode(t, data)
	check(t, "tool", got.text("content.0.name")+" "+got.text("content.0.input.file_path")+" "+got.text("stop_reason"), "Read it's.md tool_use")
	turns = append(turns, []any{block("tool_use")}, []any{block("tool_result", "content", "1 one two\nthree\n")})
	_, data = post(t, server, messages, anthropicBody(false, turns...))
	check(t, "command", decode(t, data).text("content.0.input.command"), "ls")
	turns = append(turns, []any{block("tool_use")}, []any{block("tool_result", "content", "two")})
	_, data = post(t, server, messages, anthropicBody(false, turns...))
	check(t, "answer", decode(t, data).text("content.0.text"), "so QUOTED[1 one two | two]\n\n```wardroom\n{\"state\": \"complete\"}\n```")

	body := anthropicBody(false, "READ[it's.md]")
	body["tools"] = []any{map[string]any{"name": "Bash"}}
	_, data = post(t, server, messages, body)
	check(t, "command without that tool", decode(t, data).text("content.0.input.command"), `cat 'it'\''s.md'`)
}

func TestGeminiReport(t *testing.T) {
	server := start(t, fakemodel.Options{})
	const generate = "/v1beta/models/gemini-x:generateContent"
	for tool, field := range map[string]string{"read_file": "file_path", "run_shell_command": "command"} {
		body := geminiBody(parts("READ[notes.md]"))
		body["tools"] = []any{map[string]any{"functionDeclarations": []any{
			map[string]any{"name": tool}, map[string]any{"name": "run_shell_command"},
		}}}
		_, data := post(t, server, generate, body)
		call := "candidates.0.content.parts.0.functionCall."
		want := map[string]string{"file_path": "notes.md", "command": "cat 'notes.md'"}[field]
		check(t, tool, decode(t, data).text(call+"name")+" "+decode(t, data).text(call+"args."+field), tool+" "+want)
	}
}

func TestResponsesReport(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, "/v1/responses", responsesBody(false, []any{function("exec_command")}, said("READ[notes.md] ESCALATE")))
	check(t, "arguments", decode(t, data).text("output.0.arguments"), `{"cmd":"cat 'notes.md'"}`)
}
