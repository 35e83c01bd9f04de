package fakemodel_test

import (
	"testing"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

const (
	generate = "/v1beta/models/gemini-x:generateContent"
	streamed = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse&key=secret"
)

// geminiBody is a request as gemini makes it: contents alternate between user and model.
func geminiBody(contents ...[]any) map[string]any {
	all := []any{}
	for i, parts := range contents {
		role := "user"
		if i%2 == 1 {
			role = "model"
		}
		all = append(all, map[string]any{"role": role, "parts": parts})
	}
	return map[string]any{"contents": all, "tools": []any{map[string]any{"functionDeclarations": []any{
		map[string]any{"name": "run_shell_command"}, map[string]any{"name": "ask_user"}}}}}
}

func parts(texts ...string) []any {
	all := []any{}
	for _, text := range texts {
		all = append(all, map[string]any{"text": text})
	}
	return all
}

const geminiText = "candidates.0.content.parts.0.text"

func TestGeminiText(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for name, contents := range map[string]any{
		"list":   geminiBody(parts("hello"))["contents"],
		"one":    map[string]any{"parts": parts("hello")},
		"string": "hello",
		"setup":  geminiBody(parts("This is the Gemini CLI. We are setting up", "hello", "<session_context>x</session_context>"))["contents"],
	} {
		_, data := post(t, server, generate, map[string]any{"contents": contents})
		got := decode(t, data)
		check(t, name, got.text(geminiText), "ANSWER[hello]")
		check(t, "rest", got.text("candidates.0.finishReason")+got.text("modelVersion"), "STOPgemini-x")
	}
}

func TestGeminiStream(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, streamed, geminiBody(parts("LONG[50] THINK")))
	all := events(t, data)
	if all[0].at("candidates.0.content.parts.0.thought") != true {
		t.Errorf("the first event is no thought: %v", all[0])
	}
	for i, e := range all {
		want := ""
		if i == len(all)-1 {
			want = "STOP"
		}
		check(t, "finish reason", e.text("candidates.0.finishReason"), want)
	}
	text := joined(all[1:], geminiText)
	if want := "ANSWER[LONG[50] THINK]\nline 00001"; len(text) < 1000 || text[:len(want)] != want {
		t.Errorf("text is %q", text)
	}
	q := server.Requests()[0]
	check(t, "logged path", q.Path, "/v1beta/models/gemini-x:streamGenerateContent") // the query holds a key
	check(t, "logged model", q.Model, "gemini-x")

	_, data = post(t, server, "/v1beta/models/gemini-x:streamGenerateContent", geminiBody(parts("hello")))
	check(t, "as a list", decode(t, data).text("0."+geminiText), "ANSWER[hello]")
}

func TestGeminiTool(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, streamed, geminiBody(parts("USE_TOOL[ls]")))
	call := events(t, data)[0]
	check(t, "tool", call.text("candidates.0.content.parts.0.functionCall.name"), "run_shell_command")
	check(t, "command", call.text("candidates.0.content.parts.0.functionCall.args.command"), "ls")
	check(t, "finish reason", call.text("candidates.0.finishReason"), "STOP")

	for field, want := range map[string]string{"output": "x", "error": "x", "other": `{"other":"x"}`} {
		result := []any{map[string]any{"functionResponse": map[string]any{"response": map[string]any{field: "x"}}}}
		_, data := post(t, server, generate, geminiBody(parts("USE_TOOL[ls]"), parts("call"), append(result, parts("a hint")...)))
		check(t, field, decode(t, data).text(geminiText), "ANSWER[USE_TOOL[ls]] TOOL_RESULT["+want+"]")
	}
}

func TestGeminiAsk(t *testing.T) {
	server := start(t, fakemodel.Options{})
	_, data := post(t, server, generate, geminiBody(parts("ASK[which?]")))
	got := decode(t, data)
	check(t, "tool", got.text("candidates.0.content.parts.0.functionCall.name"), "ask_user")
	check(t, "question", got.text("candidates.0.content.parts.0.functionCall.args.questions.0.type"), "choice")
}

// gemini asks which model to use, and who speaks next, in the shape of a schema.
func TestGeminiSideQuestions(t *testing.T) {
	server := start(t, fakemodel.Options{})
	router := map[string]any{"type": "OBJECT", "properties": map[string]any{
		"reasoning": map[string]any{"type": "STRING"}, "model_choice": map[string]any{"type": "STRING", "enum": []any{"flash", "pro"}}}}
	speaker := map[string]any{"properties": map[string]any{"next_speaker": map[string]any{"type": "string", "enum": []any{"model", "user"}}}}
	for _, tt := range []struct {
		config map[string]any
		want   string
	}{
		{map[string]any{"responseJsonSchema": router}, `{"model_choice":"flash","reasoning":"fake"}`},
		{map[string]any{"responseSchema": speaker}, `{"next_speaker":"user"}`},
		{map[string]any{}, `{}`},
	} {
		tt.config["responseMimeType"] = "application/json"
		body := geminiBody(parts("HOLD[never]"))
		body["generationConfig"] = tt.config
		_, data := post(t, server, generate, body)
		check(t, "answer", decode(t, data).text(geminiText), tt.want)
	}
}

func TestGeminiBesides(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for path, want := range map[string]int{
		"/v1beta/models/gemini-x:countTokens": 200, "/v1beta/models/gemini-x:embedContent": 200, "/v1beta/models/gemini-x:paint": 404,
	} {
		if status, data := post(t, server, path, geminiBody(parts("hello"))); status != want {
			t.Errorf("%s is %d %s, want %d", path, status, data, want)
		}
	}
	if _, data := get(t, server, "/v1beta/models"); decode(t, data).text("models.0.name") != "models/fake-gemini" {
		t.Errorf("models are %s", data)
	}
}
