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
	cmd := group(&cobra.Command{
		Use: "workspace", Aliases: []string{"workspaces"}, Short: "Look at the directories that threads work in, and remove old ones",
	})
	cmd.AddCommand(c.workspaceList(), c.workspaceGet(), c.workspaceUsage(), c.workspacePrune())
	return cmd
}

func (c *cli) workspaceList() *cobra.Command {
	var filter client.WorkspaceFilter
	var flags pageFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List workspaces, newest first",
		Args:  wants(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if filter.Status != "" {
				known := false
				for _, status := range core.WorkspaceStatuses {
					known = known || filter.Status == string(status)
				}
				if !known {
					return usagef(cmd, "--status must be one of %v, not %q", core.WorkspaceStatuses, filter.Status)
				}
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
					filter.Page = page
					list, err := api.ListWorkspaces(ctx, filter)
					if err != nil {
						return client.Meta{}, client.PageInfo{}, err
					}
					return list.Meta, list.PageInfo, nil
				}
				return showList(ctx, c, flags, "workspaces", read, workspaceTable)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Status, "status", "", "reserved, ready, released or removed")
	cmd.Flags().StringVar(&filter.ExecutionID, "execution", "", "only of this execution")
	flags.register(cmd)
	return cmd
}

func workspaceTable(s *screen, rows []client.Workspace) {
	if len(rows) == 0 {
		s.line("no workspaces")
		return
	}
	var cells [][]cell
	for i := range rows {
		w := &rows[i]
		until := moment(w.ExpiresAt)
		if w.Kept != "" {
			until = "kept: " + w.Kept
		}
		cells = append(cells, []cell{
			{text: w.ID}, workspaceStatus(string(w.Status)), {text: w.ThreadID}, {text: shorten(clean(w.Repo), 40)}, {text: shorten(clean(w.WorkBranch), 48)},
			{text: bytesText(w.SizeBytes)}, {text: until},
		})
	}
	s.table([]string{"WORKSPACE", "STATUS", "THREAD", "REPOSITORY", "BRANCH", "SIZE", "UNTIL"}, cells)
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
	return &cobra.Command{
		Use:     "get ID",
		Aliases: []string{"show"},
		Short:   "Show a workspace",
		Args:    wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				w, err := api.GetWorkspace(ctx, args[0])
				if err != nil {
					return err
				}
				return c.show(w.Body, func(s *screen) { workspaceFields(s, w) })
			})
		},
	}
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
		Args:  wants(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				u, err := api.WorkspaceUsage(ctx)
				if err != nil {
					return err
				}
				return c.show(u.Body, func(s *screen) { workspaceUsageTable(s, u) })
			})
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
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				pruned, err := api.PruneWorkspaces(ctx, prune)
				if err != nil {
					return err
				}
				return c.show(pruned.Body, func(s *screen) { prunedTable(s, pruned.Pruned, prune.DryRun) })
			})
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
