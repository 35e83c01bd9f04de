package threads

import (
	"context"
	"errors"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

// maxCarried bounds the messages that a thread takes over from the one that it goes on with.
const maxCarried = 1000

// continuation is a thread that is over, and what another takes over from it.
type continuation struct {
	old   *core.ThreadRecord
	left  []*core.QueuedInput // that got no answer, in order
	asked bool                // a message comes behind them: the objective of the new one
}

// errWithdrawn is that a message was withdrawn since the queue was read.
var errWithdrawn = errors.New("a message was withdrawn")

// ContinueThread implements core.ThreadService. The old thread stays as it ended: a new one has its workspace, its
// session and the messages that got no answer, and both name the other.
func (s *Service) ContinueThread(ctx context.Context, id string, in core.ThreadContinue) (*core.Thread, error) {
	if in.Message != "" {
		if err := checkInput(core.ThreadInput{Message: in.Message}); err != nil {
			return nil, err
		}
	}
	if len(in.Message) > maxObjective || !utf8.ValidString(in.Message) {
		return nil, core.Invalid("message", "must be at most %d KiB of valid UTF-8", maxObjective>>10)
	}
	for tries := 1; ; tries++ {
		next, err := s.continueThread(ctx, id, in)
		switch {
		case !errors.Is(err, errWithdrawn):
			return next, err
		case tries >= maxTries:
			return nil, core.Conflict("thread", id, "", "messages of the thread were withdrawn meanwhile; look at its queue and try again")
		}
	}
}

// continueThread is ContinueThread with what the thread and its queue are now. errWithdrawn.
func (s *Service) continueThread(ctx context.Context, id string, in core.ThreadContinue) (*core.Thread, error) {
	old, err := s.opts.Store.FindThread(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := continues(old); err != nil {
		return nil, err
	}
	from := &continuation{old: old, asked: strings.TrimSpace(in.Message) != ""}
	if !in.DiscardQueued {
		if from.left, err = s.left(ctx, id); err != nil {
			return nil, err
		}
	}
	switch {
	case len(from.left) > maxCarried:
		return nil, core.Conflict("thread", id, string(old.Status), "more than %d messages wait in the thread; withdraw some, or discard them", maxCarried)
	case len(from.left) == 0 && !from.asked:
		return nil, core.Invalid("message", "is missing: no message waits in the thread, so say what is to be done")
	}
	env, err := s.openEnv(id, old.SealedEnv)
	if err != nil {
		return nil, err
	}
	if env == nil {
		env = in.Env
	} else {
		maps.Copy(env, in.Env)
	}
	spec := core.ThreadSpec{
		ExecutionID: old.ExecutionID, Name: old.Name, AgentType: old.AgentType, Role: old.Role, Objective: old.Objective,
		Preparation: core.Preparation{
			Workspace: &core.WorkspaceSpec{WorkspaceID: old.Workspace.ID}, Approval: old.Preparation.Approval, Env: env,
		},
		Policy: old.Policy, Metadata: withoutMemory(old.Metadata), Runtime: old.Runtime, Sanitized: in.Sanitized,
	}
	if in.Message != "" {
		spec.Objective = in.Message
	}
	if err := s.checkExecution(ctx, old.ExecutionID); err != nil {
		spec.ExecutionID = core.NewExecution // the old one is over
	}
	return s.spawnThread(ctx, spec, from)
}

// left returns the messages of a thread that is over which got no answer, or more of them than another thread takes over.
func (s *Service) left(ctx context.Context, id string) ([]*core.QueuedInput, error) {
	var list []*core.QueuedInput
	for in, err := range s.inputs(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		if list = append(list, in); len(list) > maxCarried {
			break
		}
	}
	return list, nil
}

// continues reports whether another thread can go on with one.
func continues(old *core.ThreadRecord) error {
	conflict := func(format string, args ...any) error {
		return core.Conflict("thread", old.ID, string(old.Status), format, args...)
	}
	switch {
	case !old.Status.Terminal():
		return conflict("the thread is %s; send it a message instead", old.Status)
	case old.Kind == core.ThreadKindRole:
		return conflict("the thread served a role of an org chart; its execution decides how that goes on")
	case old.Runtime == core.RuntimeConnected || old.Workspace == nil:
		return conflict("the thread had no workspace here; spawn another one")
	case old.ContinuedBy != "":
		return conflict("the thread %s goes on with it already", old.ContinuedBy)
	}
	return nil
}

// take stores, in the transaction of the new thread, that it goes on with the old one. errWithdrawn.
func (from *continuation) take(tx core.Tx, r *core.ThreadRecord) error {
	latest, err := tx.FindThread(from.old.ID)
	if err != nil {
		return err
	}
	if err := continues(latest); err != nil {
		return err
	}
	if latest.Withdrawals != from.old.Withdrawals {
		return errWithdrawn
	}
	next := *latest
	next.ContinuedBy, next.UpdatedAt, next.Work, next.SentSeq, next.QueuedInputs = r.ID, r.CreatedAt, nil, next.InputSeq, 0
	next.Withdrawn, next.SealedEnv = 0, nil
	if err := tx.PutThread(&next); err != nil {
		return err
	}
	if next.InputSeq == 0 {
		return nil
	}
	return tx.DeleteInputs(next.ID, next.InputSeq)
}

// firstInputs are the messages that a new thread begins with.
func (s *Service) firstInputs(r *core.ThreadRecord, from *continuation) []*core.QueuedInput {
	var list []*core.QueuedInput
	add := func(id, message string) {
		list = append(list, &core.QueuedInput{ID: id, ThreadID: r.ID, Number: uint64(len(list) + 1), Message: message, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy})
	}
	if from == nil {
		if message := firstMessage(r); message != "" {
			add(s.opts.IDs.New(core.PrefixInput), message)
		}
		return list
	}
	for _, in := range from.left {
		add(s.opts.IDs.New(core.PrefixInput), in.Message)
	}
	if from.asked || len(list) == 0 {
		add(s.opts.IDs.New(core.PrefixInput), firstMessage(r))
	}
	if r.SessionID == "" && told[r.AgentType] && len(list) > 0 { // the agent knows nothing of it
		list[0].Message = earlierWork(from.old) + "\n\n" + list[0].Message
	}
	return list
}

// earlierWork tells an agent without a session what it goes on with.
func earlierWork(old *core.ThreadRecord) string {
	text := "(You go on with earlier work in this directory. It was asked for:\n" + clip.Text(old.Objective, maxSummary)
	if old.Summary != "" {
		text += "\nWhat came of it: " + clip.Text(old.Summary, maxSummary)
	}
	return text + ")"
}

// resumes reports whether the agent of a thread was started with the session of the thread that this one goes on with,
// and was not ready yet.
func resumes(r *core.ThreadRecord) bool {
	return r.Continues != "" && r.SessionID != "" && r.FormerAgentID == "" && r.SentSeq == 0 && r.TurnCount+r.FailedTurns == 0
}

// startAfresh gives up a session that could not be resumed: another agent is started without it, and is told what it
// goes on with. It returns false when that is not what ended the agent.
func (c *change) startAfresh() bool {
	r := c.rec
	if !resumes(r) || r.Status != core.ThreadStarting || !told[r.AgentType] {
		return false
	}
	old, err := c.t.s.opts.Store.FindThread(c.t.work, r.Continues)
	if err != nil {
		return false
	}
	for in, err := range c.t.s.inputs(c.t.work, r.ID, 0) {
		if err != nil {
			return false
		}
		first := *in
		first.Message = earlierWork(old) + "\n\n" + in.Message
		c.freed -= int64(len(first.Message) - len(in.Message))
		c.extra = append(c.extra, func(tx core.Tx) error { return tx.PutInput(&first) })
		break
	}
	gone, t := r.ManagedAgentID, c.t
	r.FormerAgentID, r.ManagedAgentID, r.SessionID = gone, "", ""
	c.event(core.EventThreadStatus, statusData{Status: core.ThreadReasonRestarting, Reason: "the session could not be resumed"})
	c.after = append(c.after, func() {
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		delete(t.s.crew, gone)
	})
	return true
}
