package threads

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/threads/report"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxSaid bounds how many turns a summary is taken from.
const maxSaid = 20

// onTurn handles the end of a turn: what was said, a summary when one is due, and whether the work is done. A turn that
// failed has no text: it is no answer, and ends no work.
func (c *change) onTurn(sig *core.AgentSignal) {
	r := c.rec
	outcome := sig.TurnOutcome
	turn := r.TurnCount + r.FailedTurns + 1
	data := turnData{Turn: turn, DurationMs: sig.DurationMs, Truncated: sig.Truncated, TurnOutcome: outcome}
	if w := r.Work; w != nil && w.Held && w.Ended == nil && (!unsent(r) || lastTurnOf(w, &outcome)) {
		data.InputID, data.Again = w.InputID, triesAgain(r, &outcome)
	}
	if outcome.Error == nil {
		text := sig.Text
		data.Output = &text
		c.endSpeech(text, sig.Truncated)
		if text != "" {
			r.LastText = clip.Text(text, maxText)
		}
		r.TurnCount++
	} else {
		data.Truncated = false
		c.endSpeech("", false)
		r.LastText = ""
		r.FailedTurns++
	}
	r.LastTurn = &core.ThreadTurn{Turn: turn, DurationMs: wire.Millis(sig.DurationMs), TurnOutcome: outcome}
	c.addUsage(outcome.Usage)
	former := c.by
	c.by = c.worksFor()
	c.event(core.EventThreadTurnComplete, data)
	c.by = former
	took := time.Duration(sig.DurationMs) * time.Millisecond
	ended := c.now
	c.after = append(c.after, func() {
		c.t.s.observer.TurnEnded(took)
		c.t.s.traceTurn(r, turn, ended.Add(-took), ended, outcome.Error)
	})
	if r.LastText != "" {
		if c.said = append(c.said[:len(c.said):len(c.said)], r.LastText); len(c.said) > maxSaid {
			c.said = c.said[len(c.said)-maxSaid:]
		}
	}
	if n := r.Policy.SummarizeAfterTurns; n > 0 && outcome.Error == nil && r.TurnCount-r.SummaryTurn >= n {
		c.summarize(c.said)
		c.said = nil
	}
	if (outcome.Interrupted || outcome.Error != nil) && r.Report != nil && r.Report.State != "" {
		cut := *r.Report
		cut.State = ""
		r.Report = &cut
	}
	c.turnEnded(&outcome)
	c.complete()
}

// traceTurn reports a turn that is over. A role's turns are traced with its tasks.
func (s *Service) traceTurn(r *core.ThreadRecord, turn int, began, ended time.Time, failure *wire.TurnError) {
	asked := core.ParseTraceparent(r.Trace)
	if !asked.Sampled || r.Kind == core.ThreadKindRole {
		return
	}
	span := core.Span{
		Trace: s.opts.Tracer.Begin(asked), Parent: asked.SpanID, Name: "agent turn", Start: began, End: ended,
		Attributes: []core.SpanAttribute{
			{Key: "wardroom.execution.id", Text: r.ExecutionID}, {Key: "wardroom.thread.id", Text: r.ID},
			{Key: "wardroom.agent.type", Text: r.AgentType}, {Key: "wardroom.turn", Number: int64(turn)},
		},
	}
	if failure != nil {
		span.Failed = failure.Code
	}
	s.opts.Tracer.Record(span)
}

// addUsage adds what a turn used to the sum. What the agent does not tell is not known, and not guessed.
func (c *change) addUsage(u *wire.Usage) {
	if u == nil {
		return
	}
	sum := wire.Usage{}
	if c.rec.Usage != nil {
		sum = *c.rec.Usage
	}
	sum.Add(u)
	c.rec.Usage = &sum
}

// summarize takes a summary of the turns since the last one: the agent's own, if it gave one.
func (c *change) summarize(said []string) {
	r := c.rec
	turns := r.TurnCount - r.SummaryTurn
	r.SummaryTurn = r.TurnCount
	summary := ""
	if r.Report != nil {
		summary = r.Report.Summary
	}
	if summary == "" || summary == r.Summary {
		if extract := report.Summarize(said); extract != "" {
			summary = extract
		}
	}
	if summary == "" {
		return // nothing was said
	}
	r.Summary = clip.Text(summary, maxSummary)
	c.event(core.EventThreadSummaryUpdated, summaryData{Summary: r.Summary, Turns: r.TurnCount})
	c.note(core.DecisionThreadSummary, r.Name+": "+r.Summary, map[string]any{"turns": turns, "turnCount": r.TurnCount})
}

// complete decides whether the work is done: the agent says so and nothing waits for it, or the policy does. A turn is
// over once the agent is ready, whichever of the two is reported first. One that was interrupted completes nothing.
func (c *change) complete() {
	r := c.rec
	if r.Kind == core.ThreadKindRole || r.Ending != nil || r.Status != core.ThreadReady && r.Status != core.ThreadIdle {
		return
	}
	state := core.CompletionState("")
	if r.Report != nil {
		state = r.Report.State
	}
	interrupted := r.LastTurn != nil && r.LastTurn.Interrupted
	switch n := r.Policy.CompleteAfterTurns; {
	case n > 0 && r.TurnCount >= n && !interrupted:
		switch {
		case state != "":
		case r.LastTurn != nil && r.LastTurn.Refused && strings.TrimSpace(r.LastText) == "":
			state = core.CompletionPartial // an approval was refused, and nothing came of it
		default:
			state = core.CompletionComplete
		}
		c.end(core.ThreadEnding{Status: core.ThreadCompleted, State: state})
	case state != "" && waits(r) == 0:
		c.end(core.ThreadEnding{Status: core.ThreadCompleted, State: state})
	default:
		c.checkLimits()
	}
}

// checkLimits decides that a thread stops which reached a limit of its policy. It is called between turns: what a turn
// uses is reported with its end.
func (c *change) checkLimits() {
	r := c.rec
	p := &r.Policy
	turns, reached := r.TurnCount+r.FailedTurns, ""
	switch {
	case r.Kind == core.ThreadKindRole:
	case p.MaxTurns > 0 && turns >= p.MaxTurns:
		reached = fmt.Sprintf("%d of %d turns (policy.maxTurns)", turns, p.MaxTurns)
	case p.MaxTokens > 0 && r.Usage.Tokens() >= p.MaxTokens:
		reached = fmt.Sprintf("%d of %d tokens (policy.maxTokens)", r.Usage.Tokens(), p.MaxTokens)
	case p.MaxCost > 0 && r.Usage != nil && r.Usage.CostUSD != nil && *r.Usage.CostUSD >= p.MaxCost:
		reached = fmt.Sprintf("%.4g of %.4g US dollars (policy.maxCost)", *r.Usage.CostUSD, p.MaxCost)
	}
	if reached != "" {
		c.end(core.ThreadEnding{
			Status: core.ThreadStopped, State: core.CompletionPartial, Reason: core.ThreadReasonLimit + ": " + reached,
		})
	}
}

// nextTimer is how long it is until something is due by the clock.
func (t *thread) nextTimer() time.Duration {
	r := t.record()
	next := maxPolicyTime
	if s := r.Speech; s != nil && s.Pending != "" {
		next = min(next, untilOutput(s, t.s.clock.Now()))
	}
	if r.RetryAt != nil {
		next = min(next, t.untilRetry(r))
	}
	return min(next, t.untilAlert(r), t.nextStage(r))
}

// untilRetry is how long the message of a failed turn still waits. A clock that was set back does not hold it for ever.
func (t *thread) untilRetry(r *core.ThreadRecord) time.Duration {
	left := t.untilAt(*r.RetryAt)
	if left > max(maxTurnRetryDelay, t.s.config.Load().TurnRetryDelay) {
		return 0
	}
	return left
}

// nextStage is how long it is until a thread that nothing happens to is idle, stopped or failed.
func (t *thread) nextStage(r *core.ThreadRecord) time.Duration {
	limit := time.Duration(r.Policy.IdleTimeoutMs) * time.Millisecond
	switch {
	case r.Kind == core.ThreadKindRole:
		return maxPolicyTime
	case r.Status == core.ThreadStarting && r.StatusReason == core.ThreadReasonNotReady:
		return min(readyWait, t.untilAt(r.LastActivityAt.Add(readyWait)))
	case limit <= 0 || waits(r) > 0:
		return maxPolicyTime
	}
	switch r.Status {
	case core.ThreadReady:
		return min(limit, t.untilAt(r.LastActivityAt.Add(limit)))
	case core.ThreadIdle:
		return min(idleFactor*limit, t.untilAt(r.LastActivityAt.Add(idleFactor*limit)))
	}
	return maxPolicyTime
}

// checkTimers does what is due by the clock.
func (t *thread) checkTimers(ctx context.Context) {
	if t.nextTimer() > 0 {
		return
	}
	t.must(ctx, func(c *change) error {
		r := c.rec
		idle := c.now.Sub(r.LastActivityAt)
		limit := time.Duration(r.Policy.IdleTimeoutMs) * time.Millisecond
		if r.Ending != nil {
			return errUnchanged
		}
		due := false
		if s := r.Speech; s != nil && s.Pending != "" && untilOutput(s, c.now) <= 0 {
			c.tellOutput()
			due = true
		}
		if r.RetryAt != nil && c.t.untilRetry(r) <= 0 {
			r.RetryAt = nil
			if r.StatusReason == core.ThreadReasonRetrying {
				r.StatusReason = ""
			}
			due = true
		}
		if c.t.untilAlert(r) <= 0 {
			c.alertWait()
			due = true
		}
		switch {
		case r.Status == core.ThreadStarting && r.StatusReason == core.ThreadReasonNotReady && idle >= readyWait:
			c.fail(core.ThreadReasonCrashed, &core.ThreadError{Code: core.CodeAgentError, Message: "the agent did not get ready in time"})
		case limit <= 0 || waits(r) > 0 || r.Kind == core.ThreadKindRole:
			if !due {
				return errUnchanged
			}
		case r.Status == core.ThreadReady && idle >= limit:
			at := c.now
			r.Status, r.IdleSince = core.ThreadIdle, &at
			c.event(core.EventThreadIdle, idleData{IdleMs: idle.Milliseconds()})
		case r.Status == core.ThreadIdle && idle >= idleFactor*limit:
			c.end(core.ThreadEnding{
				Status: core.ThreadStopped, State: core.CompletionPartial, Reason: core.ThreadReasonIdle,
				Summary: "Stopped after " + strconv.FormatInt(int64(idle/time.Second), 10) + " s without activity.",
			})
		case !due:
			return errUnchanged
		}
		return nil
	})
}
