package api

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

var emptyObject = json.RawMessage("{}")

// executeRequest runs a pattern.
type executeRequest struct {
	Input   json.RawMessage `json:"input" doc:"Checked against the pattern's input. Default: {}." example:"{\"text\":\"hello\"}"`
	Options executeOptions  `json:"options"`
}

type executeOptions struct {
	Timeout  int64          `json:"timeout" check:"min=1" doc:"Milliseconds. Default: the pattern's, else the configured one."`
	Priority core.Priority  `json:"priority" enum:"low,normal,high,critical" doc:"Default: normal."`
	Metadata map[string]any `json:"metadata" doc:"Free keys, kept with the execution."`
}

type cancelRequest struct {
	Reason string `json:"reason" check:"max=1024"`
}

type rerunRequest struct {
	FromStep string `json:"fromStep" check:"max=256" doc:"Id of the first step to run again. Default: the first without a result."`
}

type emptyRequest struct{}

type executionAccepted struct {
	ExecutionID string               `json:"executionId"`
	Status      core.ExecutionStatus `json:"status" enum:"pending"`
	StatusURL   string               `json:"statusUrl"`
}

type executionCancelled struct {
	ExecutionID string               `json:"executionId"`
	Status      core.ExecutionStatus `json:"status" enum:"cancelled"`
	CancelledAt *timestamp           `json:"cancelledAt"`
}

type executionRetried struct {
	OriginalExecutionID string               `json:"originalExecutionId"`
	NewExecutionID      string               `json:"newExecutionId"`
	Status              core.ExecutionStatus `json:"status" enum:"pending"`
	StatusURL           string               `json:"statusUrl"`
}

type patternRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type executionError struct {
	Code    core.Code      `json:"code" enum:"TIMEOUT,NO_AGENTS,AGENT_ERROR,VALIDATION_ERROR,APPROVAL_REJECTED,ESCALATION_FAILED,INTERRUPTED,INTERNAL_ERROR"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

type agentResult struct {
	ID     string          `json:"id" doc:"Id of the agent."`
	Step   string          `json:"step,omitempty" doc:"Step of a pattern with several."`
	Status string          `json:"status,omitempty" doc:"completed, failed, timeout or cancelled."`
	Result json.RawMessage `json:"result,omitempty" check:"nullable" doc:"An object: text is {text}, and what is no object otherwise {value}."`
}

// outcome is the answer to a synchronous execute. It encodes itself: this is the busiest answer.
type outcome struct {
	e        *core.Execution
	workflow *core.WorkflowReport // of an org chart, else nil
	now      time.Time
}

// outcomeSchema is what outcome encodes to.
type outcomeSchema struct {
	ExecutionID string               `json:"executionId"`
	Pattern     patternRef           `json:"pattern"`
	Status      core.ExecutionStatus `json:"status" enum:"completed,failed,cancelled"`
	Result      json.RawMessage      `json:"result" check:"nullable" doc:"Its shape follows the pattern's output."`
	Error       *executionError      `json:"error,omitempty" doc:"Why it failed."`
	Duration    int64                `json:"duration" doc:"Milliseconds."`
	Agents      []agentResult        `json:"agents"`
	PatternName string               `json:"patternName,omitempty" doc:"Of an org chart, like output, metrics, steps and partial."`
	Output      json.RawMessage      `json:"output,omitempty" check:"nullable" doc:"The same as result."`
	Metrics     *chartMetrics        `json:"metrics,omitempty"`
	Steps       *[]chartStep         `json:"steps,omitempty" doc:"At the top level, those that were begun."`
	Partial     bool                 `json:"partial,omitempty" doc:"It was ended with what it had, because nobody answered a message."`
}

func (outcome) JSONSchema() any { return outcomeSchema{} }

func (o *outcome) appendJSON(b []byte) []byte {
	e := o.e
	b = append(b, `{"executionId":`...)
	b = rawjson.AppendString(b, e.ID)
	b = append(b, `,"pattern":{"name":`...)
	b = rawjson.AppendString(b, e.Pattern.Name)
	b = append(b, `,"version":`...)
	b = rawjson.AppendString(b, e.Pattern.Version)
	b = append(b, `},"status":`...)
	b = rawjson.AppendString(b, string(e.Status))
	b = append(b, `,"result":`...)
	b = append(b, rawOr(e.Result, "null")...)
	if e.Error != nil {
		b = append(b, `,"error":`...)
		b = appendValue(b, newExecutionError(e.Error))
	}
	b = append(b, `,"duration":`...)
	duration := milliseconds(e.Duration(o.now))
	b = strconv.AppendInt(b, duration, 10)
	if o.workflow != nil {
		b = appendWorkflow(b, e, o.workflow, duration)
	}
	b = append(b, `,"agents":[`...)
	for i := range e.Agents {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendAgentResult(b, &e.Agents[i])
	}
	return append(b, "]}"...)
}

func appendAgentResult(b []byte, a *core.AgentResult) []byte {
	b = append(b, `{"id":`...)
	b = rawjson.AppendString(b, a.ID)
	if a.Step != "" {
		b = append(b, `,"step":`...)
		b = rawjson.AppendString(b, a.Step)
	}
	if a.Status != "" {
		b = append(b, `,"status":`...)
		b = rawjson.AppendString(b, a.Status)
	}
	if len(a.Result) > 0 {
		b = append(b, `,"result":`...)
		b = append(b, rawjson.AsObject(a.Result)...)
	}
	return append(b, '}')
}

func newExecutionError(e *core.ExecutionError) *executionError {
	if e == nil {
		return nil
	}
	return &executionError{Code: e.Code, Message: e.Message, Details: e.Details}
}

// executionBody is an execution as it is read.
type executionBody struct {
	ExecutionID  string               `json:"executionId"`
	Pattern      patternRef           `json:"pattern"`
	Status       core.ExecutionStatus `json:"status" enum:"pending,running,completed,failed,cancelled"`
	Input        json.RawMessage      `json:"input"`
	Options      *optionsBody         `json:"options,omitempty"`
	Result       json.RawMessage      `json:"result,omitempty" check:"nullable"`
	Error        *executionError      `json:"error,omitempty"`
	CreatedAt    timestamp            `json:"createdAt"`
	StartedAt    *timestamp           `json:"startedAt,omitempty" doc:"When the first task was handed out."`
	CompletedAt  *timestamp           `json:"completedAt,omitempty"`
	CancelledAt  *timestamp           `json:"cancelledAt,omitempty"`
	CancelReason string               `json:"cancelReason,omitempty"`
	Deadline     *timestamp           `json:"deadline,omitempty"`
	Waiting      *executionWait       `json:"waiting,omitempty" doc:"Of a running execution that can only wait: it holds no slot of those that run at once."`
	Duration     int64                `json:"duration" doc:"Milliseconds since the first task, up to the end."`
	Agents       []agentResult        `json:"agents"`
	CreatedBy    string               `json:"createdBy,omitempty"`
	BatchID      string               `json:"batchId,omitempty"`
	BatchIndex   *int                 `json:"batchIndex,omitempty"`
	RetryOf      string               `json:"retryOf,omitempty" doc:"The execution this one repeats."`
	RerunFrom    string               `json:"rerunFrom,omitempty" doc:"The step a rerun began with."`
	PatternName  string               `json:"patternName,omitempty" doc:"Of an org chart, like output, metrics, steps and partial."`
	Output       json.RawMessage      `json:"output,omitempty" check:"nullable" doc:"The same as result."`
	Metrics      *chartMetrics        `json:"metrics,omitempty" doc:"Of an ad-hoc execution too."`
	Steps        *[]chartStep         `json:"steps,omitempty" doc:"At the top level, those that were begun."`
	Partial      bool                 `json:"partial,omitempty" doc:"It was ended with what it had, because nobody answered a message."`
}

type executionWait struct {
	For   core.WaitReason `json:"for" enum:"people,agents,slot" doc:"An answer of people to a question, agents of a role that has none, or its turn to go on."`
	Since *timestamp      `json:"since,omitempty" doc:"Not in lists."`
}

func newExecutionWait(w *core.ExecutionWait) *executionWait {
	if w == nil {
		return nil
	}
	return &executionWait{For: w.For, Since: stampOf(w.Since)}
}

type optionsBody struct {
	Timeout  int64          `json:"timeout,omitempty" doc:"Milliseconds."`
	Priority core.Priority  `json:"priority,omitempty" enum:"low,normal,high,critical"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

func newExecutionBody(e *core.Execution, now time.Time) *executionBody {
	b := &executionBody{
		ExecutionID: e.ID, Pattern: patternRef(e.Pattern), Status: e.Status,
		Input: rawOr(e.Input, "{}"), Result: e.Result, Error: newExecutionError(e.Error),
		CreatedAt: timestamp(e.CreatedAt), StartedAt: stamp(e.StartedAt),
		CompletedAt: stamp(e.CompletedAt), CancelledAt: stamp(e.CancelledAt),
		CancelReason: e.CancelReason, Duration: milliseconds(e.Duration(now)),
		Agents: make([]agentResult, len(e.Agents)), CreatedBy: e.CreatedBy,
		BatchID: e.BatchID, RetryOf: e.RetryOf, RerunFrom: e.RerunFrom, Waiting: newExecutionWait(e.Waiting),
	}
	if o := e.Options; o.TimeoutMs != 0 || o.Priority != "" || o.Metadata != nil {
		b.Options = &optionsBody{Timeout: o.TimeoutMs, Priority: o.Priority, Metadata: o.Metadata}
	}
	if !e.Deadline.IsZero() {
		b.Deadline = stamp(&e.Deadline)
	}
	if e.BatchID != "" {
		b.BatchIndex = &e.BatchIndex
	}
	for i, a := range e.Agents {
		b.Agents[i] = agentResult(a)
		b.Agents[i].Result = rawjson.AsObject(a.Result)
	}
	return b
}

type executionList struct {
	Executions []executionRow `json:"executions"`
	wire.PageInfo
}

type executionRow struct {
	ExecutionID string               `json:"executionId"`
	Pattern     string               `json:"pattern" doc:"Name of the pattern."`
	Version     string               `json:"version" doc:"Version of the pattern."`
	Status      core.ExecutionStatus `json:"status" enum:"pending,running,completed,failed,cancelled"`
	CreatedAt   timestamp            `json:"createdAt"`
	StartedAt   *timestamp           `json:"startedAt,omitempty"`
	CompletedAt *timestamp           `json:"completedAt,omitempty"`
	Waiting     *executionWait       `json:"waiting,omitempty" doc:"Of a running execution that can only wait."`
	Duration    int64                `json:"duration" doc:"Milliseconds."`
}

func newExecutionList(found []*core.Execution, p wire.PageInfo, now time.Time) executionList {
	list := executionList{
		Executions: make([]executionRow, len(found)),
		PageInfo:   p,
	}
	for i, e := range found {
		list.Executions[i] = executionRow{
			ExecutionID: e.ID, Pattern: e.Pattern.Name, Version: e.Pattern.Version, Status: e.Status,
			CreatedAt: timestamp(e.CreatedAt), StartedAt: stamp(e.StartedAt),
			CompletedAt: stamp(e.CompletedAt), Duration: milliseconds(e.Duration(now)), Waiting: newExecutionWait(e.Waiting),
		}
	}
	return list
}
