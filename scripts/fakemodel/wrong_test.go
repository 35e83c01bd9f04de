package fakemodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

// streams are the ways in which programs ask for a stream, and what a whole one holds last.
var streams = []struct {
	name, path string
	body       func(prompt string) any
	last       string
}{
	{"anthropic", messages, func(prompt string) any { return anthropicBody(true, prompt) }, "message_stop"},
	{"responses", "/v1/responses", func(prompt string) any { return map[string]any{"stream": true, "input": prompt} }, "response.completed"},
	{"chat", "/v1/chat/completions", func(prompt string) any {
		return map[string]any{"stream": true, "messages": []any{map[string]any{"role": "user", "content": prompt}}}
	}, "[DONE]"},
	{"gemini", "/v1beta/models/gemini-pro:streamGenerateContent?alt=sse", func(prompt string) any {
		return map[string]any{"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": prompt}}}}}
	}, `"finishReason":"STOP"`},
}

// ask sends a prompt and returns what came, and how that ended.
func ask(t *testing.T, server *fakemodel.Server, path string, body any) (string, error) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client(t).Post(server.URL()+path, "application/json", bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	got, err := io.ReadAll(response.Body)
	return string(got), err
}

func TestCut(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			server := start(t, fakemodel.Options{Wait: noWait})
			got, err := ask(t, server, tt.path, tt.body("CUT[9] it"))
			if err == nil || !strings.Contains(got, "ANSWER[CU") || strings.Contains(got, "ANSWER[CUT") || strings.Contains(got, tt.last) {
				t.Errorf("%v after %s", err, got)
			}
			q, err := server.Await(in(t), func(q fakemodel.Request) bool { return q.DoneNs != 0 })
			if err != nil || q.Note != "cut" {
				t.Errorf("logged %+v: %v", q, err)
			}
			if got, err := ask(t, server, tt.path, tt.body("whole")); err != nil || !strings.Contains(got, tt.last) {
				t.Errorf("the next: %v after %s", err, got)
			}
		})
	}
	t.Run("document", func(t *testing.T) {
		server := start(t, fakemodel.Options{Wait: noWait})
		if got, err := ask(t, server, messages, anthropicBody(false, "CUT")); err == nil || json.Valid([]byte(got)) {
			t.Errorf("%v after %s", err, got)
		}
	})
}

func TestTimes(t *testing.T) {
	server := start(t, fakemodel.Options{Wait: noWait})
	for _, want := range []int{503, 503, 200, 200} {
		if status, _ := post(t, server, messages, anthropicBody(true, "FAIL[503] TIMES[2]")); status != want {
			t.Errorf("status %d, want %d", status, want)
		}
	}
	if status, _ := post(t, server, messages, anthropicBody(true, "another FAIL[503] TIMES[1]")); status != 503 {
		t.Errorf("another text: status %d", status)
	}
	server.Reset()
	if status, _ := post(t, server, messages, anthropicBody(true, "FAIL[503] TIMES[2]")); status != 503 {
		t.Errorf("after a reset: status %d", status)
	}
}

func TestStallAndLoop(t *testing.T) {
	var mu sync.Mutex
	var stalled []time.Duration
	server := start(t, fakemodel.Options{Wait: func(ctx context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		stalled = append(stalled, d)
		return ctx.Err()
	}})
	_, data := post(t, server, messages, anthropicBody(true, "STALL[7] LOOP[3]"))
	check(t, "text", joined(events(t, data), "delta.text"), "ANSWER[STALL[7] LOOP[3]] word word word")
	mu.Lock()
	defer mu.Unlock()
	if len(stalled) != 1 || stalled[0] != 7*time.Second {
		t.Errorf("stalled %v", stalled)
	}
}
