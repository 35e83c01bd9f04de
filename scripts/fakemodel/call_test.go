package fakemodel_test

import (
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

const called = `CALL[look {"at": "x"}] CALL[patch {"input": "y"}] USE_TOOL[echo hi]`

func TestAnthropicCall(t *testing.T) {
	server := start(t, fakemodel.Options{})
	turns := []any{called}
	for i, want := range []string{`lookmap[at:x]tool_use`, `patchmap[input:y]tool_use`, `Bashmap[command:echo hi description:fake tool call]tool_use`} {
		_, data := post(t, server, messages, anthropicBody(false, turns...))
		got := decode(t, data)
		check(t, "call", got.text("content.0.name")+fmt.Sprint(got.at("content.0.input"))+got.text("stop_reason"), want)
		turns = append(turns, []any{}, []any{block("tool_result", "content", fmt.Sprint(i))})
	}
	_, data := post(t, server, messages, anthropicBody(false, turns...))
	check(t, "answer", decode(t, data).text("content.0.text"), "ANSWER["+called+"] TOOL_RESULT[2]")
}

// Calls of one message have ids of their own, and the answer follows the results of all.
func TestAnthropicTogether(t *testing.T) {
	server := start(t, fakemodel.Options{})
	const user = `TOGETHER CALL[look {"at": "x"}] CALL[look {"at": "x"}] CALL[patch {}]`
	_, data := post(t, server, messages, anthropicBody(false, user))
	got := decode(t, data)
	names := ""
	ids := map[any]bool{}
	for i := range 3 {
		names += got.text(fmt.Sprintf("content.%d.name", i)) + " "
		ids[got.text(fmt.Sprintf("content.%d.id", i))] = true
	}
	check(t, "calls", names+got.text("stop_reason"), "look look patch tool_use")
	check(t, "ids", fmt.Sprint(len(ids)), "3")
	result := block("tool_result", "content", "r")
	_, data = post(t, server, messages, anthropicBody(false, user, []any{}, []any{result, result, result}))
	check(t, "answer", decode(t, data).text("content.0.text"), "ANSWER["+user+"] TOOL_RESULT[r]")
}

func TestGeminiCall(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, "/v1beta/models/gemini-x:generateContent", map[string]any{
		"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": called}}}},
	})
	call := decode(t, data).at("candidates.0.content.parts.0.functionCall")
	check(t, "call", fmt.Sprint(call), "map[args:map[at:x] name:look]")
}

func TestResponsesCall(t *testing.T) {
	server := start(t, fakemodel.Options{})
	custom := func(name string) map[string]any { return map[string]any{"type": "custom", "name": name} }
	space := map[string]any{"type": "namespace", "name": "agents", "tools": []any{function("look")}}
	result := map[string]any{"type": "function_call_output", "call_id": "c", "output": "0"}
	for _, tt := range []struct {
		tools []any
		items []any
		want  string
	}{
		{[]any{function("look")}, nil, `function_call look {"at":"x"} `},
		{nil, nil, `function_call look {"at":"x"} `},
		{[]any{space}, nil, `function_call look {"at":"x"} agents`},
		{[]any{custom("exec")}, nil, `custom_tool_call exec text(JSON.stringify(await tools.look({"at":"x"}))); `},
		{[]any{custom("patch")}, []any{result}, `custom_tool_call patch y `},
	} {
		_, data := post(t, server, "/v1/responses", responsesBody(false, tt.tools, append([]any{said(called)}, tt.items...)...))
		got := decode(t, data)
		check(t, "call", got.text("output.0.type")+" "+got.text("output.0.name")+" "+got.text("output.0.arguments")+
			got.text("output.0.input")+" "+got.text("output.0.namespace"), tt.want)
	}
}
