package wire

import (
	"encoding/json"
	"time"
)

// ExecutionStep is one step of the workflow of an execution: when it ran, what came of it, and the tasks that it gave to
// agents. What can differ from run to run is that of its last one.
type ExecutionStep struct {
	ExecutionID string          `json:"executionId"`
	Path        string          `json:"path" doc:"As entries of the timeline have it: 2.0 is the first step inside the third one. Steps of flat patterns go by their ids, outer/inner in a composed one."`
	Step        string          `json:"step,omitempty" doc:"The step around it."`
	Type        string          `json:"type,omitempty" doc:"Kind of a step of an org chart."`
	Name        string          `json:"name,omitempty"`
	Role        string          `json:"role,omitempty" doc:"That the workflow gives it to."`
	Roles       []string        `json:"roles,omitempty" doc:"Those that had a part in it so far, in the steps inside it as well."`
	Status      string          `json:"status" enum:"running,completed,failed,timeout,cancelled,skipped"`
	Detail      string          `json:"detail,omitempty" doc:"Branch taken, or feedback of a verdict."`
	Verdict     string          `json:"verdict,omitempty" enum:"approve,revise,reject" doc:"Of a review or approve step that is over."`
	StartedAt   time.Time       `json:"startedAt"`
	EndedAt     *time.Time      `json:"endedAt,omitempty"`
	Duration    Millis          `json:"duration" doc:"Milliseconds; up to now while it goes on."`
	Result      json.RawMessage `json:"result,omitempty" check:"nullable" doc:"Once it has one. null of a step made of steps where it is long: they have it."`
	Confidence  float64         `json:"confidence,omitempty" doc:"From 0 to 1, of the result."`
	Fallback    bool            `json:"fallback,omitempty" doc:"The result is the one that the pattern has for an outcome which breaks its rules."`
	Error       *ExecutionError `json:"error,omitempty" doc:"Of a step that has no result: why its last task failed, else why the execution ended while it went on."`
	Runs        []StepRun       `json:"runs" doc:"Each time that it began, in their order: the last 100."`
	Steps       []string        `json:"steps,omitempty" doc:"Paths of the steps right inside it that began."`
	Tasks       []Task          `json:"tasks" doc:"In the order in which they began: the last 100, with what was asked and answered of up to 1 MiB, newest first. Not those of the steps inside it."`
	TotalTasks  int             `json:"totalTasks" doc:"Tasks that it has, those that are left out as well."`
}

// StepRun is one time that a step was run.
type StepRun struct {
	Run       int        `json:"run" doc:"From 1."`
	Status    string     `json:"status" enum:"running,completed,failed,timeout,cancelled,skipped"`
	Detail    string     `json:"detail,omitempty" doc:"Branch taken, or feedback of a verdict."`
	Verdict   string     `json:"verdict,omitempty" enum:"approve,revise,reject"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	Duration  Millis     `json:"duration" doc:"Milliseconds; up to now while it goes on."`
}
