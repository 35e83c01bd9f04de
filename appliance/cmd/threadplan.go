package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) threadPrepare() *cobra.Command {
	var flags threadFlags
	cmd := &cobra.Command{
		Use:   "prepare",
		Short: "Show what a thread would begin with, without starting it",
		Long: "Show what a thread would begin with, without starting it: repository and branch are looked up for real, a\n" +
			"workspace is reserved, and the memory is what an agent would read. The JSON is a request for spawn --from.",
		Example: "  wardroom thread prepare --repo app --role implementer --objective 'Fix the flaky test'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec, err := c.threadRequest(cmd, &flags)
			if err != nil {
				return err
			}
			spec.Provision = flags.spec.Provision
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				plan, err := api.PrepareThread(ctx, spec)
				var warnings []string
				if err == nil && c.tables() && plan.Preparation.Workspace != nil && plan.Preparation.Workspace.Repo != "" {
					if w, err := api.GetWorkspace(ctx, plan.Preparation.Workspace.WorkspaceID); err == nil { // else the plan is shown as it is
						warnings = w.Warnings
					}
				}
				return show(c, plan, err, func(s *screen, plan *client.ThreadPlan) { planScreen(s, plan, warnings) })
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&flags.spec.Provision, "provision", false, "check the workspace out as well")
	return cmd
}

func planScreen(s *screen, plan *client.ThreadPlan, warnings []string) {
	memory := ""
	if told, err := plan.MemoryContext(); err == nil {
		memory = fmt.Sprintf("%s, %s", count(told.SharedDecisionCount, "decision"), count(told.EpisodicExperienceCount, "experience"))
	}
	s.fields("name", plan.Name, "execution", plan.ExecutionID, "type", plan.AgentType, "role", plan.Role,
		"objective", shorten(clean(plan.Objective), 200), "approval", plan.Preparation.ApprovalPreset, "memory", memory)
	if w := plan.Preparation.Workspace; w != nil {
		s.line("")
		s.fields("workspace", w.WorkspaceID, "path", w.Path, "repository", w.Repo, "branch", w.Branch, "work branch", w.WorkBranch,
			"begins at", w.BaseCommit)
	}
	for _, warning := range warnings {
		s.line("%s %s", s.paint(styleBusy, "warning:"), clean(warning))
	}
	var rows [][]cell
	for _, file := range plan.Preparation.ContextFiles {
		rows = append(rows, plain(file.Path, fmt.Sprintf("%d bytes", len(file.Content))))
	}
	if len(rows) > 0 {
		s.line("")
		s.table([]string{"FILE", "SIZE"}, rows)
	}
	for _, file := range plan.Preparation.ContextFiles {
		if file.Path == core.ThreadMemoryPath {
			s.line("")
			s.line("%s:", file.Path)
			paragraph(s, file.Content)
		}
	}
}
