package threads

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

// public adds an event that is delivered outside. It is stored with the change that it tells of.
func (c *change) public(kind core.EventType, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		raw = json.RawMessage("{}") // plain data always encodes
	}
	c.events = append(c.events, core.Event{
		ID: c.t.s.opts.IDs.New(core.PrefixEvent), Type: kind, Time: c.now, Subject: core.NoticeSubject(c.t.id), Data: raw, By: c.by,
	})
}

// notice is what every public event of the thread tells.
func (c *change) notice() core.ThreadNotice {
	r := c.rec
	return core.ThreadNotice{
		ThreadID: r.ID, ExecutionID: r.ExecutionID, Name: r.Name, Role: r.Role, AgentType: r.AgentType,
		ManagedAgentID: r.ManagedAgentID, AgentID: r.AgentID,
	}
}

// noticeBlocked tells people that the thread waits for them.
func (c *change) noticeBlocked() {
	r := c.rec
	n := c.notice()
	n.Prompt, n.LoginURL = r.Prompt, r.LoginURL
	if p, ok := readPrompt(r.Prompt); ok {
		n.Reason = p.Kind
	}
	c.public(core.EventPublicThreadBlocked, n)
	at := c.now
	r.BlockedSince, r.WaitAlerted = &at, false
	t := c.t
	c.after = append(c.after, func() { t.log.Info("a thread waits for an answer", "name", r.Name, "reason", n.Reason) })
}

// noticeEnd reports that the thread completed or failed. A limit that stopped one is an alert: somebody set it.
func (c *change) noticeEnd() {
	r := c.rec
	n := c.notice()
	n.State, n.Summary, n.Usage, n.DurationMs = r.Completion.State, r.Completion.Summary, r.Usage, r.Lasted().Milliseconds()
	n.Error, n.Reason = r.Error, r.StatusReason
	word, _, _ := strings.Cut(r.StatusReason, ":")
	switch {
	case r.Status == core.ThreadCompleted:
		c.public(core.EventPublicThreadCompleted, n)
	case r.Status == core.ThreadFailed:
		c.public(core.EventPublicThreadFailed, n)
	case word == core.ThreadReasonLimit:
		c.alert("the thread "+r.Name+" was stopped: "+r.StatusReason, nil)
	}
}

// alert adds a system.alert about the thread.
func (c *change) alert(message string, details map[string]any) {
	r := c.rec
	all := map[string]any{"threadId": r.ID, "executionId": r.ExecutionID, "name": r.Name}
	if r.Role != "" {
		all["role"] = r.Role
	}
	maps.Copy(all, details)
	c.public(core.EventSystemAlert, core.Alert{Severity: core.SeverityWarning, Message: message, Details: all})
	t := c.t
	c.after = append(c.after, func() { t.log.Warn("alert", "message", message) })
}

// untilAlert is how long it is until an alert is due for a thread that waits for people.
func (t *thread) untilAlert(r *core.ThreadRecord) time.Duration {
	limit := t.s.config.Load().WaitAlert
	if limit <= 0 || r.Status != core.ThreadBlocked || r.BlockedSince == nil || r.WaitAlerted {
		return maxPolicyTime
	}
	return t.untilAt(r.BlockedSince.Add(limit))
}

// alertWait reports that the thread has waited for people for long, once for each thing that it waits for.
func (c *change) alertWait() {
	r := c.rec
	r.WaitAlerted = true
	waited := c.now.Sub(*r.BlockedSince).Round(time.Second)
	p, _ := readPrompt(r.Prompt)
	c.alert(fmt.Sprintf("the thread %s has waited for an answer for %s: `wardroom thread answer %s`", r.Name, waited, r.ID), map[string]any{
		"promptId": p.ID, "kind": p.Kind, "text": clip.Text(p.Text, maxSummary), "loginUrl": r.LoginURL, "waitedMs": waited.Milliseconds(),
	})
}
