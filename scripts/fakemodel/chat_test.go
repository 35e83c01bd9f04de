package fakemodel_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

func TestChat(t *testing.T) {
	server := start(t, fakemodel.Options{})
	body := map[string]any{"model": "m", "messages": []any{
		map[string]any{"role": "system", "content": "SAY[no]"},
		map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "hello"}}},
		map[string]any{"role": "tool", "content": "found"},
	}}
	_, data := post(t, server, "/v1/chat/completions", body)
	got := decode(t, data)
	check(t, "text", got.text("choices.0.message.content"), "ANSWER[hello] TOOL_RESULT[found]")
	check(t, "reason", got.text("choices.0.finish_reason"), "stop")

	body["stream"] = true
	_, data = post(t, server, "/v1/chat/completions", body)
	if !strings.HasSuffix(string(data), "data: [DONE]\n\n") {
		t.Errorf("the stream does not end with [DONE]: %s", data)
	}
	all := events(t, data)
	check(t, "streamed text", joined(all, "choices.0.delta.content"), "ANSWER[hello] TOOL_RESULT[found]")
	check(t, "reason", joined(all, "choices.0.finish_reason"), "stop")
}
