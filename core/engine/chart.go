package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
	"github.com/wardroom/wardroom/sdk/wire"
)

// chartRun is the body of an org chart: roles that agents are bound to, and a workflow whose steps go to them.
//
// Every role has its Min instances before the first step starts. An instance is one slot of a connected agent, or
// an agent spawned for the role; it does one task at a time and is held until the execution ends. Steps at agents
// wait in line at their role, first in first out.
type chartRun struct {
	*run
	chart     core.ChartPlan
	flow      *orgchart.Flow
	exchanges exchanges // messages between roles and questions to people

	roles   []*roleRun // in the order of the chart
	bound   bool       // every role had its Min instances once
	wants   []roleWant // what it stands in line for
	lined   bool       // it stands in line for a slot too
	spawned bool       // agents were spawned for it, or may have been before a restart

	leaves  map[string]*leaf // steps at agents that are not over, by task id
	out     map[*leaf]struct{}
	byPath  map[string]*leaf // the same by path of the step
	begun   map[string]beginning
	steps   []core.StepReport // at the top level, begun
	done    int               // of steps, finished
	latest  json.RawMessage   // result of the step at the top level that finished last
	partial bool
	usage   *wire.Usage     // sum over the turns of managed agents that told; nil: none did
	context json.RawMessage // for tasks
	about   string          // objective of the threads of its roles, once one was spawned

	frozenBy int       // questions to people that stop the deadline
	frozenAt time.Time // since when
	past     *chartPast
}

// beginning is when a step that is not over began.
type beginning struct {
	round int
	at    time.Time
}

// since returns how much time passed until now; 0 when the clock was set back over a restart.
func (b beginning) since(now time.Time) time.Duration { return max(now.Sub(b.at), 0) }

func newChartRun(r *run, chart core.ChartPlan) *chartRun {
	c := &chartRun{
		run: r, chart: chart,
		flow: orgchart.NewFlow(chart, r.exec.Input, core.ChartContext{
			ExecutionID: r.exec.ID, PatternName: r.exec.Pattern.Name, PatternVersion: r.exec.Pattern.Version,
		}),
		leaves: map[string]*leaf{}, out: map[*leaf]struct{}{}, byPath: map[string]*leaf{}, begun: map[string]beginning{},
	}
	def := chart.Chart()
	c.roles = make([]*roleRun, len(def.Roles))
	for i := range def.Roles {
		c.roles[i] = newRoleRun(&def.Roles[i])
	}
	if metadata := r.exec.Options.Metadata; metadata != nil {
		raw, err := json.Marshal(map[string]any{"metadata": metadata})
		if err == nil { // it came as JSON
			c.context = raw
		}
	}
	return c
}

func (r *chartRun) role(key string) *roleRun {
	for _, role := range r.roles {
		if role.role.Key == key {
			return role
		}
	}
	return nil
}

// advance implements body.
func (r *chartRun) advance(c *change) {
	if c.over || !r.bind(c) {
		if !c.over && r.sync && !r.bound {
			r.failWithout(c, r.requireAgents(context.Background()))
		}
		return
	}
	if r.exec.StartedAt == nil {
		r.flow.StartedAt(c.now) // the first task is handed out in this change, unless its role lacks agents
	} else {
		r.flow.StartedAt(*r.exec.StartedAt)
	}
	for !c.over {
		effects, err := r.flow.Advance()
		for i := range effects {
			r.effect(c, &effects[i])
		}
		switch {
		case err != nil:
			r.failWith(c, err)
		case r.past != nil: // steps that the journal has as started were not reported
			r.takeUp(c)
			continue // answers that were there may end steps
		case r.flow.Done():
			if output, err := r.flow.Output(); err != nil {
				r.failWith(c, err)
			} else {
				r.finishWith(c, output)
			}
		default:
			r.goOn(c)
		}
		return
	}
}

// goOn hands out what can be done now, unless the execution has to wait for a slot first.
func (r *chartRun) goOn(c *change) {
	if c.late {
		return
	}
	if r.unpark(c) {
		r.place(c)
		r.answerCalls(c)
		r.secure(c)
	}
	if r.sync && !c.over {
		r.failWithout(c, r.requireStarved())
	}
	r.park(c)
}

// finishWith completes the execution. One whose workflow had no task at an agent is running for this moment.
func (r *chartRun) finishWith(c *change, output json.RawMessage) {
	if r.exec.Status == core.ExecutionPending {
		r.start(c)
	}
	r.recall(c, "the execution is complete", statusCancelled)
	r.keepAll()
	r.complete(c, output)
}

// bestEffort completes the execution with what it has.
func (r *chartRun) bestEffort(c *change) {
	if c.over {
		return
	}
	r.partial = true
	output, err := r.flow.Output()
	if err != nil || len(output) == 0 || string(output) == "null" {
		output = r.latest
	}
	if len(output) == 0 {
		output = json.RawMessage("null")
	}
	r.finishWith(c, output)
}

// effect journals what became of a step.
func (r *chartRun) effect(c *change, e *orgchart.Effect) {
	path := e.Step.Path
	if e.Kind == orgchart.StepStarted {
		r.event(c, core.EventStepStarted, stepStartedData{
			Step: path, Type: e.Step.Kind, Name: e.Step.Name, Role: e.Step.Role, Round: e.Round, Branch: e.Branch,
		})
		r.startStep(path, e.Step.Kind, e.Round, c.now)
		if e.Step.Kind.AtAgent() {
			r.begin(orgchart.Leaf{Step: e.Step, Round: e.Round, Feedback: e.Feedback})
		}
		return
	}
	confidence := 1.0
	if e.Step.Kind == core.KindAggregate {
		confidence = e.Confidence
	}
	result := e.Result
	if e.Step.Kind.Composite() && len(result) > maxCompositeResult {
		result = nil // its steps have it
	}
	at := c.now
	if b, ok := r.begun[path]; ok {
		at = b.at
	}
	r.event(c, core.EventStepCompleted, stepData{
		Step: path, Result: result, Confidence: confidence, Kind: e.Step.Kind, Round: e.Round, Branch: e.Branch, StartedAt: &at,
	})
	r.traceStepEnd(place{path, e.Round}, at, c.now)
	r.endStep(path, e.Result, c.now)
}

// maxCompositeResult is up to how many bytes the journal has the result of a step that is made of steps; a longer
// one is built from theirs.
const maxCompositeResult = 16 << 10

// startStep and endStep keep the report of the top level.
func (r *chartRun) startStep(path string, kind core.StepKind, round int, at time.Time) {
	r.begun[path] = beginning{round, at}
	if index, ok := topLevel(path); ok && index == len(r.steps) {
		r.steps = append(r.steps, core.StepReport{Step: index, Type: string(kind)})
	}
}

func (r *chartRun) endStep(path string, result json.RawMessage, at time.Time) {
	index, ok := topLevel(path)
	if ok && index < len(r.steps) {
		if index >= r.done {
			r.done = index + 1
		}
		r.latest = result
		if b, ok := r.begun[path]; ok {
			r.steps[index].Duration += wire.MillisOf(b.since(at))
		}
	}
	delete(r.begun, path)
}

// topLevel returns the number of a step at the top level.
func topLevel(path string) (int, bool) {
	if path == "" || strings.IndexByte(path, '.') >= 0 {
		return 0, false
	}
	return number(path)
}

// topOf returns the number of the step at the top level that a step is in.
func topOf(path string) int {
	top, _, _ := strings.Cut(path, ".")
	n, _ := number(top)
	return n
}

func number(digits string) (int, bool) {
	n := 0
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 || n > 1<<24 {
			return 0, false
		}
		n = 10*n + int(d)
	}
	return n, digits != ""
}

// closing implements body: the report of the steps, and the end of every role.
func (r *chartRun) closing(c *change) {
	report := &core.WorkflowReport{Steps: slices.Clone(r.steps), StepsExecuted: r.done, AgentsUsed: len(r.agents), Partial: r.partial, Usage: r.usage}
	for i := range report.Steps {
		if b, ok := r.begun[strconv.Itoa(i)]; ok {
			report.Steps[i].Duration += wire.MillisOf(b.since(c.now))
		}
	}
	if report.Steps == nil {
		report.Steps = []core.StepReport{}
	}
	r.exec.Workflow = report
	r.endExchanges(c)
	for _, role := range r.roles {
		for _, inst := range role.instances {
			r.event(c, core.EventRoleReleased, roleReleasedData{AgentID: inst.agent, Role: role.role.Key, Instance: inst.number, Reason: "the execution is over"})
			if !inst.managed && !inst.gone && !inst.unheld {
				inst.gone = true
				c.release = append(c.release, releaseOp{agent: inst.agent})
			}
		}
	}
}

// ended implements body.
func (r *chartRun) ended() {
	r.eng.forgetTasks(slices.Collect(maps.Keys(r.leaves)))
	for _, role := range r.roles {
		for _, inst := range role.instances {
			r.eng.unbindAgent(inst.agent, r.run)
		}
	}
	if r.spawned && r.eng.roles != nil {
		r.eng.roles.StopExecution(r.exec.ID, "the execution is over")
	}
}

// undo implements body.
func (r *chartRun) undo(c *change) {
	for _, role := range r.roles {
		for _, inst := range role.instances {
			r.eng.unbindAgent(inst.agent, r.run)
			if !inst.gone {
				r.eng.agents.Release(inst.agent, "", "")
			}
		}
	}
	r.eng.forgetTasks(c.forget)
	for _, op := range c.release {
		if !op.keep {
			r.eng.release(op)
		}
	}
	r.eng.forgetTasks(slices.Collect(maps.Keys(r.leaves)))
}

// drop implements body.
func (r *chartRun) drop() { r.results = nil }

// timeout implements body.
func (r *chartRun) timeout(c *change) {
	limit := r.exec.Deadline.Sub(r.exec.CreatedAt).Milliseconds()
	if r.exec.Status == core.ExecutionPending {
		if err := r.requireAgents(context.Background()); err != nil {
			e := core.AsError(err)
			r.fail(c, e.Code, fmt.Sprintf("%s until the deadline (%d ms)", e.Message, limit), e.Details)
			return
		}
	}
	r.failLate(c, limit)
}

// freeze stops the deadline while people are asked, unless the request named it.
func (r *chartRun) freeze(since time.Time) {
	if r.frozenBy++; r.frozenBy == 1 {
		r.frozenAt = since
	}
}

// thaw lets the deadline go on; it is moved by the time that it stood still.
func (r *chartRun) thaw(c *change) {
	if r.frozenBy--; r.frozenBy == 0 && r.exec.Options.TimeoutMs == 0 {
		stood := max(c.now.Sub(r.frozenAt), 0)
		r.exec.Deadline, r.deadline = r.exec.Deadline.Add(stood), r.deadline.Add(stood)
		c.put = true
	}
}

// frozen implements body.
func (r *chartRun) frozen() bool { return r.frozenBy > 0 && r.exec.Options.TimeoutMs == 0 }

// nextDue implements body.
func (r *chartRun) nextDue() time.Time {
	next := sooner(r.exchangeDue(), r.spawnDue())
	for l := range r.out {
		if l.state == attemptOut {
			next = sooner(next, l.due)
		}
	}
	return next
}

// other implements body.
func (r *chartRun) other(m message, c *change) {
	if m.kind == msgSpawned {
		r.roleSpawned(m.spawned, c)
		return
	}
	r.handleExchange(m, c)
}

// comparePaths orders paths of steps as the definition does.
func comparePaths(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if n := cmp.Compare(len(x), len(y)); n != 0 {
			return n
		}
		if n := cmp.Compare(x, y); n != 0 {
			return n
		}
	}
	return cmp.Compare(a, b)
}
