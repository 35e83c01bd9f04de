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
	cmd := group(&cobra.Command{
		Use: "thread", Aliases: []string{"threads"}, Short: "Run managed threads: supervised work in a prepared workspace",
	})
	cmd.AddCommand(c.threadSpawn(), c.threadPrepare(), c.threadList(), c.threadGet(), c.threadSend(), c.threadQueue(), c.threadWithdraw(),
		c.threadAnswer(), c.threadAttach(), c.threadComplete(), c.threadStop(), c.threadContinue(), c.threadDiff(), c.threadMerge(), c.threadRebase(),
		c.threadEvents(), c.threadWatch(), c.threadDecisions(), c.threadExperiences())
	return cmd
}

func (c *cli) threadList() *cobra.Command {
	var filter client.ThreadFilter
	var flags pageFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List threads, newest first",
		Args:  wants(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := threadStatusFlag(cmd, filter.Status); err != nil {
				return err
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
					filter.Page = page
					list, err := api.ListThreads(ctx, filter)
					if err != nil {
						return client.Meta{}, client.PageInfo{}, err
					}
					return list.Meta, list.PageInfo, nil
				}
				return showList(ctx, c, flags, "threads", read, threadTable)
			})
		},
	}
	cmd.Flags().StringVar(&filter.ExecutionID, "execution", "", "only of this execution")
	cmd.Flags().StringVar(&filter.Status, "status", "", "pending, preparing, starting, ready, running, blocked, idle, completed, failed or stopped")
	cmd.Flags().StringVar(&filter.Role, "role", "", "only of this role")
	cmd.Flags().StringVar(&filter.AgentType, "type", "", "only of this agent type")
	flags.register(cmd)
	return cmd
}

func threadStatusFlag(cmd *cobra.Command, value string) error {
	if value == "" {
		return nil
	}
	for _, known := range core.ThreadStatuses {
		if value == string(known) {
			return nil
		}
	}
	return usagef(cmd, "--status must be one of %v, not %q", core.ThreadStatuses, value)
}

func threadTable(s *screen, rows []client.Thread) {
	if len(rows) == 0 {
		s.line("no threads; `wardroom thread spawn` starts one")
		return
	}
	var cells [][]cell
	for i := range rows {
		t := &rows[i]
		cells = append(cells, []cell{
			{text: t.ID}, {text: shorten(clean(t.Name), 32)}, {text: t.AgentType}, {text: t.Role}, threadStatus(t.Status, t.StatusReason),
			{text: fmt.Sprint(t.TurnCount)}, {text: t.ExecutionID}, {text: moment(&t.LastActivityAt)},
		})
	}
	s.table([]string{"THREAD", "NAME", "TYPE", "ROLE", "STATUS", "TURNS", "EXECUTION", "LAST ACTIVITY"}, cells)
}

// threadStatus is a status with its reason.
func threadStatus(status, reason string) cell {
	text := status
	if reason != "" {
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
	return &cobra.Command{
		Use: "get ID", SuggestFor: []string{"show", "inspect"},
		Aliases: []string{"show"},
		Short:   "Show a thread: where it works, what it asks, what came of it",
		Args:    wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				t, err := api.GetThread(ctx, args[0])
				if err != nil {
					return err
				}
				return c.showThread(t)
			})
		},
	}
}

func (c *cli) showThread(t *client.Thread) error {
	return c.show(t.Body, func(s *screen) { threadScreen(s, t) })
}

func threadScreen(s *screen, t *client.Thread) {
	reason := ""
	if t.Error != nil {
		reason = t.Error.Code + ": " + t.Error.Message
	}
	s.fields("thread", t.ID, "name", t.Name, "status", threadStatus(t.Status, t.StatusReason), "login at", t.LoginURL, "error", reason,
		"execution", t.ExecutionID, "type", t.AgentType, "role", t.Role, "objective", shorten(clean(t.Objective), 200),
		"runtime", t.Runtime, "managed agent", t.ManagedAgentID, "hosted by", t.AgentID, "session", t.SessionID,
		"approval", t.Preparation.ApprovalPreset, "environment", strings.Join(t.Preparation.EnvNames, ", "),
		"goes on with", t.Continues, "goes on as", t.ContinuedBy,
		"turns", countText(t.TurnCount), "failed turns", countText(t.FailedTurns), "last turn", lastTurnText(t.LastTurn), "used", usageText(t.Usage),
		"tried again", moment(t.RetryAt), "queued", countText(t.QueuedInputs), "restarts", countText(t.Restarts), "events", countText(t.EventCount),
		"created", moment(&t.CreatedAt), "started", moment(t.StartedAt), "last activity", moment(&t.LastActivityAt), "ended", moment(t.EndedAt))
	if w := t.Workspace; w != nil {
		s.line("")
		workspaceFields(s, w)
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
