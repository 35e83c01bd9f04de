package proof_test

import (
	"testing"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// also applies several changes.
func also(changes ...func(*proof.Evidence)) func(*proof.Evidence) {
	return func(e *proof.Evidence) {
		for _, change := range changes {
			change(e)
		}
	}
}

var (
	sent    = add("message.sent", `{"messageId":"m1","wantsReply":true}`)
	replied = add("message.replied", `{"messageId":"m1"}`)
	asked   = add("question.asked", `{"question":{"id":"q1"}}`)
	said    = add("question.answered", `{"questionId":"q1"}`)
)

var talks = []forgery{
	{"SentTwice", also(sent, sent), proof.RuleRepeated, "message m1 is sent twice"},
	{"RepliedTwice", also(sent, replied, replied), proof.RuleRepeated, "a reply to message m1"},
	{"RepliedToNothing", replied, proof.RuleRepeated, "a reply to message m1"},
	{"RepliedAfterItWasClosed", also(sent, add("message.closed", `{"messageId":"m1"}`), replied), proof.RuleRepeated, "a reply to message m1"},
	{"NoReply", sent, proof.RuleLost, "message m1 has no reply"},
	{"AskedTwice", also(asked, asked), proof.RuleRepeated, "question q1 is asked twice"},
	{"AnsweredTwice", also(asked, said, said), proof.RuleRepeated, "an answer to question q1"},
	{"StreamHidesAMessage", also(sent, replied), proof.RuleStream, "where the journal has"},
}

// What was said and answered breaks no promise.
func TestHarmlessTalk(t *testing.T) {
	e := forge()
	e.Streams = nil
	also(sent, asked, said, replied, add("message.sent", `{"messageId":"m2"}`), add("message.sent", `{"messageId":"m3","wantsReply":true}`),
		add("message.closed", `{"messageId":"m3"}`))(e)
	for i := range e.Journals["exec_1"] {
		e.Journals["exec_1"][i].Sequence = uint64(10 + i)
	}
	if findings := proof.Check(e); len(findings) > 0 {
		t.Fatalf("findings: %v", findings)
	}
}
