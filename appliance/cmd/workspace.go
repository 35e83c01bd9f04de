package cmd

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) workspaceCommand() *cobra.Command {
	return c.nounGroup(workspaces, &cobra.Command{
		Use: "workspace", Aliases: []string{"workspaces"}, Short: "Look at the directories that threads work in, and remove old ones",
	}, workspaces.lists(c, &cobra.Command{Use: "list", Short: "List workspaces, newest first"}), c.workspaceGet(), c.workspaceDiff(), c.workspaceUsage(), c.workspacePrune())
}

var workspaces = &resource[client.Workspace]{
	noun: "workspace", member: "workspaces", prefix: core.PrefixWorkspace, empty: "no workspaces",
	columns: []column[client.Workspace]{
		{head: "WORKSPACE", show: func(w *client.Workspace) any { return w.ID }},
		{head: "STATUS", show: func(w *client.Workspace) any { return workspaceStatus(string(w.Status)) }},
		{head: "THREAD", show: func(w *client.Workspace) any { return w.ThreadID }, wide: true},
		{head: "REPOSITORY", show: func(w *client.Workspace) any { return w.Repo }, cut: 40},
		{head: "BRANCH", show: func(w *client.Workspace) any { return w.WorkBranch }, cut: 48},
		{head: "SIZE", show: func(w *client.Workspace) any { return bytesText(w.SizeBytes) }, wide: true},
		{head: "AGE", show: func(w *client.Workspace) any { return w.CreatedAt }},
		{head: "UNTIL", show: func(w *client.Workspace) any {
			switch {
			case w.RemovedAt != nil:
				return ""
			case w.Kept != "":
				return "kept: " + w.Kept
			}
			return due{w.ExpiresAt}
		}, cut: 40},
		{head: "PATH", show: func(w *client.Workspace) any { return w.Path }, wide: true},
	},
	filters: []filter{oneOf("status", core.WorkspaceStatuses), ofExecution},
	id:      func(w *client.Workspace) string { return w.ID },
	status:  func(w *client.Workspace) string { return spaced(string(w.Status), w.Repo) },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListWorkspaces(ctx, client.WorkspaceFilter{Status: sel.text("status"), ExecutionID: sel.text("execution"), Page: sel.Page})
	},
}

func workspaceStatus(status string) cell {
	how := stylePlain
	switch core.WorkspaceStatus(status) {
	case core.WorkspaceReady:
		how = styleGood
	case core.WorkspaceReserved:
		how = styleBusy
	case core.WorkspaceReleased, core.WorkspaceRemoved:
		how = styleFaint
	}
	return cell{status, how}
}

func (c *cli) workspaceGet() *cobra.Command {
	return shows(c, &cobra.Command{Use: "get ID", Aliases: []string{"show"}, Short: "Show a workspace"},
		(*client.Client).GetWorkspace, workspaceFields)
}

func (c *cli) workspaceDiff() *cobra.Command {
	var of patchFlags
	cmd := &cobra.Command{
		Use:   "diff ID [PATH]",
		Short: "Show what is changed in a workspace, or one file of it, committed or not",
		Long: "Show what the files of a workspace differ in from the commit that it began at: what is committed, what is not,\n" +
			"and files that git does not know. PATH is that of one file, from the top of the repository.",
		Example: "  wardroom workspace diff ws_... | less -R\n  wardroom workspace diff ws_... src/main.go\n  wardroom workspace diff ws_... --stat",
		RunE: func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) > 1 {
				path = args[1]
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.WorkspaceDiff, error) {
				return api.WorkspaceChanges(ctx, args[0], path, of.most)
			}, func(s *screen, d *client.WorkspaceDiff) { c.writeDiff(s, &d.WorkspaceDiff, of) })
		},
	}
	of.addTo(cmd)
	return cmd
}

func workspaceFields(s *screen, w *client.Workspace) {
	of := w.Repo
	if w.URL != "" && w.URL != w.Repo {
		of += " (" + w.URL + ")"
	}
	s.fields("workspace", w.ID, "state", workspaceStatus(string(w.Status)), "path", w.Path, "repository", of, "branch", w.Branch,
		"work branch", w.WorkBranch, "begins at", w.BaseCommit, "size", bytesText(w.SizeBytes), "warnings", strings.Join(w.Warnings, "; "),
		"kept", w.Kept, "expires", moment(w.ExpiresAt), "removed", moment(w.RemovedAt))
}

func (c *cli) workspaceUsage() *cobra.Command {
	return &cobra.Command{
		Use:   "usage",
		Short: "Show what workspaces take on disk together, what they may, and how many retention would remove",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.WorkspaceUsage, error) {
				return api.WorkspaceUsage(ctx)
			}, workspaceUsageTable)
		},
	}
}

func workspaceUsageTable(s *screen, u *client.WorkspaceUsage) {
	limit := func(bytes int64) string {
		if bytes == 0 {
			return "any"
		}
		return bytesText(bytes)
	}
	s.table([]string{"WORKSPACES", "COUNT", "MOST", "SIZE", "MOST", "REMOVE"}, [][]cell{
		plain("all", strconv.Itoa(u.Count), strconv.Itoa(u.MaxCount), bytesText(u.Bytes), limit(u.MaxTotalBytes), strconv.Itoa(u.Remove)),
		plain("released", strconv.Itoa(u.ReleasedCount), "", bytesText(u.ReleasedBytes), limit(u.MaxReleasedBytes), ""),
		plain("kept for their work", strconv.Itoa(u.KeptCount), "", bytesText(u.KeptBytes), "", ""),
	})
	if u.AtLeast {
		s.line("there may be more: counts and sizes are lower bounds")
	}
	if u.MaxBytes > 0 {
		s.line("one may take %s when it is checked out", bytesText(u.MaxBytes))
	}
}

func (c *cli) workspacePrune() *cobra.Command {
	var prune client.WorkspacePrune
	cmd := &cobra.Command{
		Use:   "prune [ID...]",
		Short: "Remove workspaces that are expired, or the named ones",
		Long: "Remove workspaces that are expired, or the named ones, expired or not. The workspace of a thread that is not\n" +
			"over stays, and so does one that holds commits which were not pushed, or changes; --force removes it too.",
		Example: "  wardroom workspace prune --dry-run\n  wardroom workspace prune ws_... --force",
		RunE: func(cmd *cobra.Command, args []string) error {
			if prune.IDs = args; prune.Force && len(args) == 0 {
				return usagef(cmd, "--force wants the workspaces that are meant")
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.WorkspacePruneResult, error) {
				return api.PruneWorkspaces(ctx, prune)
			}, func(s *screen, p *client.WorkspacePruneResult) { prunedTable(s, p.Pruned, prune.DryRun) })
		},
	}
	cmd.Flags().BoolVar(&prune.DryRun, "dry-run", false, "only tell what would be removed")
	cmd.Flags().BoolVar(&prune.Force, "force", false, "also where work would be lost")
	cmd.Flags().BoolVar(&prune.Mirrors, "mirrors", false, "also mirrors of repositories that no workspace uses")
	return cmd
}

func prunedTable(s *screen, rows []client.WorkspacePruned, dry bool) {
	if len(rows) == 0 {
		s.line("nothing is expired")
		return
	}
	var freed int64
	var cells [][]cell
	for _, p := range rows {
		done := cell{text: "kept", style: styleBusy}
		if p.Removed {
			done, freed = cell{text: "removed", style: styleGood}, freed+p.FreedBytes
			if dry {
				done.text = "would be removed"
			}
		}
		cells = append(cells, []cell{{text: p.ID}, done, {text: bytesText(p.FreedBytes)}, {text: p.Reason}})
	}
	s.table([]string{"WORKSPACE", "RESULT", "SIZE", "WHY"}, cells)
	if freed > 0 {
		s.line("%s in all", bytesText(freed))
	}
}
