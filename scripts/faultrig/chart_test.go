package main

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

func TestReadTask(t *testing.T) {
	for _, tt := range []struct {
		name, input, kind string
		want              chartTask
	}{
		{"Flat", `{"text":"a","delay":3,"flaky":true}`, "", chartTask{taskInput{"a", 3, true}, ""}},
		{"Assign", `{"type":"assign","role":"worker","task":"{\"text\":\"b\",\"delay\":1,\"ask\":\"question\"}"}`, "assign",
			chartTask{taskInput{"b", 1, false}, "question"}},
		{"Review", `{"type":"review","task":"Review the subject.","subject":{"text":"c","delay":2}}`, "review", chartTask{taskInput{"c", 2, false}, ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, kind, err := readTask(json.RawMessage(tt.input))
			if err != nil || kind != tt.kind || got != tt.want {
				t.Errorf("got %+v of kind %q, %v", got, kind, err)
			}
		})
	}
	if _, _, err := readTask(json.RawMessage(`{"type":"assign","task":"never"}`)); err == nil {
		t.Error("took a task that no load asks for")
	}
}

// The org chart is a valid one, and what it comes to follows from what is answered on the way.
func TestChart(t *testing.T) {
	if parse(t, chartSource).Definition().Name != chartPattern {
		t.Error("it has another name")
	}
	var work struct{ Digest string }
	var verdict struct{ Verdict, Feedback string }
	give := func(kind, text string, v any) {
		t.Helper()
		if err := json.Unmarshal(chartAnswer(kind, text), v); err != nil {
			t.Fatal(err)
		}
	}
	give("assign", "hello", &work)
	draft := work.Digest
	give("assign", draft+spoken(draft), &work)
	give("review", work.Digest, &verdict)
	give("assign", verdict.Feedback+spoken(verdict.Feedback), &work)
	give("approve", work.Digest, &verdict)
	want := map[string]string{"draft": draft, "digest": verdict.Feedback}
	if got := expect(chartPattern, taskInput{Text: "hello"}.raw()); proof.Canonical(got) != proof.Canonical(json.RawMessage(show(want))) {
		t.Errorf("expected %s, played %s", got, show(want))
	}
	if verdict.Verdict != "approve" {
		t.Errorf("the verdict is %q", verdict.Verdict)
	}
}
