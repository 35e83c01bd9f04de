package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core"
)

// stepRun is one round of the step that is at agents now.
type stepRun struct {
	path    string // of the step, for the journal; "" in a pattern of a single step
	step    *core.Step
	round   int // rises when validation asks the step again
	input   json.RawMessage
	context json.RawMessage
	answers []core.Answer
	tasks   []*attempt // one for each agent that is wanted
	lastErr *core.ExecutionError
	began   time.Time // of the round, as this process knows it
}

// place is where its tasks belong.
func (s *stepRun) place() place { return place{s.path, s.round} }

// stepState is how far a step has got.
type stepState uint8

const (
	stepRunning stepState = iota
	stepDone
	stepFailed
)

// advance moves the run as far as it can go without news from outside.
func (r *flat) advance(c *change) {
	for !c.over {
		if r.step == nil {
			if !r.enter(c) {
				return
			}
			continue
		}
		switch r.state() {
		case stepDone:
			r.finishStep(c)
		case stepFailed:
			code, message := core.CodeAgentError, "no agent gave an acceptable answer"
			var details map[string]any
			if last := r.step.lastErr; last != nil {
				code, message, details = last.Code, last.Message, last.Details
			}
			r.fail(c, code, message, details)
		case stepRunning:
			if r.sync { // its caller is not kept waiting for agents that are not there
				if available, short := r.short(); short {
					err := noAgents(r.step.step, available)
					r.fail(c, err.Code, err.Message, err.Details)
					return
				}
			}
			// That no agent fits may have come up since the state was judged.
			if r.place(c) == 0 && (r.nobody == nil || r.state() == stepRunning) {
				return
			}
		}
	}
}

// state judges the present step.
func (r *flat) state() stepState {
	s := r.step
	out, waiting := 0, 0
	for _, t := range s.tasks {
		switch t.state {
		case attemptOut:
			out++
		case attemptWaiting:
			waiting++
		}
	}
	n := len(s.answers)
	least := max(s.step.Min, 1)
	switch {
	case r.won():
		return stepDone
	case !s.step.WaitForAll && s.step.Strategy != core.StepRace && n >= max(s.step.MinResults, least):
		return stepDone
	case n+out+waiting < least:
		return stepFailed
	case out > 0:
		return stepRunning
	case waiting == 0:
		return stepDone
	case n >= least && r.eng.agents.CountCapable(r.need(nil)) == 0:
		return stepDone // what waits has no agent left to go to, and there is enough
	}
	return stepRunning
}

// won reports whether the present step is a race that has its answer.
func (r *flat) won() bool {
	return r.step != nil && r.wins(r.step.step, r.step.answers)
}

// wins reports whether the newest of answers alone ends a race of the innermost pattern's present step.
func (r *flat) wins(step *core.Step, answers []core.Answer) bool {
	n := len(answers)
	if step.Strategy != core.StepRace || n == 0 {
		return false
	}
	if step.MinConfidence == 0 {
		return true
	}
	outcome, err := r.seq.plan.Aggregate(r.seq.index, answers[n-1:])
	return err == nil && outcome.Confidence >= step.MinConfidence
}

// fold aggregates answers of the innermost pattern's present step. A race that was won is its winner's.
func (r *flat) fold(step *core.Step, answers []core.Answer) (core.Outcome, error) {
	if r.wins(step, answers) {
		answers = answers[len(answers)-1:]
	}
	return r.seq.plan.Aggregate(r.seq.index, answers)
}

// enter starts the next step, or ends the sequence. It returns false when the change is over.
func (r *flat) enter(c *change) bool {
	seq := r.seq
	steps := seq.plan.Definition().Steps
	if seq.index >= len(steps) {
		return r.leave(c)
	}
	step := &steps[seq.index]
	path := seq.path()
	if r.restoreFinished(path) {
		return true
	}
	input, err := seq.plan.StepInput(seq.index, r.scope(c.now))
	if err != nil {
		r.failWith(c, err)
		return false
	}
	if step.Compose != nil {
		return r.compose(c, step, path, input)
	}
	r.step = &stepRun{path: path, step: step, input: input, began: c.now}
	r.step.context = r.taskContext(c.now)
	r.restoreTasks(c)
	want := max(step.Max, step.Min, 1)
	if capable := r.eng.agents.CountCapable(step.Need); capable < want && capable >= max(step.Min, 1) {
		want = capable
	}
	r.addTasks(want)
	return true
}

// addTasks makes tasks until the step has want of them.
func (r *flat) addTasks(want int) {
	for len(r.step.tasks) < want {
		t := &attempt{id: r.eng.ids.New(core.PrefixTask)}
		r.step.tasks = append(r.step.tasks, t)
		r.rememberTask(t.id)
	}
}

func (r *flat) rememberTask(id string) {
	r.taskIDs = append(r.taskIDs, id)
	r.eng.rememberTask(id, r.run)
}

func (e *Engine) rememberTask(id string, r *run) {
	e.tasksMu.Lock()
	e.tasks[id] = r
	e.tasksMu.Unlock()
}

func (e *Engine) forgetTasks(ids []string) {
	e.tasksMu.Lock()
	for _, id := range ids {
		delete(e.tasks, id)
	}
	e.tasksMu.Unlock()
}

// compose starts the pattern that the step names, inside this execution.
func (r *flat) compose(c *change, step *core.Step, path string, input json.RawMessage) bool {
	hash, ok := r.exec.Pins[pinKey(step.Compose)]
	if !ok {
		r.fail(c, core.CodeInternal, fmt.Sprintf("step %q: the composed pattern was not pinned", path), nil)
		return false
	}
	plan, err := r.composed(hash)
	if err == nil {
		input, err = plan.CheckInput(input)
	}
	switch {
	case err == nil:
	case transient(r.eng.detached(), err): // the engine stops; the next start goes on here
		return false
	default:
		r.failWith(c, fmt.Errorf("step %q: %w", path, err))
		return false
	}
	r.seq = &sequence{plan: plan, prefix: path + "/", input: input, parent: r.seq}
	return true
}

// composed returns the plan of a pattern that runs inside this execution. A store that cannot be read now is tried again
// until it can, as in commit, or the engine stops.
func (r *flat) composed(hash string) (core.Plan, error) {
	warned := false
	for {
		plan, err := r.eng.patterns.Plan(r.eng.detached(), hash)
		if err == nil || !transient(r.eng.detached(), err) {
			if warned {
				r.eng.writable.accept()
			}
			return plan, err
		}
		if !warned {
			r.eng.log.Warn("store cannot be read; the execution waits", "execution", r.exec.ID, "error", err)
			warned = true
		}
		r.eng.writable.refuse(err)
		if !r.eng.pause(storeRetry) {
			return nil, err
		}
	}
}

// leave ends the innermost sequence: a composed one becomes an outcome of its parent's step, the
// execution's own completes it.
func (r *flat) leave(c *change) bool {
	seq := r.seq
	output, err := seq.plan.Output(r.scope(c.now))
	if err != nil {
		r.failWith(c, err)
		return false
	}
	if seq.parent == nil {
		r.complete(c, output)
		return false
	}
	confidence := 1.0
	if seq.last != nil {
		confidence = seq.last.Confidence
	}
	r.seq = seq.parent
	outcome := core.Outcome{Result: output, Confidence: confidence}
	r.stepEvent(c, r.seq.path(), outcome, false)
	r.seq.finish(outcome)
	return true
}

func (s *sequence) current() *core.Step { return &s.plan.Definition().Steps[s.index] }

// path is the journal's name of the present step. The one step of a composed pattern without steps has no
// id of its own and is called main.
func (s *sequence) path() string {
	id := s.current().ID
	if id == "" && s.prefix != "" {
		id = "main"
	}
	return s.prefix + id
}

// finish records the outcome of the sequence's present step and moves on.
func (s *sequence) finish(outcome core.Outcome) {
	if s.steps == nil {
		s.steps = map[string]core.Outcome{}
	}
	s.steps[s.current().ID] = outcome
	s.last = &outcome
	s.index++
}

// finishStep folds the answers into the outcome and applies the validation rules.
func (r *flat) finishStep(c *change) {
	s := r.step
	outcome, err := r.fold(s.step, s.answers)
	if err != nil {
		r.failWith(c, err)
		return
	}
	fallback := false
	if floor := s.step.MinConfidence; floor > 0 && outcome.Confidence < floor {
		reason := fmt.Sprintf("confidence %.4g is below the required %.4g", outcome.Confidence, floor)
		switch {
		case s.step.OnInvalid == core.OnInvalidRetry && s.round < s.step.MaxRetries:
			r.again(c)
			return
		case s.step.OnInvalid == core.OnInvalidFallback:
			outcome.Result, fallback = s.step.Fallback, true
		default:
			r.fail(c, core.CodeValidation, reason, map[string]any{"field": "validation.minConfidence", "reason": reason})
			return
		}
	}
	r.recall(c, "the step is finished", statusCancelled)
	r.keepResults()
	r.stepEvent(c, s.path, outcome, fallback)
	if s.path != "" {
		r.traceStepEnd(s.place(), s.began, c.now)
	}
	r.step = nil
	r.seq.finish(outcome)
}

// stepEvent journals a finished step. A pattern of a single step has none: its end is in the same change.
func (r *flat) stepEvent(c *change, path string, outcome core.Outcome, fallback bool) {
	if path == "" && r.seq.parent == nil {
		return
	}
	r.event(c, core.EventStepCompleted, stepData{
		Step: path, Result: outcome.Result, Confidence: outcome.Confidence, Fallback: fallback,
	})
}

// again starts a new round of the step.
func (r *flat) again(c *change) {
	r.recall(c, "the step is asked again", statusCancelled)
	s := r.step
	want := len(s.tasks)
	r.step = &stepRun{path: s.path, step: s.step, round: s.round + 1, input: s.input, context: s.context, began: c.now}
	r.addTasks(want)
}

// recall implements body.
func (r *flat) recall(c *change, reason, status string) {
	if r.step == nil {
		return
	}
	for _, t := range r.step.tasks {
		if t.state == attemptOut {
			r.recallAttempt(c, t, r.step.place(), status)
			c.release = append(c.release, releaseOp{agent: t.agent, task: t.id, cancel: reason})
		}
	}
}

// keepResults adds the present step's answers to the execution's.
func (r *flat) keepResults() {
	s := r.step
	for _, a := range s.answers {
		r.results = append(r.results, core.AgentResult{ID: a.AgentID, Name: a.Name, Step: s.path, Status: statusCompleted, Result: a.Result})
	}
}
