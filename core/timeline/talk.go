package timeline

import (
	"cmp"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/wire"
)

// shownText is how much of a question's text its entry shows, in bytes.
const shownText = 200

func (f *fold) messageSent(ev *core.Event, d *eventData) {
	i := f.begin(ev.Time, core.TimelineEntry{
		Kind: core.TimelineMessage, ID: d.MessageID, Step: d.Step, Type: d.MessageType, Role: d.Role, To: d.To,
		AgentID: d.AgentID, Detail: d.Topic,
	})
	f.messages[d.MessageID] = i
	if !d.WantsReply {
		f.end(i, ev.Time, entryCompleted, "")
	}
}

func (f *fold) messageEscalated(ev *core.Event, d *eventData) {
	f.endEscalation(d.MessageID, ev.Time, entryTimeout)
	entry := core.TimelineEntry{
		Kind: core.TimelineEscalation, ID: d.MessageID, To: d.To, AgentID: d.ToAgentID, Attempt: d.Depth, Detail: d.Reason,
	}
	if i, ok := f.messages[d.MessageID]; ok {
		entry.Step, entry.Type, entry.Role = f.entries[i].Step, f.entries[i].Type, f.entries[i].Role
	}
	f.escalations[d.MessageID] = f.begin(ev.Time, entry)
}

func (f *fold) endEscalation(messageID string, at time.Time, status string) {
	if i, ok := f.escalations[messageID]; ok {
		f.end(i, at, status, "")
	}
}

func (f *fold) messageEnded(ev *core.Event, d *eventData) {
	status := entryAnswered
	if ev.Type == core.EventMessageClosed {
		status = entryCancelled
	}
	f.endEscalation(d.MessageID, ev.Time, status)
	if i, ok := f.messages[d.MessageID]; ok {
		f.end(i, ev.Time, status, "")
	}
	if i, ok := f.questions[d.QuestionID]; ok { // it needs no answer of people any more
		f.end(i, ev.Time, entryCancelled, "")
	}
}

// messageUsed adds what the turn of an agent that was asked used.
func (f *fold) messageUsed(_ *core.Event, d *eventData) {
	if i, ok := f.messages[d.MessageID]; ok && d.Usage != nil {
		sum := wire.Usage{}
		sum.Add(f.entries[i].Usage)
		sum.Add(d.Usage)
		f.entries[i].Usage, f.entries[i].Sequence = &sum, f.lastSeq
	}
}

func (f *fold) questionAsked(ev *core.Event, d *eventData) {
	q := d.Question
	if q == nil {
		return
	}
	f.toPeople(q.MessageID)
	kind := cmp.Or(q.MessageType, string(q.Kind))
	f.questions[q.ID] = f.begin(ev.Time, core.TimelineEntry{
		Kind: core.TimelineQuestion, ID: q.ID, Step: q.Step, Type: kind, Role: q.Role, AgentID: q.AgentID,
		Status: string(core.QuestionOpen), Detail: clip.Marked(q.Text, shownText, ellipsis),
	})
}

// toPeople says of a message, or of its last escalation, that people got it.
func (f *fold) toPeople(messageID string) {
	i, ok := f.escalations[messageID]
	if !ok {
		i, ok = f.messages[messageID]
	}
	if ok && f.entries[i].To == "" {
		f.entries[i].To, f.entries[i].Sequence = core.FromPeople, f.lastSeq
	}
}

func (f *fold) questionEnded(ev *core.Event, d *eventData) {
	status := string(core.QuestionAnswered)
	if ev.Type == core.EventQuestionExpired {
		status = string(core.QuestionExpired)
	}
	if i, ok := f.questions[d.QuestionID]; ok {
		f.entries[i].By = d.By
		f.end(i, ev.Time, status, "")
	}
}

// promptRuled shows how a prompt of a thread was answered. One that a policy left to people is open until somebody answers.
func (f *fold) promptRuled(ev *core.Event, d *eventData) {
	if d.Ruling == nil {
		return
	}
	key := d.ThreadID + " " + d.Ruling.PromptID
	i, open := f.approvals[key]
	if !open {
		i = f.begin(ev.Time, core.TimelineEntry{
			Kind: core.TimelineApproval, ID: d.Ruling.PromptID, Type: d.Tool, Name: d.Name, Role: d.Role, AgentID: d.AgentID,
			ThreadID: d.ThreadID, Status: string(core.QuestionOpen), Detail: clip.Marked(d.Text, shownText, ellipsis),
		})
	}
	f.entries[i].Ruling = d.Ruling
	if d.Ruling.Answer == core.RulingAsk {
		f.approvals[key] = i
		return
	}
	delete(f.approvals, key)
	f.end(i, ev.Time, entryAnswered, "")
}

// ellipsis ends a text that was cut.
const ellipsis = "…"
