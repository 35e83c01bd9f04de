package orgchart

import (
	"cmp"
	"encoding/json"
	"strings"
)

// Words of a verdict.
const (
	Approve = "approve"
	Revise  = "revise"
	Reject  = "reject"
)

// Verdict is the judgement of a reviewer or approver.
type Verdict struct {
	Verdict    string  // Approve, Revise or Reject
	Confidence float64 // 0 to 1; 1 when none is given
	Feedback   string  // may be empty
}

// Approved reports whether the work may go on.
func (v Verdict) Approved() bool { return v.Verdict == Approve }

// ReadVerdict reads the verdict in an agent's result, however it is written: an object, text with an object in it, a
// line "Verdict: approve", or plain words. It returns false when there is no verdict, when there are several that
// contradict each other, and when an approval is tied to a condition: a gate opens for a clear yes only.
func ReadVerdict(result json.RawMessage) (Verdict, bool) {
	r := (&reader{left: maxRead}).value(result, 0)
	word := r.signals.verdict()
	if word == "" {
		return Verdict{}, false
	}
	v := Verdict{Verdict: word, Confidence: 1, Feedback: strings.TrimSpace(r.feedback)}
	if r.confident {
		v.Confidence = r.confidence
	}
	return v, true
}

// VerdictRequest is the text that asks an agent for a verdict in the form that ReadVerdict reads best.
func VerdictRequest() string {
	return "Judge the subject and answer with one JSON object, and nothing else: " +
		`{"verdict": "...", "confidence": 0.0, "feedback": "..."}. ` +
		`verdict is exactly one of "approve" (it is good as it is), "revise" (it must be changed first) and "reject" ` +
		"(it must not go on). confidence is a number from 0 to 1 that says how sure you are. feedback says in plain words " +
		"why, and what to do differently; it is handed to whoever does the work again."
}

// signals is the set of verdicts that were found in an answer so far. Several may be set.
type signals uint8

const (
	saysApprove signals = 1 << iota
	saysRevise
	saysReject
	saysNot     // not approved, which may be either of the two before
	saysUnclear // something that is meant as a verdict and cannot be told
)

// refusal is every signal against.
const refusal = saysRevise | saysReject | saysNot

// verdict is the word that the signals come to, or "".
func (s signals) verdict() string {
	switch {
	case s == saysApprove:
		return Approve
	case s&saysApprove != 0:
		return ""
	case s&saysReject != 0:
		return Reject
	case s&saysRevise != 0:
		return Revise
	case s&saysNot != 0:
		return Reject
	}
	return ""
}

// against reports whether one says yes and the other no.
func (s signals) against(other signals) bool {
	return s&saysApprove != 0 && other&refusal != 0 || s&refusal != 0 && other&saysApprove != 0
}

// reader reads one answer.
type reader struct {
	left int // bytes of text that are read yet
}

// takes reports whether a text is still read, and counts it. What is not read may say anything.
func (rd *reader) takes(text string) bool {
	if len(text) > rd.left {
		return false
	}
	rd.left -= len(text)
	return true
}

// reading is what was read from one place of an answer.
type reading struct {
	signals    signals
	confidence float64
	confident  bool
	feedback   string
}

// join adds what another place says: signals of both, and the rest where this one has none.
func (r reading) join(other reading) reading {
	r.signals |= other.signals
	return r.fill(other)
}

// fill takes confidence and feedback over where there is none.
func (r reading) fill(other reading) reading {
	if !r.confident {
		r.confidence, r.confident = other.confidence, other.confident
	}
	r.feedback = cmp.Or(r.feedback, other.feedback)
	return r
}
