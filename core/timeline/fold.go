package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/wire"
)

// States of timeline entries that more than one kind has.
const (
	entryRunning   = "running"
	entryCompleted = "completed"
	entryFailed    = "failed"
	entryTimeout   = "timeout"
	entryLost      = "lost"
	entryCancelled = "cancelled"
	entryAnswered  = "answered"
)

// fold makes a timeline of a journal's events in their order. It is pure: like events make like
// timelines. Flat patterns have no step.started, so a step of theirs begins with its first task.
type fold struct {
	entries []core.TimelineEntry
	lastSeq uint64
	over    bool // the terminal event was folded

	steps       map[string]int   // index of the newest entry, by path
	tasks       map[string]int   // by task id
	inStep      map[string][]int // tasks that run, by path
	roles       map[served]int
	messages    map[string]int
	escalations map[string]int // by message id
	questions   map[string]int
	approvals   map[string]int // by thread and prompt, those that people are asked about
}

// served is the part that an agent has: one that does several tasks at once may serve a role several times.
type served struct {
	role, agent string
	instance    int
}

func newFold() *fold {
	return &fold{
		steps: map[string]int{}, tasks: map[string]int{}, inStep: map[string][]int{}, roles: map[served]int{},
		messages: map[string]int{}, escalations: map[string]int{}, questions: map[string]int{}, approvals: map[string]int{},
	}
}

// eventData holds the fields that a timeline needs of the data of any event. Results and inputs, which may be large,
// are passed over.
type eventData struct {
	Step        string               `json:"step"`
	Type        string               `json:"type"`
	Kind        string               `json:"kind"`
	Name        string               `json:"name"`
	Role        string               `json:"role"`
	Instance    int                  `json:"instance"`
	Round       int                  `json:"round"`
	Branch      string               `json:"branch"`
	Tasks       []core.Assignment    `json:"tasks"`
	TaskID      string               `json:"taskId"`
	AgentID     string               `json:"agentId"`
	AgentName   string               `json:"agentName"`
	Usage       *wire.Usage          `json:"usage"`
	AgentType   string               `json:"agentType"`
	Attempt     int                  `json:"attempt"`
	Status      string               `json:"status"`
	Reason      string               `json:"reason"`
	Error       *core.ExecutionError `json:"error"`
	MessageID   string               `json:"messageId"`
	MessageType string               `json:"messageType"`
	Topic       string               `json:"topic"`
	To          string               `json:"to"`
	ToAgentID   string               `json:"toAgentId"`
	Depth       int                  `json:"depth"`
	WantsReply  bool                 `json:"wantsReply"`
	Question    *core.Question       `json:"question"`
	QuestionID  string               `json:"questionId"`
	By          string               `json:"by"`
	ThreadID    string               `json:"threadId"`
	Tool        string               `json:"tool"`
	Text        string               `json:"text"`
	Ruling      *core.PromptRuling   `json:"ruling"`
}

// add folds events in. Types it does not know are passed over.
func (f *fold) add(events []core.Event) error {
	for i := range events {
		ev := &events[i]
		f.lastSeq = ev.Seq
		fold := f.folder(ev.Type)
		if fold == nil {
			continue
		}
		var d eventData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return fmt.Errorf("journal entry %d (%s): %w", ev.Seq, ev.Type, err)
		}
		fold(ev, &d)
	}
	return nil
}

// folder returns what folds events of a type, or nil for one that a timeline does not tell of.
func (f *fold) folder(kind core.EventType) func(*core.Event, *eventData) {
	switch kind {
	case core.EventStepStarted:
		return f.stepStarted
	case core.EventStepCompleted:
		return f.stepCompleted
	case core.EventTaskAssigned:
		return f.taskAssigned
	case core.EventTaskCompleted, core.EventTaskFailed:
		return f.taskEnded
	case core.EventRoleBound:
		return f.roleBound
	case core.EventRoleReleased:
		return f.roleReleased
	case core.EventMessageSent:
		return f.messageSent
	case core.EventMessageEscalated:
		return f.messageEscalated
	case core.EventMessageUsed:
		return f.messageUsed
	case core.EventMessageReplied, core.EventMessageClosed:
		return f.messageEnded
	case core.EventQuestionAsked:
		return f.questionAsked
	case core.EventQuestionAnswered, core.EventQuestionExpired:
		return f.questionEnded
	case core.EventPromptRuled:
		return f.promptRuled
	case core.EventExecutionCompleted, core.EventExecutionFailed, core.EventExecutionCancelled:
		return f.executionEnded
	}
	return nil
}

// begin adds an entry that runs and returns its index.
func (f *fold) begin(at time.Time, entry core.TimelineEntry) int {
	entry.StartedAt, entry.FirstSequence, entry.Sequence = at, f.lastSeq, f.lastSeq
	entry.Status = cmp.Or(entry.Status, entryRunning)
	f.entries = append(f.entries, entry)
	return len(f.entries) - 1
}

// end closes an entry that runs. detail, if not empty, takes the place of what it had.
func (f *fold) end(index int, at time.Time, status, detail string) {
	entry := &f.entries[index]
	if entry.EndedAt != nil {
		return
	}
	entry.EndedAt, entry.Status, entry.Sequence = &at, status, f.lastSeq
	if detail != "" {
		entry.Detail = detail
	}
}

// around names the step that a path lies in; "" at the top. Steps of a chart are numbered like 2.0, those of
// composed flat patterns are named like outer/inner.
func around(path string) string {
	separator := byte('/')
	if numbered(path) {
		separator = '.'
	}
	if i := strings.LastIndexByte(path, separator); i > 0 {
		return path[:i]
	}
	return ""
}

// numbered reports whether a path is one of a chart. The id of a step of a flat pattern begins with a letter.
func numbered(path string) bool { return strings.Trim(path, "0123456789.") == "" }

func (f *fold) stepStarted(ev *core.Event, d *eventData) {
	if i, ok := f.steps[d.Step]; ok {
		f.end(i, ev.Time, entryFailed, "")
	}
	f.steps[d.Step] = f.begin(ev.Time, core.TimelineEntry{
		Kind: core.TimelineStep, ID: d.Step, Step: around(d.Step), Type: d.Type, Name: d.Name, Role: d.Role,
		Attempt: timesRun(d.Round),
	})
}

// timesRun is how often a step was run by its round: from 2, and 0 for the first time, which is not worth a word.
func timesRun(round int) int {
	if round == 0 {
		return 0
	}
	return round + 1
}

// openStep makes sure that a step of a flat pattern, and those around it, began.
func (f *fold) openStep(path string, round int, at time.Time) {
	if path == "" {
		return
	}
	f.openStep(around(path), 0, at)
	i, ok := f.steps[path]
	if ok && (round == 0 || f.entries[i].Attempt == round+1 || numbered(path)) {
		return
	}
	if ok { // asked again, because its outcome broke a rule
		f.endTasks(path, at, entryCancelled)
		f.end(i, at, entryFailed, "")
	}
	f.steps[path] = f.begin(at, core.TimelineEntry{
		Kind: core.TimelineStep, ID: path, Step: around(path), Attempt: timesRun(round),
	})
}

func (f *fold) stepCompleted(ev *core.Event, d *eventData) {
	f.openStep(d.Step, 0, ev.Time)
	f.endTasks(d.Step, ev.Time, entryCancelled)
	if i, ok := f.steps[d.Step]; ok {
		status := entryCompleted
		if d.Status != "" {
			status = d.Status
		}
		f.entries[i].Type = cmp.Or(f.entries[i].Type, d.Kind)
		detail := d.Branch
		if kind := core.StepKind(f.entries[i].Type); kind == core.KindReview || kind == core.KindApprove {
			var end struct {
				Result struct{ Verdict, Feedback string }
			}
			if json.Unmarshal(ev.Data, &end) == nil && end.Result.Verdict != "" { // it is null where the step was cut off
				f.entries[i].Verdict, detail = end.Result.Verdict, clip.Marked(end.Result.Feedback, maxDetail, ellipsis)
			}
		}
		f.end(i, ev.Time, status, detail)
	}
}

// maxDetail bounds the feedback that an entry has, in bytes.
const maxDetail = 500

func (f *fold) taskAssigned(ev *core.Event, d *eventData) {
	f.openStep(d.Step, d.Round, ev.Time)
	for _, a := range d.Tasks {
		if i, ok := f.tasks[a.TaskID]; ok {
			f.end(i, ev.Time, entryFailed, "")
		}
		i := f.begin(ev.Time, core.TimelineEntry{
			Kind: core.TimelineTask, ID: a.TaskID, Step: d.Step, Role: f.roleOf(d), AgentID: a.AgentID, Attempt: a.Attempt,
		})
		f.tasks[a.TaskID] = i
		f.inStep[d.Step] = append(f.inStep[d.Step], i)
	}
}

func (f *fold) roleOf(d *eventData) string {
	if d.Role != "" {
		return d.Role
	}
	if i, ok := f.steps[d.Step]; ok {
		return f.entries[i].Role
	}
	return ""
}

func (f *fold) taskEnded(ev *core.Event, d *eventData) {
	i, ok := f.tasks[d.TaskID]
	if !ok || f.entries[i].EndedAt != nil && ev.Type == core.EventTaskCompleted && f.entries[i].Status == entryCompleted {
		// A rerun keeps answers without their assignments.
		f.openStep(d.Step, d.Round, ev.Time)
		i = f.begin(ev.Time, core.TimelineEntry{
			Kind: core.TimelineTask, ID: d.TaskID, Step: d.Step, Role: f.roleOf(d), AgentID: d.AgentID, Attempt: d.Attempt,
		})
		f.tasks[d.TaskID] = i
	}
	f.entries[i].Name = cmp.Or(f.entries[i].Name, d.AgentName)
	status, detail := entryCompleted, ""
	if ev.Type == core.EventTaskFailed {
		status = entryFailed
		if d.Status != "" {
			status = d.Status
		}
		if d.Error != nil {
			detail = d.Error.Message
		}
	} else if f.entries[i].EndedAt != nil { // the answer of an attempt that had been given up counts after all
		f.entries[i].EndedAt, f.entries[i].Detail = nil, ""
	}
	f.entries[i].Usage = d.Usage
	f.end(i, ev.Time, status, detail)
}

// endTasks closes the tasks of a step that still run.
func (f *fold) endTasks(path string, at time.Time, status string) {
	for _, i := range f.inStep[path] {
		f.end(i, at, status, "")
	}
	delete(f.inStep, path)
}

func (f *fold) roleBound(ev *core.Event, d *eventData) {
	f.roles[served{d.Role, d.AgentID, d.Instance}] = f.begin(ev.Time, core.TimelineEntry{
		Kind: core.TimelineRole, ID: d.AgentID, Type: d.AgentType, Name: d.AgentName, Role: d.Role, AgentID: d.AgentID,
	})
}

func (f *fold) roleReleased(ev *core.Event, d *eventData) {
	if i, ok := f.roles[served{d.Role, d.AgentID, d.Instance}]; ok {
		status := entryCompleted
		if d.Reason == core.ReleasedLost {
			status = entryLost
		}
		f.end(i, ev.Time, status, d.Reason)
	}
}

func (f *fold) executionEnded(ev *core.Event, d *eventData) {
	f.over = true
	work, step := entryCancelled, entryCancelled
	if d.Error != nil {
		step = entryFailed
		if d.Error.Code == core.CodeTimeout {
			work, step = entryTimeout, entryTimeout
		}
	}
	for i := range f.entries {
		switch f.entries[i].Kind {
		case core.TimelineStep:
			f.end(i, ev.Time, step, "")
		case core.TimelineTask:
			f.end(i, ev.Time, work, "")
		case core.TimelineRole:
			f.end(i, ev.Time, entryCompleted, "")
		case core.TimelineMessage, core.TimelineEscalation, core.TimelineQuestion, core.TimelineApproval:
			f.end(i, ev.Time, entryCancelled, "")
		}
	}
}

// result returns the entries, with durations of what still runs up to now.
func (f *fold) result(now time.Time) []core.TimelineEntry {
	list := make([]core.TimelineEntry, len(f.entries))
	for i, entry := range f.entries {
		until := now
		if entry.EndedAt != nil {
			until = *entry.EndedAt
		}
		entry.Duration = wire.MillisOf(max(until.Sub(entry.StartedAt), 0))
		list[i] = entry
	}
	return list
}
