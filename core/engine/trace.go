package engine

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Names of the attributes of spans.
const (
	attrExecution = "wardroom.execution.id"
	attrPattern   = "wardroom.pattern.name"
	attrVersion   = "wardroom.pattern.version"
	attrStatus    = "wardroom.status"
	attrTask      = "wardroom.task.id"
	attrStep      = "wardroom.step"
	attrRound     = "wardroom.round"
	attrAgent     = "wardroom.agent.id"
	attrAttempt   = "wardroom.attempt"
)

// placeInTrace puts a new execution into the trace of who asked for it, or one of its own.
func (e *Engine) placeInTrace(exec *core.Execution, asked core.TraceContext) {
	own := e.tracer.Begin(asked)
	exec.Trace = own.String()
	if own.TraceID == asked.TraceID && !own.IsZero() {
		exec.TraceParent = hex.EncodeToString(asked.SpanID[:])
	}
}

// attemptTrace is the place of an attempt: known from its beginning, and told at its end.
func (r *run) attemptTrace(a *attempt) core.TraceContext {
	return r.trace.Child(a.id + "." + strconv.Itoa(a.number))
}

// traceAttempt reports an attempt that is over; code is why it came to nothing.
func (r *run) traceAttempt(a *attempt, at place, now time.Time, status string, code core.Code) {
	if !r.trace.Sampled {
		return
	}
	r.eng.tracer.Record(core.Span{
		Trace: r.attemptTrace(a), Parent: r.trace.SpanID, Name: "task", Start: a.sent, End: now, Failed: string(code),
		Attributes: append(r.traceStep(at), core.SpanAttribute{Key: attrTask, Text: a.id}, core.SpanAttribute{Key: attrAgent, Text: a.agent},
			core.SpanAttribute{Key: attrAttempt, Number: int64(a.number)}, core.SpanAttribute{Key: attrStatus, Text: status}),
	})
}

// traceStepEnd reports a step that is finished.
func (r *run) traceStepEnd(at place, began, now time.Time) {
	if !r.trace.Sampled {
		return
	}
	r.eng.tracer.Record(core.Span{
		Trace: r.trace.Child("step " + at.step + " " + strconv.Itoa(at.round)), Parent: r.trace.SpanID, Name: "step",
		Start: began, End: now, Attributes: r.traceStep(at),
	})
}

func (r *run) traceStep(at place) []core.SpanAttribute {
	list := []core.SpanAttribute{{Key: attrExecution, Text: r.exec.ID}}
	if at.step != "" {
		list = append(list, core.SpanAttribute{Key: attrStep, Text: at.step}, core.SpanAttribute{Key: attrRound, Number: int64(at.round)})
	}
	return list
}

// traceEnd reports an execution that is over.
func (r *run) traceEnd(final *core.Execution) {
	if !r.trace.Sampled {
		return
	}
	span := core.Span{
		Trace: r.trace, Name: "execution", Start: final.CreatedAt, End: r.eng.clock.Now(),
		Attributes: []core.SpanAttribute{
			{Key: attrExecution, Text: final.ID}, {Key: attrPattern, Text: final.Pattern.Name},
			{Key: attrVersion, Text: final.Pattern.Version}, {Key: attrStatus, Text: string(final.Status)},
		},
	}
	_, _ = hex.Decode(span.Parent[:], []byte(final.TraceParent)) // written by placeInTrace; what is not is no parent
	switch {
	case final.CompletedAt != nil:
		span.End = *final.CompletedAt
	case final.CancelledAt != nil:
		span.End = *final.CancelledAt
	}
	if final.Error != nil {
		span.Failed = string(final.Error.Code)
	}
	r.eng.tracer.Record(span)
}
