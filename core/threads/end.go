package threads

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/threads/report"
	"github.com/wardroom/wardroom/sdk/wire"
)

// outcome is what the transaction of an end tells besides.
type outcome struct {
	keep bool // the thread is still to be known as one of its execution, which is an ad-hoc one that goes on
}

// conclude makes the thread terminal, with everything that follows from that.
func (c *change) conclude(out *outcome) error {
	r := c.rec
	if r.Ending == nil || r.Status.Terminal() {
		return errUnchanged
	}
	e := *r.Ending
	at := c.now
	c.by = cmp.Or(e.By, c.by) // its end is what was asked for
	c.tellOutput()
	r.Status, r.StatusReason, r.EndedAt = e.Status, e.Reason, &at
	r.Error = e.Error
	r.Completion = c.completion(&e)
	r.Summary = r.Completion.Summary
	said := dataOfCompletion(r.Completion)
	switch e.Status {
	case core.ThreadCompleted:
		r.StatusReason = ""
		c.event(core.EventThreadCompleted, completedData{Completion: said})
	case core.ThreadFailed:
		r.Error = cmp.Or(r.Error, &core.ThreadError{Code: core.CodeAgentError, Message: "the thread failed"})
		c.event(core.EventThreadFailed, failedData{Error: r.Error, Completion: said})
	default:
		c.event(core.EventThreadStopped, stoppedData{Reason: e.Reason, Completion: said})
	}
	c.noticeEnd()
	if e.Status != core.ThreadStopped || r.TurnCount > 0 {
		c.note(core.DecisionCompletionOutcome, r.Name+" ("+string(e.Status)+", "+string(e.State)+"): "+r.Completion.Summary, nil)
		c.experience = c.lesson()
	}
	id, upTo, ws := r.ID, c.leaveQueue(&e), r.Workspace
	c.freed = c.t.waiting
	r.Ending, r.Report, r.LastText, r.Prompt, r.LoginURL, r.IdleSince = nil, nil, "", nil, "", nil
	if continues(r) != nil {
		r.SealedEnv = nil // nothing needs it any more
	}
	r.Speech, r.RetryAt, r.BlockedSince = nil, nil, nil
	c.extra = append(c.extra, func(tx core.Tx) error {
		if upTo > 0 {
			if err := tx.DeleteInputs(id, upTo); err != nil {
				return err
			}
		}
		if ws != nil {
			return c.release(tx, ws.ID)
		}
		return nil
	})
	// The thread is terminal, and its events are written, before its execution may end with it.
	c.last = func(tx core.Tx) (err error) {
		*out, err = c.t.s.endAdHoc(tx, r.ExecutionID, at)
		return err
	}
	return nil
}

// leaveQueue decides what becomes of the messages that got no answer: those of a thread that failed, or reached a
// limit, stay with it. It returns the number up to which inputs go.
func (c *change) leaveQueue(e *core.ThreadEnding) (upTo uint64) {
	r := c.rec
	word, _, _ := strings.Cut(e.Reason, ":")
	if e.Status != core.ThreadFailed && word != core.ThreadReasonLimit {
		r.Work, r.SentSeq, r.Withdrawn = nil, r.InputSeq, 0
		return r.InputSeq
	}
	if w := r.Work; w != nil && w.Held && (w.Ended != nil && w.Ended.Error == nil || w.Number == 0) {
		r.SentSeq = max(r.SentSeq, w.Number) // it may not be known yet that the agent took it
		r.Work = nil                         // it has its answer, or is no message
	} else if w != nil && w.Held {
		c.repeat("", false)
	}
	if r.Work != nil && r.Work.Number > 0 {
		return r.Work.Number - 1
	}
	r.Work = nil
	return r.SentSeq
}

// release gives the workspace back. The record shows what became of it.
func (c *change) release(tx core.WorkspaceTx, id string) error {
	err := c.t.s.opts.Workspaces.ReleaseWorkspace(tx, id)
	if err == nil {
		var ws *core.Workspace
		if ws, err = tx.FindWorkspace(id); err == nil {
			c.rec.Workspace = ws
		}
	}
	if core.ErrorCode(err) == core.CodeNotFound {
		return nil
	}
	return err
}

// summaryOf is the summary of an end: the one that was given, the agent's, or one that is taken from what it said.
func (c *change) summaryOf(e *core.ThreadEnding) string {
	r := c.rec
	switch {
	case e.Summary != "":
		return clip.Text(e.Summary, maxSummary)
	case r.Report != nil && r.Report.Summary != "":
		return clip.Text(r.Report.Summary, maxSummary)
	}
	said := c.said
	if len(said) == 0 || r.LastText != "" && said[len(said)-1] != r.LastText {
		said = append(slices.Clone(said), r.LastText)
	}
	if text := report.Summarize(said); text != "" {
		return clip.Text(text, maxSummary)
	}
	if r.Summary != "" {
		return r.Summary
	}
	if e.Error != nil {
		return clip.Text(e.Error.Message, maxSummary)
	}
	return "The agent said nothing."
}

// completion is the outcome of the thread.
func (c *change) completion(e *core.ThreadEnding) *core.Completion {
	done := &core.Completion{State: e.State, Summary: c.summaryOf(e), Artifacts: slices.Clone(e.Artifacts), Changes: e.Changes}
	if report := c.rec.Report; report != nil {
		done.Tests = report.Tests
		for _, a := range report.Artifacts {
			if !slices.Contains(done.Artifacts, a) {
				done.Artifacts = append(done.Artifacts, a)
			}
		}
	}
	if e.Changes != nil {
		for _, commit := range e.Changes.Commits {
			a := core.Artifact{Type: core.ArtifactCommit, Value: commit.Hash}
			if !slices.Contains(done.Artifacts, a) {
				done.Artifacts = append(done.Artifacts, a)
			}
		}
	}
	if done.Artifacts == nil {
		done.Artifacts = []core.Artifact{}
	}
	return done
}

// lessonData is what an experience tells in detail.
type lessonData struct {
	Changes    *changesData      `json:"changes,omitempty"`
	Tests      *core.TestReport  `json:"tests,omitempty"`
	Artifacts  []core.Artifact   `json:"artifacts,omitempty"`
	Error      *core.ThreadError `json:"error,omitempty"`
	Turns      int               `json:"turns"`
	DurationMs int64             `json:"durationMs"`
	AgentType  string            `json:"agentType"`
}

// Bounds of what an experience tells of a repository.
const (
	lessonCommits = 20
	lessonFiles   = 50
)

// lesson is the experience that the thread leaves.
func (c *change) lesson() *core.Experience {
	r := c.rec
	outcome := core.ExperiencePartial
	switch {
	case r.Status == core.ThreadFailed || r.Completion.State == core.CompletionFailed:
		outcome = core.ExperienceFailed
	case r.Status == core.ThreadCompleted && r.Completion.State == core.CompletionComplete:
		outcome = core.ExperienceSuccessful
	}
	data := lessonData{
		Tests: r.Completion.Tests, Artifacts: r.Completion.Artifacts, Error: r.Error, Turns: r.TurnCount,
		DurationMs: r.Lasted().Milliseconds(), AgentType: r.AgentType,
	}
	if r.Completion.Changes != nil {
		changes := *r.Completion.Changes
		changes.Commits = changes.Commits[:min(len(changes.Commits), lessonCommits)]
		changes.Files = changes.Files[:min(len(changes.Files), lessonFiles)]
		data.Changes = dataOfChanges(&changes)
	}
	details, err := json.Marshal(data)
	if err != nil {
		details = nil // plain data always encodes
	}
	repo := workspaceSpec(&r.Preparation).Repo
	if r.Workspace != nil {
		repo = r.Workspace.Repo
	}
	return &core.Experience{
		Experience: wire.Experience{
			ExecutionID: r.ExecutionID, ThreadID: r.ID, Role: r.Role, Repo: repo, Objective: r.Objective,
			Summary: r.Completion.Summary, Outcome: outcome, Details: details, CreatedAt: c.now, Count: 1,
		},
	}
}
