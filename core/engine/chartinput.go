package engine

import (
	"encoding/json"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
)

// How much of earlier results a task carries: the newest, whole.
const (
	maxEarlierBytes = 32 << 10
	maxEarlierSteps = 64
)

// Bounds of a task, in bytes: agents refuse longer frames, and a spawned agent has its text typed into a terminal.
const (
	maxTaskBytes = 4 << 20
	maxTaskText  = 256 << 10
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
	// "results" and "resultsTruncated" follow, see appendEarlier.
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
	if managed := l.instance != nil && l.instance.managed; managed && len(in.Task) > maxTaskText {
		return core.Task{}, core.Invalid("task", "of step %s is %d bytes long; a spawned agent takes at most %d",
			in.Step, len(in.Task), maxTaskText)
	}
	raw, err := json.Marshal(&in)
	if err != nil {
		return core.Task{}, err
	}
	if len(raw) > maxTaskBytes {
		return core.Task{}, core.Invalid("task", "of step %s is %d bytes long with what it is about; agents take at most %d",
			in.Step, len(raw), maxTaskBytes)
	}
	raw = append(r.appendEarlier(raw[:len(raw)-1], topOf(l.step.Path)), '}')
	capability := ""
	if caps := l.role.role.Capabilities; len(caps) > 0 {
		capability = caps[0]
	}
	return core.Task{
		ID: l.id, ExecutionID: r.exec.ID,
		PatternName: r.exec.Pattern.Name, PatternVersion: r.exec.Pattern.Version,
		Step: l.step.Path, Capability: capability, Role: l.role.role.Key,
		Input: raw, Config: r.plan.Definition().Config, Secrets: len(r.plan.Definition().Secrets) > 0,
		Timeout: r.taskTimeout(l), Priority: r.exec.Options.Priority,
		Context: r.context, Attempt: l.number, Trace: r.attemptTrace(&l.attempt),
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

// appendEarlier appends members to an object: the results of the newest finished steps at the top level before one,
// newest first, and whether there are more. Results were checked when they came, so encoding/json need not read up to
// 32 KiB of them again for every task.
func (r *chartRun) appendEarlier(object []byte, before int) []byte {
	begin, taken, cut := len(object), 0, false
	for i := before - 1; i >= 0; i-- {
		path := strconv.Itoa(i)
		result, ok := r.flow.Result(path)
		if !ok {
			continue
		}
		if cut = taken == maxEarlierSteps || len(object)-begin+len(path)+len(result) > maxEarlierBytes; cut {
			break
		}
		if taken++; taken == 1 {
			object = append(object, `,"results":{"`...)
		} else {
			object = append(object, `,"`...)
		}
		object = append(object, path...)
		object = append(object, `":`...)
		object = append(object, result...)
	}
	if taken > 0 {
		object = append(object, '}')
	}
	if cut {
		object = append(object, `,"resultsTruncated":true`...)
	}
	return object
}
