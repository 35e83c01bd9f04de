package fakemodel_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

const messages = "/v1/messages?beta=true"

// anthropicBody is a request as claude makes it.
func anthropicBody(stream bool, turns ...any) map[string]any {
	all := []any{}
	for i, content := range turns {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		all = append(all, map[string]any{"role": role, "content": content})
	}
	return map[string]any{
		"model": "claude-x", "stream": stream, "messages": all,
		"tools": []any{map[string]any{"name": "Read"}, map[string]any{"name": "Bash"}, map[string]any{"name": "AskUserQuestion"}},
	}
}

func block(kind string, fields ...any) map[string]any {
	b := map[string]any{"type": kind}
	for i := 0; i < len(fields); i += 2 {
		b[fields[i].(string)] = fields[i+1]
	}
	return b
}

func TestAnthropicText(t *testing.T) {
	server := start(t, fakemodel.Options{})
	status, data := post(t, server, messages, anthropicBody(false, "hello"))
	got := decode(t, data)
	check(t, "text", got.text("content.0.text"), "ANSWER[hello]")
	check(t, "rest", fmt.Sprint(status, got.text("type"), got.text("role"), got.text("model"), got.text("stop_reason")),
		"200messageassistantclaude-xend_turn")
	if n, ok := got.at("usage.output_tokens").(float64); !ok || n < 1 {
		t.Errorf("usage is %v", got.at("usage"))
	}
}

func TestAnthropicStream(t *testing.T) {
	server := start(t, fakemodel.Options{})
	long := strings.Repeat("héllo wörld ", 300)
	_, data := post(t, server, messages, anthropicBody(true, "SAY["+long+"] THINK"))
	all := events(t, data)
	check(t, "order", names(all), "message_start ping content_block_start content_block_delta content_block_stop "+
		"content_block_start content_block_delta content_block_stop message_delta message_stop")
	check(t, "text", joined(all, "delta.text"), long)
	check(t, "thought", joined(all, "delta.thinking"), "fake thought")
	check(t, "stop reason", joined(all, "delta.stop_reason"), "end_turn")
	for _, e := range all {
		check(t, "type", e.text("type"), e.name)
	}
	if len(all) < 40 {
		t.Errorf("%d events for %d characters, want many pieces", len(all), len(long))
	}
}

func TestAnthropicTool(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, messages, anthropicBody(true, "USE_TOOL[echo a && echo b]"))
	all := events(t, data)
	var call event
	for _, e := range all {
		if e.name == "content_block_start" {
			call = e
		}
	}
	check(t, "call", call.text("content_block.type")+" "+call.text("content_block.name"), "tool_use Bash")
	check(t, "command", decode(t, []byte(joined(all, "delta.partial_json"))).text("command"), "echo a && echo b")
	check(t, "stop reason", joined(all, "delta.stop_reason"), "tool_use")

	call2 := block("tool_use", "id", call.text("content_block.id"), "name", "Bash", "input", map[string]any{})
	for name, content := range map[string]any{"text": "a\nb\n", "parts": []any{block("text", "text", "a\nb\n")}} {
		_, data = post(t, server, messages, anthropicBody(false, "USE_TOOL[echo a && echo b]", []any{call2},
			[]any{block("tool_result", "content", content), block("text", "text", "<system-reminder>be kind</system-reminder>")}))
		check(t, "answer to "+name, decode(t, data).text("content.0.text"), "ANSWER[USE_TOOL[echo a && echo b]] TOOL_RESULT[a\nb]")
	}
}

func TestAnthropicTools(t *testing.T) {
	server := start(t, fakemodel.Options{})
	turns := []any{"USE_TOOLS[2]"}
	for _, want := range []string{"echo hi-1", "echo hi-2"} {
		_, data := post(t, server, messages, anthropicBody(false, turns...))
		check(t, "command", decode(t, data).text("content.0.input.command"), want)
		turns = append(turns, []any{block("tool_use")}, []any{block("tool_result", "content", "did "+want)})
	}
	_, data := post(t, server, messages, anthropicBody(false, turns...))
	check(t, "answer", decode(t, data).text("content.0.text"), "ANSWER[USE_TOOLS[2]] TOOL_RESULT[did echo hi-2]")

	turns = append(turns, "done", "and now?") // the results of an older turn do not count
	_, data = post(t, server, messages, anthropicBody(false, turns...))
	check(t, "next answer", decode(t, data).text("content.0.text"), "ANSWER[and now?]")
}

func TestAnthropicAsk(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, messages, anthropicBody(false, "ASK[red or blue?]"))
	got := decode(t, data)
	check(t, "tool", got.text("content.0.name"), "AskUserQuestion")
	check(t, "question", got.text("content.0.input.questions.0.question"), "red or blue?")
	check(t, "option", got.text("content.0.input.questions.0.options.1.label"), "beta")
	if got.at("content.0.input.questions.0.multiSelect") != false {
		t.Error("multiSelect is missing")
	}
}

// A tool that the program does not offer is not called.
func TestAnthropicWithoutTools(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for _, text := range []string{"USE_TOOL", "USE_TOOLS[3]", "ASK[x]"} {
		body := anthropicBody(false, text)
		delete(body, "tools")
		_, data := post(t, server, messages, body)
		check(t, "answer", decode(t, data).text("content.0.text"), "ANSWER["+text+"]")
	}
}

func TestAnthropicSchema(t *testing.T) {
	server := start(t, fakemodel.Options{})
	schema := map[string]any{"type": "object", "properties": map[string]any{
		"title": map[string]any{"type": "string"}, "count": map[string]any{"type": "integer", "minimum": 3},
		"kind": map[string]any{"enum": []any{"a", "b"}}, "list": map[string]any{"type": "array"},
		"maybe": map[string]any{"anyOf": []any{map[string]any{"type": "boolean"}}}, "none": map[string]any{"type": []any{"null"}},
		"fixed": map[string]any{"const": 7},
	}}
	want := `{"count":3,"fixed":7,"kind":"a","list":[],"maybe":false,"none":null,"title":"fake title"}`
	format := map[string]any{"type": "json_schema", "schema": schema}
	for name, set := range map[string]map[string]any{
		"output_format": {"output_format": format}, "output_config": {"output_config": map[string]any{"format": format}},
	} {
		// The user text of a side question is often that of the turn; its directives are not for it.
		body := anthropicBody(false, "HOLD[never] SLOW[100] HANG[100] USE_TOOL")
		for key, v := range set {
			body[key] = v
		}
		_, data := post(t, server, messages, body)
		check(t, name, decode(t, data).text("content.0.text"), want)
	}
	if got := server.Requests()[0]; got.Kind != "side" {
		t.Errorf("logged as %+v", got)
	}
}

// What claude puts beside the user's words is not taken for them.
func TestAnthropicUserText(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for _, content := range []any{
		"<system-reminder>\nUSE_TOOL\n</system-reminder>hello",
		[]any{block("text", "text", "hello"), block("text", "text", "<system-reminder a=\"b\">x</system-reminder>")},
		[]any{block("text", "text", "hello"), block("text", "text", "[Request interrupted by user]")},
		[]any{block("text", "text", "earlier"), block("text", "text", " hello\n")},
		[]any{block("image"), block("text", "text", "hello")},
	} {
		_, data := post(t, server, messages, anthropicBody(false, content))
		check(t, "answer", decode(t, data).text("content.0.text"), "ANSWER[hello]")
	}
}

func TestAnthropicBesides(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, "/v1/messages/count_tokens", anthropicBody(false, strings.Repeat("x", 400)))
	if n, ok := decode(t, data).at("input_tokens").(float64); !ok || n < 100 {
		t.Errorf("count_tokens answers %s", data)
	}
	if status, data := send(t, server, http.MethodHead, "/", nil, nil); status != 200 || len(data) > 0 {
		t.Errorf("HEAD / is %d with %q", status, data)
	}
	if status, data := get(t, server, "/v1/models"); status != 200 || decode(t, data).text("data.0.id") != "fake-model" {
		t.Errorf("models are %d %s", status, data)
	}
	for _, q := range server.Requests() {
		if q.Note != "" || q.Status != 200 {
			t.Errorf("logged as %+v", q)
		}
	}
}
