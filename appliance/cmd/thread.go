package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) threadCommand() *cobra.Command {
	return c.nounGroup(threads, &cobra.Command{
		Use: "thread", Aliases: []string{"threads"}, Short: "Run managed threads: supervised work in a prepared workspace",
	}, c.threadSpawn(), c.threadPrepare(), threads.lists(c, &cobra.Command{Use: "list", Short: "List threads, newest first"}), c.threadGet(), c.threadSend(), c.threadQueue(), c.threadWithdraw(),
		c.threadAnswer(), c.threadAttach(), c.threadComplete(), c.threadStop(), c.threadContinue(), c.threadDiff(), c.threadMerge(), c.threadRebase(),
		c.threadEvents(), c.threadWatch(), c.threadDecisions(), c.threadExperiences())
}

var threads = &resource[client.Thread]{
	noun: "thread", member: "threads", prefix: core.PrefixThread, empty: "no threads; `wardroom thread spawn` starts one",
	columns: []column[client.Thread]{
		{head: "THREAD", show: func(t *client.Thread) any { return t.ID }},
		{head: "NAME", show: func(t *client.Thread) any { return t.Name }, cut: 32},
		{head: "TYPE", show: func(t *client.Thread) any { return t.AgentType }},
		{head: "ROLE", show: func(t *client.Thread) any { return t.Role }, wide: true},
		{head: "STATUS", show: func(t *client.Thread) any { return threadStatus(t.Status, t.StatusReason) }, cut: 40},
		{head: "OUTCOME", show: func(t *client.Thread) any { return threadOutcome(t.Completion) }},
		{head: "TURNS", show: func(t *client.Thread) any { return t.TurnCount }, wide: true},
		{head: "EXECUTION", show: func(t *client.Thread) any { return t.ExecutionID }, wide: true},
		{head: "LAST ACTIVITY", show: func(t *client.Thread) any { return moment(&t.LastActivityAt) }, wide: true},
		{head: "AGE", show: func(t *client.Thread) any { return t.CreatedAt }},
	},
	filters: []filter{
		ofExecution, oneOf("status", core.ThreadStatuses),
		{flag: "role", usage: "only of this role"}, {flag: "type", usage: "only of this agent type"},
		byCreator,
	},
	id:     func(t *client.Thread) string { return t.ID },
	name:   func(t *client.Thread) string { return t.Name },
	status: func(t *client.Thread) string { return t.Status },
	over:   func(t *client.Thread) bool { return threadOver(t.Status) },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListThreads(ctx, client.ThreadFilter{
			ExecutionID: sel.text("execution"), Status: sel.text("status"), Role: sel.text("role"), AgentType: sel.text("type"),
			CreatedBy: sel.text("created-by"), Page: sel.Page,
		})
	},
}

// byCreator selects what one caller made.
var byCreator = filter{flag: "created-by", usage: "only those of this caller"}

// ofExecution selects what belongs to one execution.
var ofExecution = filter{flag: "execution", usage: "only of this execution"}

func threadOutcome(done *client.ThreadCompletion) cell {
	if done == nil {
		return cell{}
	}
	return cell{string(done.State), completionStyle(string(done.State))}
}

// threadStatus is a status with its reason.
func threadStatus(status, reason string) cell {
	text := status
	if reason != "" && reason != text {
		text += " (" + reason + ")"
	}
	return cell{text, threadStyle(status, reason)}
}

func threadStyle(status, reason string) style {
	switch core.ThreadStatus(status) {
	case core.ThreadReady, core.ThreadCompleted:
		return styleGood
	case core.ThreadFailed:
		return styleBad
	case core.ThreadRunning:
		if reason == core.ThreadReasonStuck {
			return styleBad
		}
		return styleBusy
	case core.ThreadPending, core.ThreadPreparing, core.ThreadStarting, core.ThreadBlocked:
		return styleBusy
	case core.ThreadIdle, core.ThreadStopped:
		return styleFaint
	}
	return stylePlain
}

func threadOver(status string) bool { return core.ThreadStatus(status).Terminal() }

func (c *cli) threadGet() *cobra.Command {
	return shows(c, &cobra.Command{
		Use: "get ID", SuggestFor: []string{"inspect"}, Aliases: []string{"show"},
		Short: "Show a thread: where it works, what it asks, what came of it",
	}, (*client.Client).GetThread, threadScreen)
}

// limitsText says what a thread stops at, beside its timers; "" for nothing.
func limitsText(p *client.ThreadPolicy) string {
	var limits []string
	if p.MaxTurns > 0 {
		limits = append(limits, count(p.MaxTurns, "turn"))
	}
	if p.MaxTokens > 0 {
		limits = append(limits, fmt.Sprintf("%d tokens", p.MaxTokens))
	}
	if p.MaxCost > 0 {
		limits = append(limits, fmt.Sprintf("%g US dollars", p.MaxCost))
	}
	return strings.Join(limits, ", ")
}

func threadScreen(s *screen, t *client.Thread) {
	reason := ""
	if t.Error != nil {
		reason = string(t.Error.Code) + ": " + t.Error.Message
	}
	s.fields("thread", t.ID, "name", t.Name, "status", threadStatus(t.Status, t.StatusReason), "login at", t.LoginURL, "error", reason,
		"execution", t.ExecutionID, "type", t.AgentType, "role", t.Role, "objective", shorten(clean(t.Objective), 200),
		"runtime", t.Runtime, "managed agent", t.ManagedAgentID, "hosted by", t.AgentID, "session", t.SessionID,
		"approval", t.Preparation.ApprovalPreset, "environment", strings.Join(t.Preparation.EnvNames, ", "),
		"goes on with", t.Continues, "goes on as", t.ContinuedBy,
		"turns", countText(t.TurnCount), "failed turns", countText(t.FailedTurns), "last turn", lastTurnText(t.LastTurn), "used", usageText(t.Usage),
		"stops at", limitsText(&t.Policy),
		"tried again", moment(t.RetryAt), "queued", countText(t.QueuedInputs), "restarts", countText(t.Restarts), "events", countText(t.EventCount),
		"created", moment(&t.CreatedAt), "started", moment(t.StartedAt), "last activity", moment(&t.LastActivityAt), "ended", moment(t.EndedAt))
	if w := t.Workspace; w != nil {
		s.line("")
		workspaceFields(s, &client.Workspace{WorkspaceRow: *w})
	}
	if t.Prompt != nil && !threadOver(t.Status) {
		promptScreen(s, "thread", t.ID, t.Prompt)
	}
	switch {
	case t.Completion != nil:
		s.line("")
		completionScreen(s, t.Completion)
	case t.Summary != "":
		s.line("")
		s.line("summary:")
		paragraph(s, t.Summary)
	}
}

// countText renders a count; empty for none.
func countText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// paragraph shows a text of several lines, indented.
func paragraph(s *screen, text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		s.line("%s", strings.TrimRight("  "+cleanLine(line), " "))
	}
}

// completionScreen shows what came of a thread.
func completionScreen(s *screen, done *client.ThreadCompletion) {
	tests := ""
	if r := done.Tests; r != nil {
		tests = testText(r)
	}
	changes := ""
	if done.Changes != nil {
		changes = changesText(done.Changes)
	}
	s.fields("outcome", cell{string(done.State), completionStyle(string(done.State))}, "changes", changes, "tests", tests)
	if done.Summary != "" {
		paragraph(s, done.Summary)
	}
	var rows [][]cell
	for _, a := range done.Artifacts {
		rows = append(rows, plain(string(a.Type), shorten(clean(strings.TrimSpace(a.Value)), 160)))
	}
	if len(rows) > 0 {
		s.line("")
		s.table([]string{"ARTIFACT", "VALUE"}, rows)
	}
}

func completionStyle(state string) style {
	switch core.CompletionState(state) {
	case core.CompletionComplete:
		return styleGood
	case core.CompletionPartial:
		return styleBusy
	case core.CompletionFailed:
		return styleBad
	}
	return stylePlain
}

func testText(r *client.TestReport) string {
	text := fmt.Sprintf("%d run, %d passed, %d failed", r.Run, r.Passed, r.Failed)
	if r.Command != "" {
		text += " (" + r.Command + ")"
	}
	return text
}

// changesText says in a line what happened in a workspace.
func changesText(w *client.WorkspaceChanges) string {
	text := fmt.Sprintf("%s, %s, +%d -%d", count(w.CommitCount, "commit"), count(w.FileCount, "file"), w.Insertions, w.Deletions)
	if w.Uncommitted > 0 {
		text += fmt.Sprintf(", %d not committed", w.Uncommitted)
	}
	if w.Unpushed > 0 {
		text += fmt.Sprintf(", %d not pushed", w.Unpushed)
	}
	return text
}
