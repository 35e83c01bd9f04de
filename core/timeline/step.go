package timeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of the answer about a step.
const (
	maxStepRuns  = 100
	maxStepTasks = 100
	maxStepBytes = 1 << 20 // of what its tasks were asked and answered
	maxNear      = 20      // paths that are named for one that there is not
)

// FindStep implements core.TimelineService. The journal is read twice: to find where the step is in it, and, from there on, what
// the tasks of the step were asked and answered.
func (s *Service) FindStep(ctx context.Context, executionID, path string) (*core.StepDetail, error) {
	exec, err := s.Store.FindExecution(ctx, executionID)
	if err != nil {
		return nil, err
	}
	f := newFold()
	if err := s.eachPage(ctx, executionID, 0, f.add); err != nil {
		return nil, fmt.Errorf("step %s of %s: %w", path, executionID, err)
	}
	if _, ok := f.steps[path]; !ok {
		return nil, f.noStep(path)
	}
	entries := f.result(s.Clock.Now())
	look := newStepLook(exec, path, entries)
	err = s.eachPage(ctx, executionID, look.first-1, func(page []core.Event) error {
		if over := slices.IndexFunc(page, func(ev core.Event) bool { return ev.Seq > f.lastSeq }); over >= 0 {
			page = page[:over] // it was journaled since
		}
		return look.add(page)
	})
	if err != nil {
		return nil, fmt.Errorf("step %s of %s: %w", path, executionID, err)
	}
	return look.done(entries), nil
}

// noStep is the error for a path that no step has. Near it are the steps beside it, or else those around it.
func (f *fold) noStep(path string) error {
	err := core.NotFound("step", path)
	err.Message = fmt.Sprintf("step %q does not exist or has not begun", path)
	near, beside := []string{}, path
	for len(near) == 0 && beside != "" {
		beside = around(beside)
		for i := range f.entries {
			e := &f.entries[i]
			if e.Kind == core.TimelineStep && e.Step == beside && !slices.Contains(near, e.ID) && len(near) < maxNear {
				near = append(near, e.ID)
			}
		}
	}
	if len(near) > 0 {
		err.Message += "; near it are " + strings.Join(near, ", ")
	}
	err.Details["near"] = near
	return err
}

// stepLook collects what the timeline and the journal have of a step.
type stepLook struct {
	step  *core.StepDetail
	last  core.TimelineEntry // of its last run
	first uint64             // where it begins in the journal
	tasks []*taskLook        // oldest first
	looks taskLooks
}

// newStepLook returns a look for what entries have of the step at path, which is among them.
func newStepLook(exec *core.Execution, path string, entries []core.TimelineEntry) *stepLook {
	l := &stepLook{looks: taskLooks{}}
	l.step = &core.StepDetail{ExecutionID: exec.ID, Path: path, Runs: []wire.StepRun{}}
	var ids []string
	known, began := map[string]bool{}, map[string]bool{}
	for i := range entries {
		e := &entries[i]
		switch inside := e.Step == path || within(path, e.Step); {
		case e.Kind == core.TimelineStep && e.ID == path:
			l.first = cmp.Or(l.first, e.FirstSequence)
			l.last = *e
			l.step.Runs = append(l.step.Runs, wire.StepRun{
				Run: max(e.Attempt, 1), Status: e.Status, Detail: e.Detail, Verdict: e.Verdict,
				StartedAt: e.StartedAt, EndedAt: e.EndedAt, Duration: e.Duration,
			})
		case e.Kind == core.TimelineStep && inside:
			if e.Step == path && !began[e.ID] {
				began[e.ID] = true
				l.step.Steps = append(l.step.Steps, e.ID)
			}
		case e.Kind == core.TimelineTask && inside:
			if e.Role != "" && !slices.Contains(l.step.Roles, e.Role) {
				l.step.Roles = append(l.step.Roles, e.Role)
			}
			if e.Step == path && !known[e.ID] {
				known[e.ID] = true
				ids = append(ids, e.ID)
			}
		}
	}
	l.step.Runs = lastOf(l.step.Runs, maxStepRuns)
	l.step.TotalTasks = len(ids)
	for _, id := range lastOf(ids, maxStepTasks) {
		l.tasks = append(l.tasks, l.looks.of(exec, id))
	}
	return l
}

// within reports whether a step is inside the one at path, at any depth.
func within(path, step string) bool {
	for step != "" {
		if step = around(step); step == path {
			return true
		}
	}
	return false
}

// lastOf returns the last elements of a list, n at most.
func lastOf[T any](list []T, n int) []T { return list[max(len(list)-n, 0):] }

// stepEnd has the fields that are read from the data of step.completed and of the end of the execution.
type stepEnd struct {
	Step       string               `json:"step"`
	Result     json.RawMessage      `json:"result"`
	Confidence float64              `json:"confidence"`
	Fallback   bool                 `json:"fallback"`
	Error      *core.ExecutionError `json:"error"`
}

func (l *stepLook) add(events []core.Event) error {
	for i := range events {
		ev := &events[i]
		if ev.Seq != l.last.Sequence { // of what ended its last run
			continue
		}
		ends := ev.Type == core.EventStepCompleted
		if !ends && ev.Type != core.EventExecutionFailed {
			continue
		}
		var d stepEnd
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return fmt.Errorf("journal entry %d (%s): %w", ev.Seq, ev.Type, err)
		}
		if ends {
			l.step.Result, l.step.Confidence, l.step.Fallback = d.Result, d.Confidence, d.Fallback
		}
		l.step.Error = d.Error
	}
	err := l.looks.add(events)
	l.trim()
	return err
}

// trim leaves out what tasks were asked and answered that is too much, of the oldest ones first.
func (l *stepLook) trim() {
	room := maxStepBytes
	for _, look := range slices.Backward(l.tasks) {
		t := look.task
		if t.Asked != nil {
			look.askedBytes = len(t.Asked.Input) + len(t.Asked.Context)
		}
		if t.Result != nil {
			look.resultBytes = len(t.Result)
		}
		n := look.askedBytes + look.resultBytes
		if t.Omitted == 0 && n <= room {
			room -= n
			continue
		}
		t.Omitted, t.Asked, t.Result = n, nil, nil
	}
}

// done returns the step.
func (l *stepLook) done(entries []core.TimelineEntry) *core.StepDetail {
	s, e := l.step, &l.last
	s.Step, s.Type, s.Name, s.Role, s.Status, s.Detail, s.Verdict = e.Step, e.Type, e.Name, e.Role, e.Status, e.Detail, e.Verdict
	s.StartedAt, s.EndedAt, s.Duration = e.StartedAt, e.EndedAt, e.Duration
	for i := range entries {
		if look := l.looks[entries[i].ID]; look != nil && entries[i].Kind == core.TimelineTask {
			look.attempt(&entries[i])
		}
	}
	s.Tasks = make([]core.TaskDetail, len(l.tasks))
	for i, look := range l.tasks {
		s.Tasks[i] = *look.task
	}
	if n := len(s.Tasks); n > 0 && s.Status != entryCompleted && s.EndedAt != nil {
		for _, last := range lastOf(s.Tasks[n-1].Attempts, 1) {
			s.Error = cmp.Or(last.Error, s.Error)
		}
	}
	return s
}
