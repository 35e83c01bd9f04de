// Package team is a small team of programmers made of rules: it plans, builds, reviews and tests commands that
// measure texts, and knows no other work.
//
// It owns the rules and what they know, and no input or output: it works on the texts of tasks, in memory. The
// demo's agents call it for tasks of org charts. No model is behind it and it says so; what it makes is real all
// the same: the code compiles and passes its own tests, and a review that finds nothing has looked.
package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Input is the input of a task of an org chart.
type Input struct {
	Task    string          `json:"task"`
	Role    string          `json:"role"`
	Step    string          `json:"step"`
	Type    string          `json:"type"` // assign, review or approve
	Subject json.RawMessage `json:"subject"`
}

// Ask asks whoever the chart names, another role or a person, and returns the answer in words.
type Ask func(topic, question string) (string, error)

// ErrUnknownWork says that the rules do not cover a task.
var ErrUnknownWork = errors.New("this team is made of rules and builds only commands that measure texts: " +
	"the task must speak of words, lines, characters or the longest line")

// Work does a task and returns a report in words, or a Verdict. ErrUnknownWork when the rules do not cover it; an
// error of ask is returned as it is.
func Work(in Input, ask Ask) (any, error) {
	switch in.Type {
	case "review":
		return review(in.Subject)
	case "approve":
		return approve(in.Subject, ask)
	}
	b, err := readBrief(in.Task)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.Contains(in.Task, "Write the test plan"):
		return testPlan(b.measures), nil
	case strings.Contains(in.Task, "Write a short plan"), strings.Contains(in.Task, "Plan it for the driver"):
		return plan(b), nil
	}
	return build(b, ask)
}

// Pace is how much longer a task takes than the shortest one, as the number of pieces that are to be written.
func Pace(in Input) int {
	if in.Type != "assign" {
		return 1
	}
	b, err := readBrief(in.Task)
	if err != nil {
		return 1
	}
	return max(1, len(b.wanted))
}

// Answer answers what a colleague asks, by what the question speaks of. An error means that no rule covers it, so
// that the question has to go on to somebody else.
func Answer(question string) (string, error) {
	switch {
	case strings.Contains(question, lastLine):
		return "Yes, unless it is empty: a text need not end with a newline.", nil
	case strings.Contains(question, reportOrder):
		return "In the order in which the plan names them.", nil
	}
	return "", fmt.Errorf("no rule for the question %q", question)
}

// What the questions of an engineer speak of.
const (
	lastLine    = "what follows the last newline"
	reportOrder = "the order of the lines that Report writes"
)
