package engine

import (
	"encoding/json"
	"fmt"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/orgchart"
)

// verdictResult is the result of a review or approve step.
type verdictResult struct {
	Approved   bool    `json:"approved"`
	Verdict    string  `json:"verdict"`
	Confidence float64 `json:"confidence"`
	Feedback   string  `json:"feedback"`
	Reviewer   string  `json:"reviewer"`
	AgentID    string  `json:"agentId"`
}

// noVerdict is the feedback of a step whose agent gave none, twice.
const noVerdict = "the answer could not be read as a verdict, though it was asked for twice"

// judge takes the answer to a review or approve step. One that cannot be read is asked for once more, of the same
// agent.
func (r *chartRun) judge(c *change, l *leaf, agent string, answer json.RawMessage) {
	v, ok := orgchart.ReadVerdict(answer)
	if !ok && l.previous == nil {
		again := &leaf{step: l.step, round: l.round, feedback: l.feedback, role: l.role, previous: answer, prefer: agent}
		again.id = r.eng.ids.New(core.PrefixTask)
		r.enlist(again)
		return
	}
	if !ok {
		v = orgchart.Verdict{Verdict: orgchart.Revise, Feedback: noVerdict}
	}
	result := verdictResult{
		Approved: ok && v.Approved(), Verdict: v.Verdict, Confidence: v.Confidence, Feedback: v.Feedback,
		Reviewer: l.role.role.Key, AgentID: agent,
	}
	raw, err := json.Marshal(result)
	if err != nil {
		r.failWith(c, err)
		return
	}
	path := l.step.Path
	if l.step.Kind != core.KindApprove || result.Approved || l.step.OnReject != core.OnRejectFail && l.step.OnReject != core.OnRejectRetry {
		r.flow.Finish(path, raw)
		return
	}
	if l.step.OnReject == core.OnRejectRetry {
		r.flow.Finish(path, raw)
		if r.flow.Again(path, feedbackOf(result)) {
			return
		}
	}
	if !c.over {
		r.reject(c, l.step, result)
	}
}

// maxRejectText is how much of the feedback the error has, in bytes; the answer to the task has it all.
const maxRejectText = 4000

// reject ends the execution because work was not approved.
func (r *chartRun) reject(c *change, step *core.ChartStep, v verdictResult) {
	message := fmt.Sprintf("role %q did not approve step %s", v.Reviewer, step.Path)
	if v.Feedback != "" {
		message += ": " + clip.Marked(v.Feedback, maxRejectText, ellipsis)
	}
	r.fail(c, core.CodeApprovalRejected, message, map[string]any{
		"step": step.Path, "role": v.Reviewer, "verdict": v.Verdict, "feedback": clip.Marked(v.Feedback, maxRejectText, ellipsis),
		"agentId": v.AgentID,
	})
}

// feedbackOf returns the part of a verdict that the step which runs again gets.
func feedbackOf(v verdictResult) json.RawMessage {
	raw, err := json.Marshal(map[string]any{"verdict": v.Verdict, "feedback": v.Feedback, "from": v.Reviewer})
	if err != nil { // two strings marshal always
		return json.RawMessage("{}")
	}
	return raw
}
