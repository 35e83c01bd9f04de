package threads

import (
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// startsAgain reports whether the agent of a thread is gone and is to be started again.
func startsAgain(r *core.ThreadRecord) bool {
	return r.Status == core.ThreadStarting && (r.StatusReason == core.ThreadReasonRestarting || r.StatusReason == core.ThreadReasonAgain)
}

// startAgain decides on another start of an agent that ended before it was ready. It returns false when that is not
// to be: it was ready before, or it was started often enough.
func (c *change) startAgain(reason string) bool {
	r := c.rec
	if r.Kind == core.ThreadKindRole || r.Runtime == core.RuntimeConnected || r.Status != core.ThreadStarting || r.Restarts > 0 || r.SentSeq > 0 || r.TurnCount > 0 ||
		r.Policy.MaxRestarts == nil || c.starts >= min(maxStarts, *r.Policy.MaxRestarts) {
		return false
	}
	c.starts++
	r.StatusReason = core.ThreadReasonAgain
	c.event(core.EventThreadStatus, statusData{Status: core.ThreadReasonRestarting, Reason: reason})
	return true
}

// lost decides what follows from an agent that is gone without an end of its own: it comes back with its session, or
// the thread fails.
func (c *change) lost(reason string) {
	r := c.rec
	if startsAgain(r) {
		return // it was reported in two ways
	}
	most := 0
	if r.Policy.MaxRestarts != nil {
		most = *r.Policy.MaxRestarts
	}
	if r.Kind == core.ThreadKindRole || r.Restarts >= most {
		c.fail(core.ThreadReasonLost, &core.ThreadError{Code: core.CodeAgentError, Message: lostMessage(reason)})
		return
	}
	c.interruptWork(againLost)
	r.Status, r.StatusReason = core.ThreadStarting, core.ThreadReasonRestarting
	r.Prompt, r.LoginURL, r.IdleSince = nil, "", nil
	c.event(core.EventThreadStatus, statusData{Status: core.ThreadReasonRestarting, Reason: reason})
}

func lostMessage(reason string) string {
	if reason == "" || reason == core.ThreadReasonLost {
		return "the agent was lost, and was not brought back"
	}
	return "the agent was lost (" + clip.Text(reason, 500) + "), and was not brought back"
}

// restart brings a lost agent back with its session.
func (t *thread) restart() {
	ctx := t.work
	var retry pause.Backoff
	for tries := 1; ; {
		a, final, err := t.revive()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			if t.record().StatusReason == core.ThreadReasonAgain {
				t.must(ctx, func(c *change) error {
					c.rec.StatusReason, c.rec.LastActivityAt = "", c.now
					return nil
				})
				return
			}
			t.must(ctx, func(c *change) error {
				c.rec.Restarts++
				c.rec.StatusReason = ""
				c.started(a)
				c.note(core.DecisionFailureRecovery, "The agent of thread "+c.rec.Name+" was lost and went on with its session.",
					map[string]any{"restart": c.rec.Restarts, "managedAgentId": a.ID})
				return nil
			})
			t.s.observer.ThreadRestarted()
			return
		}
		if !runtimecode.Passing(err) {
			if final || tries >= maxTries {
				t.must(ctx, func(c *change) error {
					c.fail(core.ThreadReasonLost, &core.ThreadError{
						Code: core.CodeAgentError, Message: lostMessage(core.AsError(err).Message),
					})
					return nil
				})
				return
			}
			tries++
		}
		t.log.Info("a lost agent cannot be brought back yet", "error", err)
		if !t.s.pause(ctx, retry.Next()) {
			return
		}
	}
}

// revive starts the agent again, unless that was done just before a crash of ours. final reports that another try cannot
// succeed: there is nothing of the agent, or its workspace is not here, as in a copy of a data folder.
func (t *thread) revive() (a *core.ManagedAgent, final bool, err error) {
	if err := t.s.takeStart(t.work); err != nil {
		return nil, false, err
	}
	defer t.s.giveStart()
	r := t.record()
	a, err = t.s.opts.ManagedAgents.FindManagedAgent(t.work, r.ManagedAgentID)
	if err == nil && a.Gone() {
		if r.Workspace != nil {
			if _, err := t.s.opts.Workspaces.ProvisionWorkspace(t.work, r.Workspace.ID); err != nil {
				return nil, core.ErrorCode(err) == core.CodeConflict, err
			}
		}
		a, err = t.s.opts.ManagedAgents.RestartManagedAgent(t.work, r.ManagedAgentID, core.ManagedAgentRestart{})
	}
	return a, core.ErrorCode(err) == core.CodeNotFound, err
}
