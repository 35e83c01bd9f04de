package agent

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// timestampFormat is RFC 3339 with milliseconds, always of the same length.
const timestampFormat = "2006-01-02T15:04:05.000Z07:00"

// appendHead appends the envelope of a frame up to its payload; protocol.AppendTail closes it.
func appendHead(b []byte, typ protocol.Type, id string, now time.Time) []byte {
	return protocol.AppendHead(b, typ, id, now, timestampFormat)
}

// appendAnswer appends the task_result or task_error frame of an answer. It is the frame an agent sends most,
// so it is put together by hand.
func appendAnswer(b []byte, a *answer, frameID string, attempt int, now time.Time) []byte {
	if a.err != nil {
		b = appendHead(b, protocol.TypeTaskError, frameID, now)
		b = append(b, taskErrorPayload(a, attempt)...)
		return protocol.AppendTail(b)
	}
	b = appendHead(b, protocol.TypeTaskResult, frameID, now)
	b = append(b, `{"taskId":`...)
	b = protocol.AppendString(b, a.taskID)
	if a.executionID != "" {
		b = append(b, `,"executionId":`...)
		b = protocol.AppendString(b, a.executionID)
	}
	b = append(b, `,"status":"`+protocol.TaskCompleted+`","result":`...)
	b = append(b, a.result...)
	if ms := a.duration.Milliseconds(); ms > 0 {
		b = append(b, `,"duration":`...)
		b = strconv.AppendInt(b, ms, 10)
	}
	if attempt > 0 {
		b = append(b, `,"attempt":`...)
		b = strconv.AppendInt(b, int64(attempt), 10)
	}
	b = append(b, '}')
	return protocol.AppendTail(b)
}

// encodeText encodes a payload. encoding/json lets text that is not UTF-8 through in raw values; the server takes no frame
// with it.
func encodeText(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err == nil && !utf8.Valid(data) {
		err = errors.New("not valid UTF-8")
	}
	return data, err
}

// taskErrorPayload encodes a task error. Details that cannot be encoded are left out rather than the error.
func taskErrorPayload(a *answer, attempt int) []byte {
	p := protocol.TaskError{
		TaskID:      a.taskID,
		ExecutionID: a.executionID,
		Error:       protocol.ErrorDetail{Code: a.err.Code, Message: a.err.Message, Details: a.err.Details},
		Retryable:   a.err.Retryable,
		Attempt:     attempt,
	}
	data, err := encodeText(p)
	if err != nil {
		p.Error.Details = nil
		data, _ = json.Marshal(p) // strings and numbers only: cannot fail
	}
	return data
}

// frame is any frame of the server, decoded. One struct takes the fields of every payload, so that a frame
// is decoded in one go though its type may come last.
type frame struct {
	Type    protocol.Type `json:"type"`
	ID      string        `json:"id"`
	Payload payload       `json:"payload"`
}

// payload is the union of the payloads a server sends. Config is an object of different kinds in a task and
// in registered, so it stays raw.
type payload struct {
	TaskID         string          `json:"taskId"`
	ExecutionID    string          `json:"executionId"`
	PatternName    string          `json:"patternName"`
	PatternVersion string          `json:"patternVersion"`
	Capability     string          `json:"capability"`
	Role           string          `json:"role"`
	Step           string          `json:"step"`
	Input          json.RawMessage `json:"input"`
	Config         json.RawMessage `json:"config"`
	Timeout        int64           `json:"timeout"`
	Priority       string          `json:"priority"`
	Context        json.RawMessage `json:"context"`
	Attempt        int             `json:"attempt"`
	Traceparent    string          `json:"traceparent"`

	AgentID      string   `json:"agentId"`
	ResumeToken  string   `json:"resumeToken"`
	Resumed      bool     `json:"resumed"`
	Capabilities []string `json:"capabilities"`

	MessageID   string          `json:"messageId"`
	From        string          `json:"from"`
	MessageType string          `json:"messageType"`
	Topic       string          `json:"topic"`
	Content     json.RawMessage `json:"content"`
	WantsReply  bool            `json:"wantsReply"`

	Reason  string `json:"reason"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Fatal   bool   `json:"fatal"`
}

// task returns the payload as a task.
func (p *payload) task() protocol.Task {
	return protocol.Task{
		TaskID: p.TaskID, ExecutionID: p.ExecutionID,
		PatternName: p.PatternName, PatternVersion: p.PatternVersion,
		Capability: p.Capability, Role: p.Role, Step: p.Step,
		Input: p.Input, Config: p.Config, Timeout: p.Timeout,
		Priority: p.Priority, Context: p.Context, Attempt: p.Attempt, Traceparent: p.Traceparent,
	}
}

// delivery returns the payload as a message of another role.
func (p *payload) delivery() protocol.MessageDelivery {
	return protocol.MessageDelivery{
		MessageID: p.MessageID, ExecutionID: p.ExecutionID, TaskID: p.TaskID, From: p.From,
		MessageType: p.MessageType, Topic: p.Topic, Content: p.Content, WantsReply: p.WantsReply,
	}
}

// registered returns the payload as the answer to a registration.
func (p *payload) registered() (protocol.Registered, error) {
	r := protocol.Registered{
		AgentID: p.AgentID, ResumeToken: p.ResumeToken, Resumed: p.Resumed, Capabilities: p.Capabilities,
	}
	err := p.config(&r.Config)
	return r, err
}

// config decodes the session's config.
func (p *payload) config(c *protocol.RegisteredConfig) error {
	if len(p.Config) == 0 {
		return nil
	}
	return json.Unmarshal(p.Config, c)
}
