package threads

import (
	"cmp"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Reasons of a message that is handed over again, beside the codes of turns that failed.
const (
	againLost      = "lost"      // its agent was
	againRestarted = "restarted" // somebody restarted it
	againRefused   = "refused"   // its host did not take it
	againLogin     = "login"     // its turn was cut off because a credential ended
)

// Texts for an agent that was gone within a turn.
const (
	goOnText    = "(The session broke off and was resumed. Go on with what you were doing.)"
	goOnNewText = "(The session broke off before the work was done. Look at what is there already, and go on.)"
)

// waits returns how many messages wait for the agent, one that is to be handed over again included.
func waits(r *core.ThreadRecord) int {
	n := int(r.InputSeq-r.SentSeq) - r.Withdrawn
	if again(r) && r.Work.Number > 0 && r.Work.Number <= r.SentSeq {
		n++
	}
	return n
}

// again reports whether something is to be handed over again before all others.
func again(r *core.ThreadRecord) bool { return r.Work != nil && !r.Work.Held }

// feedable reports whether the agent waits for the next message.
func feedable(r *core.ThreadRecord) bool {
	return r.Ending == nil && r.RetryAt == nil && (again(r) || unsent(r) || r.InputSeq > r.SentSeq) &&
		(r.Status == core.ThreadReady || r.Status == core.ThreadIdle)
}

// undecided reports whether a turn runs that may be of what is being handed over, of which an earlier process of ours did not
// hear: the agent knows, and is asked.
func undecided(r *core.ThreadRecord) bool {
	return r.Ending == nil && unsent(r) && r.Work.Begun && !r.Work.Refused && r.Status == core.ThreadRunning
}

// unsent reports whether something is being handed over, and it is not known whether the agent took it.
func unsent(r *core.ThreadRecord) bool {
	return r.Work != nil && r.Work.Held && !r.Work.Taken
}

// workKey is the key that the agent knows this attempt by.
func workKey(w *core.ThreadWork) string {
	if w.Attempt == 0 {
		return w.InputID
	}
	return w.InputID + ".a" + strconv.Itoa(w.Attempt)
}

// setWork replaces the work by what fn makes of a copy of it.
func (c *change) setWork(fn func(w *core.ThreadWork)) {
	next := *c.rec.Work
	fn(&next)
	c.rec.Work = &next
}

// open notes that a message is about to be handed over. in is nil for a word to go on. An event tells when that is not
// the first time.
func (c *change) open(in *core.QueuedInput) {
	r := c.rec
	if r.Work != nil && (in == nil || r.Work.Number == in.Number) {
		if r.Work.Held {
			return
		}
		c.setWork(func(w *core.ThreadWork) {
			w.Held = true
			w.Resume = w.Resume && w.SessionID == r.SessionID || w.Number == 0
		})
		status := statusRepeated
		if r.Work.Resume {
			status = statusResumed
		}
		c.event(core.EventThreadStatus, statusData{Status: status, Reason: r.Work.Reason, InputID: r.Work.InputID})
		return
	}
	c.closeWork()
	r.Work = &core.ThreadWork{InputID: in.ID, Number: in.Number, By: in.CreatedBy, Held: true}
}

// closeWork forgets the message whose turn is over.
func (c *change) closeWork() {
	w := c.rec.Work
	if w == nil {
		return
	}
	c.rec.Work = nil
	if id, upTo := c.t.id, w.Number; upTo > 0 {
		c.extra = append(c.extra, func(tx core.Tx) error { return tx.DeleteInputs(id, upTo) })
	}
}

// repeat has the message that the agent works on handed over again, before all others. With resume its session has
// the message, and the agent is told to go on.
func (c *change) repeat(reason string, resume bool) {
	session := c.rec.SessionID
	c.setWork(func(w *core.ThreadWork) {
		w.Attempt++
		w.Held, w.Taken, w.Refused, w.Begun, w.Ended, w.Reason = false, false, false, false, nil, reason
		w.Resume, w.SessionID = resume && session != "", session
	})
}

// repeatLater is repeat after a while, which grows with the number of attempts that failed before.
func (c *change) repeatLater(reason string, resume bool, failed int) {
	r := c.rec
	at := c.now.Add(c.t.s.config.Load().retryWait(failed))
	c.repeat(reason, resume)
	r.RetryAt = &at
	if r.Status == core.ThreadReady {
		r.StatusReason = core.ThreadReasonRetrying
	}
	c.event(core.EventThreadStatus, statusData{Status: core.ThreadReasonRetrying, Reason: reason, InputID: r.Work.InputID})
}

// interruptWork keeps what an agent worked on that is gone: it is handed over again, or the agent goes on with it.
func (c *change) interruptWork(reason string) {
	r := c.rec
	switch {
	case r.Kind == core.ThreadKindRole: // the engine's
	case r.Work != nil && !r.Work.Held: // it waits already
	case r.Work != nil && r.Work.Ended == nil:
		c.repeat(reason, r.Work.Begun || r.Work.Number == 0)
	case r.Status == core.ThreadRunning || r.Status == core.ThreadBlocked: // a turn that somebody else began
		c.closeWork()
		r.Work = &core.ThreadWork{
			InputID: c.t.s.opts.IDs.New(core.PrefixInput), Resume: true, SessionID: r.SessionID, Reason: reason,
		}
	}
}

// workText is what the agent is given: the message, or a word to go on. in is nil when the work is in no queue.
func workText(r *core.ThreadRecord, in *core.QueuedInput) string {
	switch {
	case !r.Work.Resume:
		return in.Message
	case r.SessionID == "" && r.Objective != "":
		return goOnNewText + "\n\n" + firstMessage(r)
	}
	return goOnText
}

// worksFor returns the principal whose message the agent works on; System.ID where that is not known.
func (c *change) worksFor() string {
	if w := c.rec.Work; w != nil && w.Held && !w.Refused {
		return cmp.Or(w.By, c.by)
	}
	return c.by
}

// turnBegan notes that a turn began. One that begins behind the end of another is not that of the message that the
// other was taken for.
func (c *change) turnBegan() {
	w := c.rec.Work
	switch {
	case w == nil || !w.Held || w.Refused:
	case w.Ended == nil || unsent(c.rec):
		c.setWork(func(w *core.ThreadWork) { w.Begun, w.Ended = true, nil })
	default:
		c.closeWork()
	}
}

// lastTurnOf reports whether a turn that its agent did not outlive is taken for that of a message which is being handed
// over: it began since, and the word of the agent that took the message comes too late to say so.
func lastTurnOf(w *core.ThreadWork, o *wire.TurnOutcome) bool {
	return w.Begun && !w.Refused && o.Error != nil && o.Error.Code == wire.TurnAgentEnded
}

// turnEnded decides what follows for the message of a turn that ended.
func (c *change) turnEnded(o *wire.TurnOutcome) {
	w := c.rec.Work
	if w == nil || !w.Held || w.Refused || o.Error != nil && o.Error.Code == wire.TurnAgentEnded {
		return // somebody else's turn; or the end of the agent, which is reported next, decides
	}
	if unsent(c.rec) || o.Interrupted {
		c.setWork(func(w *core.ThreadWork) { w.Ended = &wire.TurnOutcome{Interrupted: o.Interrupted, Error: o.Error} })
		return
	}
	c.settleWork(o)
}

// settleWork forgets a message that has its answer. One whose turn failed is given again after a while, if that may
// help, and not for ever; else the thread fails.
func (c *change) settleWork(o *wire.TurnOutcome) {
	r := c.rec
	switch {
	case r.Ending != nil:
	case o.Error == nil:
		c.closeWork()
	case triesAgain(r, o):
		c.repeatLater(o.Error.Code, false, r.Work.Failures)
		c.setWork(func(w *core.ThreadWork) { w.Failures++ })
	default:
		message := turnFailure(r, o.Error)
		if n := r.Work.Failures; n > 0 {
			message += " (after " + strconv.Itoa(n) + " more attempts)"
		}
		c.end(core.ThreadEnding{
			Status: core.ThreadFailed, State: core.CompletionFailed, Reason: core.ThreadReasonTurnFailed, Summary: message,
			Error: &core.ThreadError{Code: core.CodeAgentError, Message: message},
		})
	}
}

// triesAgain reports whether the message of a turn that ended so is given to the agent again.
func triesAgain(r *core.ThreadRecord, o *wire.TurnOutcome) bool {
	if r.Ending != nil || o.Error == nil {
		return false
	}
	return o.Error.Retryable && o.Error.Code != wire.TurnAgentEnded && r.Work.Failures < retries(r) ||
		o.Error.Code == wire.TurnLoginRequired && r.Work.Failures < max(1, retries(r))
}

// turnFailure says for people why the last turn failed.
func turnFailure(r *core.ThreadRecord, e *wire.TurnError) string {
	turn := r.TurnCount + r.FailedTurns
	return "turn " + strconv.Itoa(turn) + " failed: " + e.Code + ": " + clip.Text(e.Message, 2000)
}

func retries(r *core.ThreadRecord) int {
	if r.Policy.TurnRetries == nil {
		return 0
	}
	return *r.Policy.TurnRetries
}

// retryWait is how long a message waits after so many failed turns of it and one more.
func (c *Config) retryWait(failures int) time.Duration {
	return min(c.TurnRetryDelay<<min(failures, 16), max(c.TurnRetryDelay, maxTurnRetryDelay))
}
