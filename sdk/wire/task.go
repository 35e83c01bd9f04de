package wire

import (
	"encoding/json"
	"time"
)

// Task is a task of an execution: what an agent was asked, what it answered, and who tried.
type Task struct {
	TaskID      string          `json:"taskId"`
	ExecutionID string          `json:"executionId"`
	Step        string          `json:"step,omitempty" doc:"Path of the step."`
	Role        string          `json:"role,omitempty" doc:"Of an org chart."`
	Status      string          `json:"status" enum:"running,completed,failed,timeout,lost,cancelled" doc:"Of its last attempt."`
	Asked       *TaskAsked      `json:"asked,omitempty" doc:"As it was sent. Absent of a task whose execution began before this was kept, and of one that a rerun took over."`
	Result      json.RawMessage `json:"result,omitempty" check:"nullable" doc:"What it answered."`
	Error       *ExecutionError `json:"error,omitempty" doc:"Why its last attempt failed."`
	Usage       *Usage          `json:"usage,omitempty" doc:"Of a managed agent, where it tells."`
	Attempts    []TaskAttempt   `json:"attempts" doc:"In the order in which they began."`
	Late        []TaskLate      `json:"late,omitempty" doc:"Answers that came when they did not count any more."`
	Omitted     int             `json:"omittedBytes,omitempty" doc:"Only among the tasks of a step: asked and result have so many bytes, which is too many to stand there; the task by itself has them."`
}

// TaskAsked holds the input and the context of a task.
type TaskAsked struct {
	Input   json.RawMessage `json:"input,omitempty" check:"nullable"`
	Context json.RawMessage `json:"context,omitempty" check:"nullable" doc:"What is told beside it: metadata, earlier results."`
	Omitted int             `json:"omittedBytes,omitempty" doc:"It has so many bytes, which is too many to be kept."`
}

// TaskAttempt is one agent that had a task.
type TaskAttempt struct {
	Attempt   int             `json:"attempt" doc:"From 1."`
	AgentID   string          `json:"agentId"`
	AgentName string          `json:"agentName,omitempty"`
	Status    string          `json:"status" enum:"running,completed,failed,timeout,lost,cancelled"`
	StartedAt time.Time       `json:"startedAt"`
	EndedAt   *time.Time      `json:"endedAt,omitempty"`
	Duration  Millis          `json:"duration" doc:"Milliseconds; up to now while it goes on."`
	Error     *ExecutionError `json:"error,omitempty"`
	Retry     bool            `json:"retry,omitempty" doc:"It was to be handed out again."`
}

// TaskLate is an answer that did not count.
type TaskLate struct {
	Attempt int       `json:"attempt"`
	AgentID string    `json:"agentId"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
}
