package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) threadExperiences() *cobra.Command {
	var filter client.ExperienceFilter
	var flags pageFlags
	cmd := &cobra.Command{
		Use:     "experiences [WORDS]",
		Aliases: []string{"experience"},
		Short:   "Show what earlier threads came to, newest first, or those that matter most for some words",
		Example: "  wardroom thread experiences --repo app --outcome failed\n" +
			"  wardroom thread experiences 'flaky login test'",
		RunE: func(cmd *cobra.Command, args []string) error {
			filter.Query = strings.Join(args, " ")
			if filter.Outcome != "" {
				known := false
				for _, outcome := range core.ExperienceOutcomes {
					known = known || filter.Outcome == string(outcome)
				}
				if !known {
					return usagef(cmd, "--outcome must be one of %v, not %q", core.ExperienceOutcomes, filter.Outcome)
				}
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
					filter.Page = page
					list, err := api.ListExperiences(ctx, filter)
					if err != nil {
						return client.Meta{}, client.PageInfo{}, err
					}
					return list.Meta, list.PageInfo, nil
				}
				return showList(ctx, c, flags, "experiences", read, experienceTable)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Repo, "repo", "", "only of this repository")
	cmd.Flags().StringVar(&filter.Role, "role", "", "only of this role")
	cmd.Flags().StringVar(&filter.Outcome, "outcome", "", "successful, partial or failed")
	cmd.Flags().StringVar(&filter.ExecutionID, "execution", "", "only of this execution")
	flags.register(cmd)
	return cmd
}

func experienceTable(s *screen, rows []client.Experience) {
	if len(rows) == 0 {
		s.line("no experiences")
		return
	}
	var cells [][]cell
	for i := range rows {
		e := &rows[i]
		how := styleGood
		switch core.ExperienceOutcome(string(e.Outcome)) {
		case core.ExperiencePartial:
			how = styleBusy
		case core.ExperienceFailed:
			how = styleBad
		}
		cells = append(cells, []cell{
			{text: moment(&e.CreatedAt)}, {string(e.Outcome), how}, {text: e.Role}, {text: shorten(clean(e.Repo), 40)},
			{text: shorten(clean(strings.TrimSpace(e.Objective)), 50)}, {text: shorten(clean(strings.TrimSpace(e.Summary)), 80)},
		})
	}
	s.table([]string{"TIME", "OUTCOME", "ROLE", "REPOSITORY", "OBJECTIVE", "SUMMARY"}, cells)
}
