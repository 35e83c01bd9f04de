package engine

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
)

// How much of earlier results a task carries: the newest, whole.
const (
	maxEarlierBytes = 32 << 10
	maxEarlierSteps = 64
)

// leafInput is the input of a task of an org chart.
type leafInput struct {
	Task     string          `json:"task"`
	Role     string          `json:"role"`
	Step     string          `json:"step"`
	Type     core.StepKind   `json:"type"`
	Subject  json.RawMessage `json:"subject,omitempty"`
	Feedback json.RawMessage `json:"feedback,omitempty"`
	Previous json.RawMessage `json:"previousAnswer,omitempty"`
	Results  json.RawMessage `json:"results,omitempty"`
	Cut      bool            `json:"resultsTruncated,omitempty"`
}

// wire is the task as its agent gets it. VALIDATION_ERROR when a variable has no value.
func (r *chartRun) wire(l *leaf) (core.Task, error) {
	in := leafInput{
		Role: l.step.Role, Step: l.step.Path, Type: l.step.Kind, Feedback: l.feedback, Previous: l.previous,
	}
	scope := r.flow.Scope()
	var err error
	switch l.step.Kind {
	case core.KindAssign:
		in.Task, err = r.chart.Task(l.step, scope)
	default:
		in.Task = verdictTask(l)
		in.Subject, err = r.chart.Subject(l.step, scope)
	}
	if err != nil {
		return core.Task{}, err
	}
	in.Results, in.Cut = r.earlier(topOf(l.step.Path))
	raw, err := json.Marshal(&in)
	if err != nil {
		return core.Task{}, err
	}
	capability := ""
	if caps := l.role.role.Capabilities; len(caps) > 0 {
		capability = caps[0]
	}
	return core.Task{
		ID: l.id, ExecutionID: r.exec.ID,
		PatternName: r.exec.Pattern.Name, PatternVersion: r.exec.Pattern.Version,
		Step: l.step.Path, Capability: capability, Role: l.role.role.Key,
		Input: raw, Config: r.plan.Definition().Config,
		Timeout: r.taskTimeout(l), Priority: r.exec.Options.Priority,
		Context: r.context, Attempt: l.attempt,
	}, nil
}

// verdictTask is the text of a review or approve task.
func verdictTask(l *leaf) string {
	text := "Review the subject."
	if l.step.Kind == core.KindApprove {
		text = "Decide whether the subject is approved."
	}
	if l.previous != nil {
		text = "Your answer could not be read as a verdict. " + text
	}
	return text + "\n\n" + orgchart.VerdictRequest()
}

// earlier returns the results of the newest finished steps at the top level before one, newest first, and whether
// there are more.
func (r *chartRun) earlier(before int) (json.RawMessage, bool) {
	var out strings.Builder
	for i, taken := before-1, 0; i >= 0; i-- {
		path := strconv.Itoa(i)
		result, ok := r.flow.Result(path)
		if !ok {
			continue
		}
		if taken == maxEarlierSteps || out.Len()+len(path)+len(result) > maxEarlierBytes {
			return closeObject(&out), true
		}
		if taken++; taken == 1 {
			out.WriteByte('{')
		} else {
			out.WriteByte(',')
		}
		out.WriteString(strconv.Quote(path))
		out.WriteByte(':')
		out.Write(result)
	}
	return closeObject(&out), false
}

func closeObject(out *strings.Builder) json.RawMessage {
	if out.Len() == 0 {
		return nil
	}
	out.WriteByte('}')
	return json.RawMessage(out.String())
}
