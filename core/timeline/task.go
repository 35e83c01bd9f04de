package timeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// FindTask implements core.TimelineService. What was asked is in the journal as far as it does not follow from the
// execution; the attempts are those of the timeline.
func (s *Service) FindTask(ctx context.Context, executionID, taskID string) (*core.TaskDetail, error) {
	exec, err := s.Store.FindExecution(ctx, executionID)
	if err != nil {
		return nil, err
	}
	f := newFold()
	looks := taskLooks{}
	look := looks.of(exec, taskID)
	err = s.eachPage(ctx, executionID, 0, func(page []core.Event) error {
		if err := f.add(page); err != nil {
			return err
		}
		return looks.add(page)
	})
	if err != nil {
		return nil, fmt.Errorf("task %s of %s: %w", taskID, executionID, err)
	}
	for _, entry := range f.result(s.Clock.Now()) {
		if entry.Kind == core.TimelineTask && entry.ID == taskID {
			look.attempt(&entry)
		}
	}
	if len(look.task.Attempts) == 0 {
		return nil, core.NotFound("task", taskID)
	}
	return look.task, nil
}

// handedOut is what is read of the data of task.assigned.
type handedOut struct {
	Step    string            `json:"step"`
	Role    string            `json:"role"`
	Tasks   []core.Assignment `json:"tasks"`
	Input   json.RawMessage   `json:"input"`
	Context json.RawMessage   `json:"context"`
	Omitted int               `json:"omittedBytes"`
	Kept    bool              `json:"kept"`
}

// taskEnd is what is read of the data of task.completed, task.failed and task.late.
type taskEnd struct {
	core.Assignment
	Result json.RawMessage      `json:"result"`
	Error  *core.ExecutionError `json:"error"`
	Retry  bool                 `json:"retry"`
	Reason string               `json:"reason"`
	Usage  *wire.Usage          `json:"usage"`
}

// taskLook collects what the journal has of a task.
type taskLook struct {
	exec  *core.Execution
	task  *core.TaskDetail
	ended map[int]taskEnd // how attempts ended, by number

	askedBytes, resultBytes int // of what was asked and answered, among the tasks of a step
}

// taskLooks are tasks that are looked for, by id.
type taskLooks map[string]*taskLook

// of adds a task of an execution to those that are looked for.
func (l taskLooks) of(exec *core.Execution, taskID string) *taskLook {
	t := &core.TaskDetail{TaskID: taskID, ExecutionID: exec.ID, Attempts: []wire.TaskAttempt{}}
	l[taskID] = &taskLook{exec: exec, task: t, ended: map[int]taskEnd{}}
	return l[taskID]
}

func (l taskLooks) add(events []core.Event) error {
	for i := range events {
		ev := &events[i]
		switch ev.Type {
		case core.EventTaskAssigned:
			var d handedOut
			if err := json.Unmarshal(ev.Data, &d); err != nil {
				return fmt.Errorf("journal entry %d (%s): %w", ev.Seq, ev.Type, err)
			}
			for _, a := range d.Tasks {
				if look := l[a.TaskID]; look != nil {
					look.asked(&d)
				}
			}
		case core.EventTaskCompleted, core.EventTaskFailed, core.EventTaskLate:
			var d taskEnd
			if err := json.Unmarshal(ev.Data, &d); err != nil {
				return fmt.Errorf("journal entry %d (%s): %w", ev.Seq, ev.Type, err)
			}
			if look := l[d.TaskID]; look != nil {
				look.end(ev, &d)
			}
		}
	}
	return nil
}

// end takes in what was reported of a task.
func (l *taskLook) end(ev *core.Event, d *taskEnd) {
	if ev.Type == core.EventTaskLate {
		if len(l.task.Late) < maxLate {
			l.task.Late = append(l.task.Late, wire.TaskLate{Attempt: d.Attempt, AgentID: d.AgentID, At: ev.Time, Reason: d.Reason})
		}
		return
	}
	l.ended[d.Attempt] = taskEnd{Error: d.Error, Retry: d.Retry}
	if ev.Type == core.EventTaskCompleted {
		l.task.Result = d.Result
	}
	l.task.Usage = cmp.Or(d.Usage, l.task.Usage)
}

// maxLate bounds the answers of a task that came too late and are shown.
const maxLate = 20

// asked takes in what a task asks for when it is handed out. Of executions of former versions the journal has nothing of the
// tasks of steps.
func (l *taskLook) asked(d *handedOut) {
	t := l.task
	t.Step, t.Role = d.Step, d.Role
	asked := &wire.TaskAsked{Input: d.Input, Context: d.Context, Omitted: d.Omitted}
	if asked.Omitted == 0 && asked.Input == nil {
		if l.exec.Chart || d.Step != "" && !d.Kept {
			return
		}
		asked.Input = l.exec.Input
	}
	if asked.Omitted == 0 && asked.Context == nil && len(l.exec.Options.Metadata) > 0 {
		asked.Context, _ = json.Marshal(map[string]any{"metadata": l.exec.Options.Metadata}) // it came as JSON
	}
	t.Asked = asked
}

// attempt takes in an entry of the timeline.
func (l *taskLook) attempt(entry *core.TimelineEntry) {
	t := l.task
	a := wire.TaskAttempt{
		Attempt: entry.Attempt, AgentID: entry.AgentID, AgentName: entry.Name, Status: entry.Status, StartedAt: entry.StartedAt,
		EndedAt: entry.EndedAt, Duration: entry.Duration,
	}
	if d, ok := l.ended[entry.Attempt]; ok {
		a.Error, a.Retry = d.Error, d.Retry
	}
	t.Step, t.Role = cmp.Or(t.Step, entry.Step), cmp.Or(t.Role, entry.Role)
	t.Status, t.Error = a.Status, a.Error // of the last one
	t.Attempts = append(t.Attempts, a)
}
