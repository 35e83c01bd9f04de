package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// What is sent to agents has its texts sanitized before any service gets it, and the answer tells of it; what is typed stays.
func TestMessagesAreSanitized(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.SanitizeHTML, o.Config.SanitizeScripts = true, true })
	var got []string
	r.threads.send = func(_ context.Context, id string, in core.ThreadInput) (core.ThreadReceipt, error) {
		got = append(got, in.Message+in.Raw)
		return core.ThreadReceipt{ThreadID: id, Sent: true}, nil
	}
	r.threads.answer = func(id string, a core.ThreadAnswer) (*core.Thread, error) {
		got = append(got, a.Text)
		return someThread(id, core.ThreadReady), nil
	}
	r.threads.goOn = func(_ string, in core.ThreadContinue) (*core.Thread, error) {
		got = append(got, in.Message)
		next := someThread(threadID2, core.ThreadPending)
		next.Sanitized = in.Sanitized
		return next, nil
	}
	r.managed.send = func(_ context.Context, _ string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		got = append(got, in.Message+in.Raw)
		return core.ManagedAgentReply{Sent: true}, nil
	}
	r.managed.answer = func(_ string, a core.ManagedAgentAnswer) (*core.ManagedAgent, error) {
		got = append(got, a.Text)
		return someManaged(magentID, core.ManagedReady), nil
	}
	r.questions.answer = func(_ context.Context, _, id string, answer json.RawMessage) (*core.Question, error) {
		got = append(got, string(answer))
		return someQuestion(id, core.QuestionAnswered), nil
	}
	const hostile, clean = `Hello <b>you</b><script>alert(1)</script>`, "Hello you"
	thread, question := "/api/managed-threads/"+threadID, "/api/executions/"+execID+"/questions/"+questionID+"/answer"
	for _, tt := range []struct{ path, body, field, want string }{
		{thread + "/send", `{"message":%q}`, "message", clean},
		{thread + "/send", `{"raw":%q}`, "", hostile},
		{thread + "/answer", `{"text":%q}`, "text", clean},
		{thread + "/continue", `{"message":%q}`, "message", clean},
		{magentPath + "/send", `{"message":%q}`, "message", clean},
		{magentPath + "/send", `{"raw":%q}`, "", hostile},
		{magentPath + "/answer", `{"text":%q}`, "text", clean},
		{question, `{"answer":{"note":[%q]}}`, "answer.note[0]", `{"note":["Hello you"]}`},
	} {
		t.Run(tt.path+tt.field, func(t *testing.T) {
			got = nil
			p := r.do("POST", tt.path, fmt.Sprintf(tt.body, hostile))
			if len(got) != 1 || got[0] != tt.want {
				t.Fatalf("the service got %q: %s", got, p.text)
			}
			told, _ := json.Marshal(p.at("sanitized"))
			want := fmt.Sprintf(`[{"field":%q,"removed":["html","scripts"]}]`, tt.field)
			if tt.field == "" {
				want = "null"
			}
			if string(told) != want {
				t.Errorf("told %s, want %s", told, want)
			}
			if tt.field != "" && tt.path != thread+"/continue" && tt.path != question {
				got = nil
				r.do("POST", tt.path, fmt.Sprintf(tt.body, "<script>alert(1)</script>")).wants(t, 400, core.CodeValidation)
				if got != nil {
					t.Errorf("the service got %q", got)
				}
			}
		})
	}
	r.do("POST", question, `{"answer":{"<b>name</b>":1}}`).wants(t, 400, core.CodeValidation)
}
