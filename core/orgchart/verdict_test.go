package orgchart_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core/orgchart"
)

// text makes a JSON text of an answer that is not JSON itself.
func text(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestReadVerdict(t *testing.T) {
	const none = ""
	tests := []struct {
		answer     string
		verdict    string
		confidence float64 // 0: 1
		feedback   string  // "*": not looked at
	}{
		// Objects.
		{`{"verdict":"approve","confidence":0.9,"feedback":"fine"}`, "approve", 0.9, "fine"},
		{`{"verdict":"Approved"}`, "approve", 0, ""},
		{`{"Verdict":"REVISE","Feedback":"add tests"}`, "revise", 0, "add tests"},
		{`{"decision":"rejected","reason":"unsafe"}`, "reject", 0, "unsafe"},
		{`{"decision":"request changes","comments":["a","b"]}`, "revise", 0, "- a\n- b"},
		{`{"decision":"REQUEST_CHANGES"}`, "revise", 0, ""},
		{`{"approved":true,"confidence":"85%"}`, "approve", 0.85, ""},
		{`{"approved":false,"summary":"no tests"}`, "reject", 0, "no tests"},
		{`{"approved":"yes"}`, "approve", 0, ""},
		{`{"approved":"No"}`, "reject", 0, ""},
		{`{"approved":true,"confidence":85}`, "approve", 0.85, ""},
		{`{"approved":true,"confidence":"8/10"}`, "approve", 0.8, ""},
		{`{"approved":true,"confidence":"high"}`, "approve", 0.9, ""},
		{`{"approved":true,"confidence":9}`, "approve", 0.9, ""},
		{`{"approved":true,"confidence":-3}`, "approve", -1, ""},
		{`{"approved":true,"confidence":"so so"}`, "approve", 0, ""},
		{`{"status":"approved"}`, "approve", 0, ""},
		{`{"status":"changes_requested","issues":["x"]}`, "revise", 0, "- x"},
		{`{"status":"completed","verdict":"lgtm"}`, "approve", 0, ""},
		{`{"status":"ok","verdict":"deny"}`, "reject", 0, ""},
		{`{"status":"completed"}`, none, 0, ""},
		{`{"status":"ok"}`, none, 0, ""},
		{`{"status":"success","summary":"found 3 critical bugs"}`, none, 0, ""},
		{`{"verdict":"approve","approved":true}`, "approve", 0, ""},
		{`{"verdict":"revise","approved":false}`, "revise", 0, ""},
		{`{"verdict":"approve","approved":false}`, none, 0, ""},
		{`{"verdict":"reject","approved":true}`, none, 0, ""},
		{`{"verdict":"approve","verdict":"reject"}`, none, 0, ""},
		{`{"verdict":"maybe"}`, none, 0, ""},
		{`{"verdict":"pending","summary":"LGTM"}`, none, 0, ""},
		{`{"verdict":"approve|revise|reject"}`, none, 0, ""},
		{`{"verdict":null,"approved":true}`, "approve", 0, ""},
		{`{"verdict":{"decision":"approve","confidence":0.7}}`, "approve", 0.7, ""},
		{`{"verdict":"not approved"}`, "reject", 0, ""},
		{`{"verdict":"approved with comments","comments":"nits"}`, "approve", 0, "nits"},
		{`{"verdict":"approve with changes"}`, none, 0, ""},
		{`{"verdict":"conditionally approved"}`, none, 0, ""},
		{`{"verdict":"Approved. The tests pass and the code is clear."}`, "approve", 0, "The tests pass and the code is clear."},
		{`{"lgtm":true}`, "approve", 0, ""},
		{`{"needs_changes":true}`, "revise", 0, ""},
		{`{"rejected":true,"details":{"a":1}}`, "reject", 0, `{"a":1}`},
		{`{"event":"APPROVE","body":"ok"}`, "approve", 0, ""},
		{`{}`, none, 0, ""},
		{`{"answer":42}`, none, 0, ""},

		// Wrapped.
		{`{"result":{"verdict":"approve","feedback":"good"}}`, "approve", 0, "good"},
		{`{"result":{"result":{"approved":false}}}`, "reject", 0, ""},
		{`{"text":"Verdict: approve\nConfidence: 90%"}`, "approve", 0.9, ""},
		{`{"text":"{\"verdict\":\"reject\",\"feedback\":\"bad\"}","confidence":0.4}`, "reject", 0.4, "bad"},
		{`{"output":"LGTM"}`, "approve", 0, ""},
		{`{"message":"Review completed","text":"Needs work."}`, "revise", 0, "*"},
		{`[{"type":"text","text":"Approved."}]`, "approve", 0, ""},
		{`[{"verdict":"approve"},{"verdict":"reject"}]`, none, 0, ""},
		{`{"approved":true,"text":"I do not approve this."}`, none, 0, ""},
		{`{"summary":"Approved."}`, "approve", 0, "Approved."},

		// Objects within text.
		{text("Here is my review:\n\n```json\n{\"verdict\": \"approve\", \"confidence\": 0.95, \"feedback\": \"clean\"}\n```\n"), "approve", 0.95, "clean"},
		{text("```\n{\"verdict\": \"revise\"}\n```\nThe error paths are not tested."), "revise", 0, "The error paths are not tested."},
		{text(`I looked at {"a": 1} and say {"verdict": "reject", "feedback": "no"}`), "reject", 0, "no"},
		{text(`The form is {"verdict": "approve|revise|reject"}. Mine: {"verdict": "revise"}`), "revise", 0, "*"},
		{text(`{"verdict": "approve"} but on second thought {"verdict": "reject"}`), none, 0, ""},
		{text(`I cannot approve without looking. Done. {"verdict":"approve"}`), "approve", 0, "*"},
		{text("Verdict: reject\n{\"verdict\":\"approve\"}"), none, 0, ""},
		{text(`{'verdict': 'approve', 'confidence': 0.8}`), "approve", 0.8, "*"},
		{text(`{"verdict": "approve", "feedback": "not closed`), "approve", 0, "*"},
		{text(text(`{"verdict":"approve"}`)), "approve", 0, ""},

		// Lines.
		{text("Verdict: approve"), "approve", 0, ""},
		{text("**Verdict:** Approve\n\n**Confidence:** 85%\n\n**Feedback:** Well done.\nTwo nits."), "approve", 0.85, "Well done.\nTwo nits."},
		{text("## Verdict\n\n**Needs work**\n\n- tests are missing"), "revise", 0, "- tests are missing"},
		{text("### Final verdict: ❌ Rejected\nIt drops the table."), "reject", 0, "It drops the table."},
		{text("Decision - request changes"), "revise", 0, ""},
		{text("My decision is to reject the proposal."), "reject", 0, "*"},
		{text("| Criterion | Value |\n|---|---|\n| Verdict | approve |\n| Confidence | 0.7 |"), "approve", 0.7, "*"},
		{text("verdict: approve\nconfidence: 0.75\nfeedback: ship it"), "approve", 0.75, "ship it"},
		{text("Recommendation: Accept"), "approve", 0, ""},
		{text("Status: done\nApproved: yes"), "approve", 0, "*"},
		{text("Approved: no\nThe lock is never released."), "reject", 0, "The lock is never released."},
		{text("Verdict: approve, revise or reject\n\nVerdict: revise"), "revise", 0, ""},
		{text("Verdict: I cannot tell yet"), none, 0, ""},
		{text("Verdict: approve\n\nActually, I do not approve this."), none, 0, ""},
		{text("Verdict: approve if the tests pass"), none, 0, ""},
		{text("Verdict: not approved. The tests fail."), "reject", 0, "The tests fail."},

		// Whole reviews.
		{text("## Review\n\n**Summary**: The work is solid.\n\n### Strengths\n- Clean\n\n### Issues\n1. A test is missing\n\n### Verdict\n✅ **Approved** with minor suggestions.\n\nConfidence: 8/10"), "approve", 0.8, "*"},
		{text("After reviewing the code, I believe this is ready to merge. The tests pass, edge cases are handled."), "approve", 0, "*"},
		{text("I've completed my review.\n\n**Overall assessment: Approve**\n\nAll acceptance criteria are met."), "approve", 0, "*"},
		{text("Overall: LGTM 👍\n\n- naming is clear\n- bad input is rejected early"), "approve", 0, "*"},
		{text("The work needs some changes before it can be approved:\n- close the file\n- test the error path"), "revise", 0, "*"},
		{text("Decision: **APPROVE** (confidence: 0.92)\n\nReasoning: it is minimal and tested."), "approve", 0.92, "it is minimal and tested."},
		{text("My verdict: revise.\n\nThe main reason: the cache is never emptied."), "revise", 0, "*"},
		{text("verdict=approve confidence=0.9"), "approve", 0.9, ""},
		{text("I reviewed the three files.\n\nThe handler does not check the length; it accepts anything.\n\nRequest changes."), "revise", 0, "*"},
		{text("1. Correctness: good\n2. Tests: missing\n\n**Final decision:** Rejected ❌ until there are tests"), "reject", 0, "*"},

		// Plain words.
		{text("LGTM"), "approve", 0, ""},
		{text("LGTM!"), "approve", 0, ""},
		{text("lgtm 🚀 ship it"), "approve", 0, "*"},
		{text("👍"), "approve", 0, ""},
		{text("+1"), "approve", 0, ""},
		{text("-1"), "reject", 0, ""},
		{text("ok"), "approve", 0, ""},
		{text("OK, I will review it now."), none, 0, ""},
		{text("Approved."), "approve", 0, ""},
		{text("**APPROVED** – nice work"), "approve", 0, "*"},
		{text("Approve: the plan covers all cases."), "approve", 0, "*"},
		{text("I approve this change. Confidence: 0.6"), "approve", 0.6, "*"},
		{text("I've reviewed the diff.\n\nI therefore approve it with 90% confidence."), "approve", 0.9, "*"},
		{text("Looks good to me, thanks!"), "approve", 0, "*"},
		{text("This PR is ready to merge."), "approve", 0, "*"},
		{text("The change has been approved."), "approve", 0, "*"},
		{text("No issues found, approved."), "approve", 0, "*"},
		{text("Approved, no changes needed."), "approve", 0, "*"},
		{text("I have no objections and approve."), "approve", 0, "*"},
		{text("I don't see any problem. I approve."), "approve", 0, "*"},
		{text("Needs work: the parser loops forever."), "revise", 0, "*"},
		{text("Requesting changes. See the comments."), "revise", 0, "*"},
		{text("Changes requested."), "revise", 0, ""},
		{text("The tests must be fixed first."), "revise", 0, "*"},
		{text("This is not ready."), "revise", 0, "*"},
		{text("Please revise and resubmit."), "revise", 0, "*"},
		{text("Rejected - it leaks the key."), "reject", 0, "*"},
		{text("I have to reject this."), "reject", 0, "*"},
		{text("I must decline."), "reject", 0, "*"},
		{text("Do not merge!"), "reject", 0, ""},

		// No approval.
		{text("Not approved."), "reject", 0, ""},
		{text("not  Approved"), "reject", 0, ""},
		{text("I do not approve."), "reject", 0, "*"},
		{text("I don’t approve this."), "reject", 0, "*"},
		{text("I cannot approve this in good conscience."), "reject", 0, "*"},
		{text("I can't approve it yet; the tests need work."), "revise", 0, "*"},
		{text("I won't approve that"), "reject", 0, "*"},
		{text("I am unable to approve this."), "reject", 0, "*"},
		{text("I do not, under any circumstances, approve."), "reject", 0, "*"},
		{text("There is no way I approve this."), "reject", 0, "*"},
		{text("This is not approved."), "reject", 0, "*"},
		{text("It can not be approved as it stands."), "reject", 0, "*"},
		{text("I would approve this once the tests pass."), none, 0, ""},
		{text("Approved if CI is green."), none, 0, ""},
		{text("If CI is green, approved."), none, 0, ""},
		{text("LGTM after you fix the leak."), none, 0, ""},
		{text("Should I approve this?"), none, 0, ""},
		{text("Approved?"), none, 0, ""},
		{text("Looks good. However, the migration is missing."), none, 0, ""},
		{text("Looks good to me but the tests fail."), none, 0, ""},
		{text("Approved. Actually no, rejected."), none, 0, ""},
		{text("I approve the idea. I reject the code."), none, 0, ""},
		{text("approve or reject"), none, 0, ""},
		{text("The endpoint accepts a list of users and rejects bad input."), none, 0, ""},
		{text("I reviewed how requests are accepted by the gateway."), none, 0, ""},
		{text("I see no reason to reject it."), none, 0, ""},
		{text("not rejected"), none, 0, ""},
		{text("I can approve this only after the tests pass."), none, 0, ""},
		{text("Approved by: ____"), none, 0, ""},
		{text("Approved changes: none"), none, 0, ""},
		{text("Approved: 0 of 3"), none, 0, ""},
		{text("I approve nothing."), none, 0, ""},
		{text("This needs to be approved by the architect."), none, 0, ""},
		{text("The change still has to be approved."), none, 0, ""},
		{text("Verdict: approved? No idea."), none, 0, ""},
		{text("Approved in principle."), none, 0, ""},
		{text("Tentatively approved."), none, 0, ""},
		{text("Approved with reservations."), none, 0, ""},
		{text("LGTM? No."), none, 0, ""},
		{text("Anything but approved."), "reject", 0, "*"},
		{text("This is far from approved."), none, 0, ""},
		{text("I haven't approved this."), "reject", 0, "*"},
		{text("I do not recommend approval."), "reject", 0, "*"},
		{text("I recommend against merging."), "reject", 0, "*"},
		{text("I recommend approving the change."), "approve", 0, "*"},
		{`{"decision":"withhold approval"}`, none, 0, ""},
		{`{"decision":"needs approval"}`, none, 0, ""},
		{`{"decision":"recommend approval"}`, "approve", 0, ""},
		{`{"decision":"defer"}`, none, 0, ""},
		{`{"approval":"required"}`, none, 0, ""},
		{`{"approval":"granted"}`, "approve", 0, ""},
		{`{"verdict":"unable to accept"}`, "reject", 0, ""},
		{`{"verdict":"pre-approved"}`, none, 0, ""},
		{`{"review":{"approved":true},"approved":false}`, none, 0, ""},
		{`{"verdict":"pass"}`, "approve", 0, ""},
		{`{"verdict":"FAIL","explanation":"2 tests"}`, "reject", 0, "2 tests"},
		{text("The work is done."), none, 0, ""},
		{text("> Approved\n\nI quote the earlier review."), none, 0, ""},
		{text(""), none, 0, ""},
		{`null`, none, 0, ""},
		{`true`, none, 0, ""},
		{`17`, none, 0, ""},
		{`[]`, none, 0, ""},
		{``, none, 0, ""},
		{`{"verdict":`, none, 0, ""},
	}
	for _, tt := range tests {
		v, ok := orgchart.ReadVerdict(json.RawMessage(tt.answer))
		if ok != (tt.verdict != none) || v.Verdict != tt.verdict {
			t.Errorf("%s\n got %+v, %v\nwant %q", tt.answer, v, ok, tt.verdict)
			continue
		}
		if !ok {
			continue
		}
		want := tt.confidence
		if want == 0 {
			want = 1
		} else if want < 0 {
			want = 0
		}
		if v.Confidence != want {
			t.Errorf("%s: confidence %v, want %v", tt.answer, v.Confidence, want)
		}
		if tt.feedback != "*" && v.Feedback != tt.feedback {
			t.Errorf("%s: feedback %q, want %q", tt.answer, v.Feedback, tt.feedback)
		}
		if v.Approved() != (tt.verdict == orgchart.Approve) {
			t.Errorf("%s: approved %v", tt.answer, v.Approved())
		}
	}
}

// What is asked for is what is read best, and repeating the question is no answer.
func TestVerdictRequest(t *testing.T) {
	if v, ok := orgchart.ReadVerdict(json.RawMessage(text(orgchart.VerdictRequest()))); ok {
		t.Errorf("the request itself reads as %+v", v)
	}
	echo := orgchart.VerdictRequest() + "\n\n" + `{"verdict": "revise", "confidence": 0.5, "feedback": "x"}`
	v, ok := orgchart.ReadVerdict(json.RawMessage(text(echo)))
	if want := (orgchart.Verdict{Verdict: "revise", Confidence: 0.5, Feedback: "x"}); !ok || v != want {
		t.Errorf("request and answer: %+v, %v", v, ok)
	}
}

func TestReadVerdictHostile(t *testing.T) {
	for name, answer := range map[string]string{
		"open braces":     text(strings.Repeat("{", 1<<20)),
		"open objects":    text(strings.Repeat(`{"a":`, 1<<18)),
		"broken objects":  text(strings.Repeat(`{"a":`, 1<<16) + "!"),
		"many objects":    text(strings.Repeat(`{"a":1}`, 1<<16)),
		"deep arrays":     strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"deep objects":    strings.Repeat(`{"result":`, 5000) + `"approved"` + strings.Repeat("}", 5000),
		"deep verdicts":   strings.Repeat(`{"verdict":`, 5000) + `"approved"` + strings.Repeat("}", 5000),
		"one long line":   text(strings.Repeat("i do not ", 1<<16) + "know"),
		"many lines":      text(strings.Repeat("verdict\n", 1<<16)),
		"many conditions": text(strings.Repeat(", if , but ", 1<<16)),
		"nested texts":    nest(20),
	} {
		t.Run(name, func(t *testing.T) {
			if v, ok := orgchart.ReadVerdict(json.RawMessage(answer)); ok {
				t.Errorf("read as %+v", v)
			}
		})
	}
}

func nest(n int) string {
	s := `{"verdict":"approve"}`
	for i := 0; i < n; i++ {
		s = `{"result":[` + s + `]}`
	}
	return s
}

func FuzzReadVerdict(f *testing.F) {
	for _, seed := range []string{
		`{"verdict":"approve","confidence":"85%"}`, `{"text":"Verdict: reject\n- why"}`, `[{"approved":false}]`,
		text("I do not, ever, approve. {\"verdict\":\"x\"}"), text("```json\n{}\n```"), text("✅ 👍 | Verdict | ok |"), `{"confidence":"1/0","approved":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, answer := range []string{string(data), text(string(data))} {
			v, ok := orgchart.ReadVerdict(json.RawMessage(answer))
			if !ok {
				if v != (orgchart.Verdict{}) {
					t.Fatalf("%q: unreadable, but %+v", answer, v)
				}
				continue
			}
			if v.Verdict != orgchart.Approve && v.Verdict != orgchart.Revise && v.Verdict != orgchart.Reject {
				t.Fatalf("%q: verdict %q", answer, v.Verdict)
			}
			if !(v.Confidence >= 0 && v.Confidence <= 1) {
				t.Fatalf("%q: confidence %v", answer, v.Confidence)
			}
			if utf8.ValidString(answer) && !utf8.ValidString(v.Feedback) {
				t.Fatalf("%q: feedback %q", answer, v.Feedback)
			}
			if again, _ := orgchart.ReadVerdict(json.RawMessage(answer)); again != v {
				t.Fatalf("%q: %+v, then %+v", answer, v, again)
			}
		}
	})
}

func BenchmarkReadVerdict(b *testing.B) {
	answer := json.RawMessage(text("I looked at it.\n\n```json\n{\"verdict\": \"approve\", \"confidence\": 0.95, \"feedback\": \"clean\"}\n```\n"))
	for b.Loop() {
		orgchart.ReadVerdict(answer)
	}
}
