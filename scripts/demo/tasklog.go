package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/wardroom/wardroom/scripts/demo/classifier"
	"github.com/wardroom/wardroom/sdk/client"
)

// entry is a line of an agent's own record of its work.
type entry struct {
	Time      time.Time `json:"time"`
	Kind      string    `json:"msg"` // registered, began or finished
	Task      string    `json:"task"`
	Execution string    `json:"execution"`
	Step      string    `json:"step"` // of an org chart
	Resumed   bool      `json:"resumed"`

	method string
}

// ledger counts the tasks in the records of all agents.
type ledger struct {
	began, finished, unfinished int
	again                       int // tasks begun or finished once more after they were finished
	resumed, sessions           int
	byExecution                 map[string]int // finished tasks
	problems                    []string
}

// readTaskLog reads the record of one agent.
func readTaskLog(method string, r io.Reader) ([]entry, error) {
	var entries []entry
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		e.method = method
		entries = append(entries, e)
	}
	return entries, lines.Err()
}

// audit goes through the entries of all agents in the order of time and finds work that was done again after
// it was finished.
func audit(entries []entry) *ledger {
	slices.SortStableFunc(entries, func(a, b entry) int { return a.Time.Compare(b.Time) })
	l := &ledger{byExecution: make(map[string]int)}
	done := make(map[string]string) // method that finished it, by task
	open := make(map[string]int)
	for _, e := range entries {
		switch e.Kind {
		case "registered":
			l.sessions++
			if e.Resumed {
				l.resumed++
			}
		case "began":
			l.began++
			open[e.Task]++
			if by, again := done[e.Task]; again {
				l.again++
				l.problems = append(l.problems, fmt.Sprintf("task %s was begun by %s after %s had finished it", e.Task, e.method, by))
			}
		case "finished":
			l.finished++
			open[e.Task]--
			if by, again := done[e.Task]; again {
				l.again++
				l.problems = append(l.problems, fmt.Sprintf("task %s was finished by %s and by %s", e.Task, by, e.method))
				continue
			}
			done[e.Task] = e.method
			l.byExecution[e.Execution]++
		}
	}
	for _, n := range open {
		l.unfinished += n
	}
	return l
}

// prove compares the agents' own records with what the server stored.
func (d *demo) prove(ctx context.Context, o *outcome) error {
	var entries []entry
	for _, m := range classifier.Methods {
		f, err := os.Open(d.path("tasks-" + m + ".jsonl"))
		if err != nil {
			return err
		}
		read, err := readTaskLog(m, f)
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("task log of %s: %w", m, err)
		}
		entries = append(entries, read...)
	}
	l := audit(entries)
	for _, r := range o.rows {
		if n := l.byExecution[r.executionID]; n != len(classifier.Methods) {
			l.problems = append(l.problems, fmt.Sprintf("execution %s of %s: %d tasks finished, want %d",
				r.executionID, r.item.ID, n, len(classifier.Methods)))
		}
	}
	want := len(o.rows) + d.extra
	list, err := d.server.Client.ListExecutions(ctx, client.ExecutionFilter{Pattern: pattern, Page: client.Page{Limit: 1}})
	if err != nil {
		return err
	}
	if list.Total != want {
		l.problems = append(l.problems, fmt.Sprintf("the server stores %d executions, %d were asked for", list.Total, want))
	}
	if l.finished != want*len(classifier.Methods) {
		l.problems = append(l.problems, fmt.Sprintf("the agents finished %d tasks, want %d", l.finished, want*len(classifier.Methods)))
	}
	d.say("executions stored         %d of %d asked for", list.Total, want)
	d.say("tasks finished by agents  %d (%d executions x %d agents)", l.finished, want, len(classifier.Methods))
	d.say("tasks begun               %d, %d of them not finished", l.began, l.unfinished)
	d.say("sessions of the agents    %d, %d of them resumed", l.sessions, l.resumed)
	d.say("finished tasks done again %d", l.again)
	return l.verdict()
}

// verdict is an error that tells the contradictions, if there are any.
func (l *ledger) verdict() error {
	if len(l.problems) == 0 {
		return nil
	}
	var errs []error
	for _, p := range l.problems[:min(len(l.problems), 10)] {
		errs = append(errs, errors.New(p))
	}
	return fmt.Errorf("%d contradictions between the agents and the server: %w", len(l.problems), errors.Join(errs...))
}
