package threads

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/threads/report"
)

// maxSaid bounds how many turns a summary is taken from.
const maxSaid = 20

// onTurn handles the end of a turn: what was said, a summary when one is due, and whether the work is done.
func (c *change) onTurn(sig *core.AgentSignal) {
	r := c.rec
	turn := r.TurnCount + 1
	if sig.Text != "" && !sameText(clip(sig.Text, maxText), r.LastText) {
		c.event(core.EventThreadOutput, outputData{Text: sig.Text, Turn: turn, Truncated: sig.Truncated})
		c.report(sig.Text)
		r.LastText = clip(sig.Text, maxText)
	}
	r.TurnCount = turn
	c.event(core.EventThreadTurnComplete, turnData{
		Output: sig.Text, Turn: turn, DurationMs: sig.DurationMs, Interrupted: sig.Interrupted, Truncated: sig.Truncated,
	})
	took := time.Duration(sig.DurationMs) * time.Millisecond
	c.after = append(c.after, func() { c.t.s.observer.TurnEnded(took) })
	if r.LastText != "" {
		if c.said = append(c.said[:len(c.said):len(c.said)], r.LastText); len(c.said) > maxSaid {
			c.said = c.said[len(c.said)-maxSaid:]
		}
	}
	if n := r.Policy.SummarizeAfterTurns; n > 0 && turn-r.SummaryTurn >= n {
		c.summarize(c.said)
		c.said = nil
	}
	c.cut = sig.Interrupted
	if sig.Interrupted && r.Report != nil && r.Report.State != "" {
		cut := *r.Report
		cut.State = ""
		r.Report = &cut
	}
	c.complete()
}

// sameText tells whether two texts differ in white space only.
func sameText(a, b string) bool {
	return a == b || strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
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
	r.Summary = clip(summary, maxSummary)
	c.event(core.EventThreadSummaryUpdated, summaryData{Summary: r.Summary, Turns: r.TurnCount})
	c.note(core.DecisionThreadSummary, r.Name+": "+r.Summary, map[string]any{"turns": turns, "turnCount": r.TurnCount})
}

// complete decides whether the work is done: the agent says so and nothing waits for it, or the policy does. A turn is
// over once the agent is ready, whichever of the two is told first.
func (c *change) complete() {
	r := c.rec
	if r.Kind == core.ThreadKindRole || r.Status != core.ThreadReady && r.Status != core.ThreadIdle {
		return
	}
	state := core.CompletionState("")
	if r.Report != nil {
		state = r.Report.State
	}
	switch n := r.Policy.CompleteAfterTurns; {
	case n > 0 && r.TurnCount >= n:
		if state == "" {
			state = core.CompletionComplete
		}
	case state == "" || r.InputSeq > r.SentSeq:
		return
	}
	c.end(core.ThreadEnding{Status: core.ThreadCompleted, State: state})
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
		switch {
		case r.Ending != nil:
			return errUnchanged
		case r.Status == core.ThreadStarting && r.StatusReason == core.ThreadReasonNotReady && idle >= readyWait:
			c.fail(core.ThreadReasonCrashed, &core.ThreadError{Code: core.CodeAgentError, Message: "the agent did not get ready in time"})
		case r.InputSeq > r.SentSeq:
			return errUnchanged
		case r.Status == core.ThreadReady && idle >= limit:
			at := c.now
			r.Status, r.IdleSince = core.ThreadIdle, &at
			c.event(core.EventThreadIdle, idleData{IdleMs: idle.Milliseconds()})
		case r.Status == core.ThreadIdle && idle >= idleFactor*limit:
			c.end(core.ThreadEnding{
				Status: core.ThreadStopped, State: core.CompletionPartial, Reason: core.ThreadReasonIdle,
				Summary: "Stopped after " + strconv.FormatInt(int64(idle/time.Second), 10) + " s without activity.",
			})
		default:
			return errUnchanged
		}
		return nil
	})
}
