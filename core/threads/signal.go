package threads

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/threads/report"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Reasons of runtimes for the end of an agent, and for its errors.
const (
	reasonExited    = "exited"
	reasonStopped   = "stopped"
	reasonKilled    = "killed"
	reasonAtStart   = "exited_at_start"
	reasonRefused   = "refused" // by a host
	reasonUntaken   = "message_not_taken"
	reasonLoginWord = "login_required"
	reasonBehind    = "session_behind" // of a start
)

// readSignal decodes the data of an agent's event. What cannot be read says nothing.
func readSignal(data json.RawMessage) *core.AgentSignal {
	sig := &core.AgentSignal{}
	_ = json.Unmarshal(data, sig)
	return sig
}

// apply makes of the record what an event of the agent says, with the events of the thread that follow. Events of
// managed agents and those that hosts tell are the same here.
func (c *change) apply(kind core.EventType, sig *core.AgentSignal) {
	r := c.rec
	if r.StatusReason == core.ThreadReasonStuck && kind != core.EventManagedStuck {
		r.StatusReason = ""
	}
	if kind != core.EventManagedReady || r.Status != core.ThreadIdle {
		r.LastActivityAt = c.now
	}
	switch kind {
	case core.EventManagedStarted:
		c.onStarted(sig)
	case core.EventManagedReady:
		c.onReady()
	case core.EventManagedBusy:
		c.onBusy()
	case core.EventManagedBlocked, core.EventManagedQuestion:
		c.onBlocked(sig)
	case core.EventManagedUnblocked:
		if p, ok := readPrompt(r.Prompt); ok && !isQuestion(p.ID) {
			c.unblock()
		}
	case core.EventManagedLogin:
		c.onLogin(sig)
	case core.EventManagedTool:
		if sig.Tool != nil {
			input := sig.Tool.Input
			if input == nil {
				input = map[string]any{}
			}
			c.event(core.EventThreadToolRunning, toolData{Tool: sig.Tool.Name, Input: input})
		}
	case core.EventManagedToolDone:
		if sig.Tool != nil {
			c.event(core.EventThreadToolDone, toolDoneData{Tool: sig.Tool.Name, Outcome: cmp.Or(sig.Reason, toolDone), DurationMs: sig.DurationMs})
		}
	case core.EventManagedMessage:
		c.onMessage(sig)
	case core.EventManagedTurnComplete:
		c.onTurn(sig)
		if sig.Status == core.ManagedReady && r.Ending == nil { // a runtime need not tell that besides
			c.onReady()
		}
	case core.EventManagedStuck:
		r.StatusReason = core.ThreadReasonStuck
		c.event(core.EventThreadStatus, statusData{Status: core.ThreadReasonStuck})
	case core.EventManagedError:
		c.onError(sig)
	case core.EventManagedStopped:
		c.ended(sig.Reason, sig.ExitCode, false)
	}
}

// onStarted handles that the agent's process runs. After its first start, that is somebody's doing.
func (c *change) onStarted(sig *core.AgentSignal) {
	r := c.rec
	if word, _, _ := strings.Cut(sig.Reason, ":"); word == reasonBehind {
		defer c.sessionBehind(sig.Reason)
	}
	if p, ok := readPrompt(r.Prompt); ok && isQuestion(p.ID) {
		return // people are asked all the same
	}
	r.Prompt, r.LoginURL = nil, ""
	if r.Status != core.ThreadStarting {
		c.interruptWork(againRestarted)
		r.Status, r.StatusReason, r.IdleSince = core.ThreadStarting, "", nil
		c.event(core.EventThreadStatus, statusData{Status: string(core.ThreadStarting)})
	}
}

// sessionBehind handles that the agent resumed an earlier state of its session: the message that it worked on is not in it.
func (c *change) sessionBehind(reason string) {
	if w := c.rec.Work; w != nil && w.Resume && w.Number > 0 {
		c.setWork(func(w *core.ThreadWork) { w.Resume = false })
	}
	c.event(core.EventThreadStatus, statusData{Status: reasonBehind, Reason: reason})
}

func (c *change) onReady() {
	r := c.rec
	if r.Status == core.ThreadReady || r.Status == core.ThreadIdle {
		return
	}
	if p, ok := readPrompt(r.Prompt); ok && isQuestion(p.ID) {
		return // people are asked, and the agent waits with everybody
	}
	r.Status, r.StatusReason, r.Prompt, r.LoginURL = core.ThreadReady, "", nil, ""
	if r.RetryAt != nil {
		r.StatusReason = core.ThreadReasonRetrying
	}
	c.event(core.EventThreadReady, readyData{})
	c.complete()
}

func (c *change) onBusy() {
	r := c.rec
	r.LastText = ""
	c.tellOutput() // of a turn whose end was not told
	if r.Speech != nil {
		r.Speech = &core.ThreadSpeech{ToldAt: r.Speech.ToldAt}
	}
	c.turnBegan()
	defer c.checkLimits()
	if r.Report != nil && r.Report.State != "" {
		again := *r.Report
		again.State = ""
		r.Report = &again
	}
	if p, ok := readPrompt(r.Prompt); ok && isQuestion(p.ID) {
		return
	}
	if r.Status == core.ThreadRunning {
		return
	}
	r.Status, r.StatusReason, r.Prompt, r.LoginURL, r.IdleSince = core.ThreadRunning, "", nil, "", nil
	former := c.by
	c.by = c.worksFor()
	c.event(core.EventThreadStatus, statusData{Status: string(core.ThreadRunning)})
	c.by = former
}

func (c *change) onBlocked(sig *core.AgentSignal) {
	r := c.rec
	if len(sig.Prompt) == 0 {
		return
	}
	c.tellOutput() // people read it before they answer
	r.Answer = nil // a prompt that comes again is open again
	r.Status, r.StatusReason, r.Prompt, r.IdleSince = core.ThreadBlocked, "", sig.Prompt, nil
	r.Ruling = c.t.decide(r)
	auto, answer := answers(r.Ruling), ""
	if auto {
		answer = r.Ruling.Answer
	}
	c.event(core.EventThreadBlocked, blockedData{Prompt: sig.Prompt, AutoAnswered: auto, Answer: answer, Ruling: r.Ruling})
	c.ruled(sig.Prompt, r.Ruling)
	if r.BlockedSince = nil; !auto {
		c.noticeBlocked()
	}
	c.after = append(c.after, func() { c.t.s.observer.PromptBlocked(auto) })
}

// unblock ends the open prompt; the turn goes on.
func (c *change) unblock() {
	r := c.rec
	r.Prompt = nil
	if r.Status == core.ThreadBlocked {
		r.Status, r.StatusReason, r.LoginURL = core.ThreadRunning, "", ""
	}
	c.event(core.EventThreadStatus, statusData{Status: statusUnblocked})
}

func (c *change) onLogin(sig *core.AgentSignal) {
	r := c.rec
	text := "The agent needs a login."
	if sig.LoginURL != "" {
		text = "The agent needs a login: open " + sig.LoginURL + " and follow what it says."
	}
	r.Answer = nil
	r.LoginURL, r.IdleSince = sig.LoginURL, nil
	r.Status, r.StatusReason = core.ThreadBlocked, core.ThreadReasonLogin
	r.Prompt = prompt{ID: wire.PromptLogin, Kind: wire.PromptLogin, Text: text, URL: sig.LoginURL}.encode()
	c.event(core.EventThreadBlocked, blockedData{Prompt: r.Prompt})
	c.noticeBlocked()
	c.after = append(c.after, func() { c.t.s.observer.PromptBlocked(false) })
	if w := r.Work; w != nil && w.Held && w.Ended != nil && w.Ended.Interrupted && r.Kind != core.ThreadKindRole {
		c.repeat(againLogin, false) // the turn ended because the credential did; the work is still to be done
	}
}

// addUp returns the artifacts of two reports, each once and the latest ones last. Of too many the oldest go.
func addUp(before, now []core.Artifact) []core.Artifact {
	all := slices.Clone(before)
	for _, a := range now {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all[max(0, len(all)-report.MaxArtifacts):]
}

func (c *change) onError(sig *core.AgentSignal) {
	word, _, _ := strings.Cut(sig.Reason, ":")
	r := c.rec
	if sig.Status != core.ManagedError || word == reasonUntaken || word == reasonLoginWord || r.Kind == core.ThreadKindRole {
		return
	}
	if word == core.ThreadReasonNotReady && r.Status == core.ThreadStarting {
		r.StatusReason = word // a slow machine is given more time, see checkTimers
		return
	}
	message := "the agent cannot go on: " + clip.Text(sig.Reason, 500)
	if sig.Text != "" {
		message += ": " + clip.Text(sig.Text, 2000)
	}
	c.fail(core.ThreadReasonCrashed, &core.ThreadError{Code: core.CodeAgentError, Message: message})
}

// ended decides what follows from the end of the agent. sure is false for an end that may be the first half of a
// restart by hand.
func (c *change) ended(reason string, exit *int, sure bool) {
	word, _, _ := strings.Cut(reason, ":")
	r := c.rec
	if r.Kind == core.ThreadKindRole && stoppedByHand(reason) {
		return // its execution, or a person, ended it: see endRole
	}
	switch {
	case word == core.ThreadReasonLost || word == "" && exit == nil:
		c.lost(reason)
	case stoppedByHand(reason):
		if sure {
			c.end(core.ThreadEnding{Status: core.ThreadStopped, State: core.CompletionPartial, Reason: core.ThreadReasonRequested})
		}
	case word == reasonExited && exit != nil && *exit == 0 && r.Report != nil && r.Report.State != "":
		c.end(core.ThreadEnding{Status: core.ThreadCompleted, State: r.Report.State})
	case word == reasonExited && exit != nil && *exit == 0 && r.Status != core.ThreadStarting:
		c.end(core.ThreadEnding{Status: core.ThreadStopped, State: core.CompletionPartial, Reason: reasonExited})
	case word == reasonAtStart && c.startAfresh(), word == reasonAtStart && c.startAgain(reason):
	default:
		message := "the agent ended by itself"
		if word == reasonAtStart {
			message = "the agent ended before it was ready"
		}
		if exit != nil {
			message += " with exit code " + strconv.Itoa(*exit)
		}
		if word == reasonRefused {
			message = "the host did not take the thread"
		}
		if word == reasonRefused || word == reasonExited || word == reasonAtStart { // these are reported already
			reason = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(reason, word), ":"))
		}
		if reason != "" {
			message += ": " + clip.Text(reason, 2000)
		}
		c.fail(core.ThreadReasonCrashed, &core.ThreadError{Code: core.CodeAgentError, Message: message})
	}
}

// stoppedByHand reports whether an agent ended because somebody stopped it.
func stoppedByHand(reason string) bool {
	word, _, _ := strings.Cut(reason, ":")
	return word == reasonStopped || word == reasonKilled
}
