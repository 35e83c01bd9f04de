package fakemodel_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

// responsesBody is a request as codex makes it.
func responsesBody(stream bool, tools []any, items ...any) map[string]any {
	return map[string]any{"model": "gpt-x", "stream": stream, "tools": tools, "input": items}
}

func said(text string) map[string]any {
	return map[string]any{"type": "message", "role": "user", "content": []any{block("input_text", "text", text)}}
}

// agentMessage is what codex's agents tell each other.
func agentMessage(kind, text string) map[string]any {
	return map[string]any{"type": "agent_message", "content": []any{
		block("input_text", "text", "Message Type: "+kind+"\n"), block("encrypted_content", "encrypted_content", text),
	}}
}

func function(name string) map[string]any { return map[string]any{"type": "function", "name": name} }

func TestResponsesText(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for _, input := range []any{
		"hello",
		[]any{map[string]any{"role": "user", "content": "hello"}},
		[]any{said("hello"), said("<environment_context>x</environment_context>")},
		[]any{said("go"), agentMessage("NEW_TASK", "hello"), agentMessage("FINAL_ANSWER", "well")},
		[]any{said("# AGENTS.md instructions for x"), said("hello"), map[string]any{"type": "message", "role": "assistant", "content": "y"}},
	} {
		_, data := post(t, server, "/v1/responses", map[string]any{"model": "gpt-x", "input": input})
		got := decode(t, data)
		check(t, "text", got.text("output.0.content.0.text"), "ANSWER[hello]")
		check(t, "status", got.text("status")+got.text("object")+got.text("model"), "completedresponsegpt-x")
	}
}

func TestResponsesStream(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, "/v1/responses", responsesBody(true, nil, said("THINK and LONG[100]")))
	all := events(t, data)
	check(t, "order", names(all), "response.created response.in_progress "+
		"response.output_item.added response.reasoning_summary_text.delta response.output_item.done "+
		"response.output_item.added response.content_part.added response.output_text.delta response.output_text.done "+
		"response.output_item.done response.completed")
	last := all[len(all)-1]
	text := last.text("response.output.1.content.0.text")
	if !strings.HasPrefix(text, "ANSWER[THINK and LONG[100]]\nline 00001 of") || !strings.HasSuffix(text, "line 00100 of the long answer") {
		t.Errorf("text is %q", text)
	}
	var streamed strings.Builder
	for i, e := range all {
		if e.at("sequence_number") != float64(i+1) {
			t.Errorf("event %d has the number %v", i+1, e.at("sequence_number"))
		}
		check(t, "type", e.text("type"), e.name)
		if e.name == "response.output_text.delta" {
			streamed.WriteString(e.text("delta"))
		}
	}
	check(t, "streamed text", streamed.String(), text)
	check(t, "reasoning", last.text("response.output.0.type"), "reasoning")
}

// codex offers its shell in a form that depends on the model.
func TestResponsesShells(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for _, tt := range []struct {
		name  string
		tools []any
		items []any
		want  map[string]string
		args  string
	}{
		{name: "exec_command", tools: []any{function("shell"), function("exec_command")},
			want: map[string]string{"type": "function_call", "name": "exec_command"}, args: `{"cmd":"ls -l"}`},
		{name: "shell_command", tools: []any{function("shell_command")},
			want: map[string]string{"type": "function_call", "name": "shell_command"}, args: `{"command":"ls -l"}`},
		{name: "shell", tools: []any{function("shell")},
			want: map[string]string{"type": "function_call", "name": "shell"}, args: `{"command":["bash","-lc","ls -l"]}`},
		{name: "local_shell", tools: []any{map[string]any{"type": "local_shell"}},
			want: map[string]string{"type": "local_shell_call", "action.command.2": "ls -l"}},
		{name: "code mode", tools: []any{map[string]any{"type": "custom", "name": "exec"}},
			want: map[string]string{"type": "custom_tool_call", "name": "exec", "namespace": "",
				"input": "const r = await tools.exec_command({\"cmd\":\"ls -l\"});\ntext(r.output ?? JSON.stringify(r));"}},
		{name: "code mode in the input",
			items: []any{map[string]any{"type": "additional_tools", "tools": []any{
				map[string]any{"type": "namespace", "name": "code", "tools": []any{map[string]any{"type": "custom", "name": "exec"}}}}}},
			want: map[string]string{"type": "custom_tool_call", "name": "exec", "namespace": "code"}},
		{name: "none", tools: []any{function("exec")}, want: map[string]string{"type": "message"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, data := post(t, server, "/v1/responses", responsesBody(false, tt.tools, append(tt.items, said("USE_TOOL[ls -l]"))...))
			got := decode(t, data)
			for path, want := range tt.want {
				check(t, path, got.text("output.0."+path), want)
			}
			check(t, "arguments", got.text("output.0.arguments"), tt.args)
		})
	}
}

func TestResponsesEscalate(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, "/v1/responses", responsesBody(true, []any{function("exec_command")}, said("USE_TOOL[touch x] ESCALATE")))
	all := events(t, data)
	args := decode(t, []byte(all[len(all)-1].text("response.output.0.arguments")))
	check(t, "command", args.text("cmd"), "touch x")
	check(t, "permissions", args.text("sandbox_permissions"), "require_escalated")
}

func TestResponsesAsk(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, "/v1/responses", responsesBody(false, []any{function("request_user_input")}, said("ASK[which?]")))
	got := decode(t, data)
	check(t, "tool", got.text("output.0.name"), "request_user_input")
	args := decode(t, []byte(got.text("output.0.arguments")))
	check(t, "question", args.text("questions.0.question")+args.text("questions.0.id"), "which?choice")
}

func TestResponsesResults(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for name, item := range map[string]any{
		"text":            block("function_call_output", "output", "hi"),
		"parts":           block("custom_tool_call_output", "output", []any{block("input_text", "text", "h"), block("input_text", "text", "i")}),
		"object":          block("local_shell_call_output", "output", map[string]any{"content": "hi"}),
		"several results": block("function_call_output", "output", "hi\n"),
	} {
		_, data := post(t, server, "/v1/responses", responsesBody(false, []any{function("shell")}, said("USE_TOOL"), block("function_call"), item))
		check(t, name, decode(t, data).text("output.0.content.0.text"), "ANSWER[USE_TOOL] TOOL_RESULT[hi]")
	}
	_, data := post(t, server, "/v1/responses", responsesBody(false, nil, said("x"),
		block("function_call_output", "output", map[string]any{"code": 1}), block("function_call_output", "output", strings.Repeat("é", 1000))))
	check(t, "long result", decode(t, data).text("output.0.content.0.text"), "ANSWER[x] TOOL_RESULT["+strings.Repeat("é", 400)+"]")
}

func TestResponsesSchema(t *testing.T) {
	server := start(t, fakemodel.Options{})
	body := responsesBody(true, []any{function("shell")}, said("USE_TOOL"))
	body["text"] = map[string]any{"format": map[string]any{"type": "json_schema", "schema": map[string]any{
		"properties": map[string]any{"title": map[string]any{"type": "string"}}}}}
	_, data := post(t, server, "/v1/responses", body)
	all := events(t, data)
	check(t, "title", all[len(all)-1].text("response.output.0.content.0.text"), `{"title":"fake title"}`)
}
