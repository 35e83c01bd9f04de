package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

var experiences = &resource[client.Experience]{
	noun: "experience", member: "experiences", prefix: core.PrefixMemory, empty: "no experiences",
	columns: []column[client.Experience]{
		{head: "EXPERIENCE", show: func(e *client.Experience) any { return e.ID }, wide: true},
		{head: "AGE", show: func(e *client.Experience) any { return e.CreatedAt }},
		{head: "OUTCOME", show: func(e *client.Experience) any { return experienceOutcome(string(e.Outcome)) }},
		{head: "ROLE", show: func(e *client.Experience) any { return e.Role }},
		{head: "REPOSITORY", show: func(e *client.Experience) any { return e.Repo }, cut: 40},
		{head: "OBJECTIVE", show: func(e *client.Experience) any { return e.Objective }, cut: 50},
		{head: "SUMMARY", show: func(e *client.Experience) any { return e.Summary }, cut: 80},
	},
	filters: []filter{
		{flag: "repo", usage: "only of this repository"}, {flag: "role", usage: "only of this role"},
		oneOf("outcome", core.ExperienceOutcomes), ofExecution,
	},
	id: func(e *client.Experience) string { return e.ID },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListExperiences(ctx, client.ExperienceFilter{
			Query: strings.Join(sel.args, " "), Repo: sel.text("repo"), Role: sel.text("role"), Outcome: sel.text("outcome"),
			ExecutionID: sel.text("execution"), Page: sel.Page,
		})
	},
}

func (c *cli) threadExperiences() *cobra.Command {
	return experiences.lists(c, &cobra.Command{
		Use:     "experiences [WORDS...]",
		Aliases: []string{"experience"},
		Short:   "Show what earlier threads came to, newest first, or those that matter most for some words",
		Example: "  wardroom thread experiences --repo app --outcome failed\n" +
			"  wardroom thread experiences 'flaky login test'",
	})
}

func experienceOutcome(outcome string) cell {
	switch core.ExperienceOutcome(outcome) {
	case core.ExperiencePartial:
		return cell{outcome, styleBusy}
	case core.ExperienceFailed:
		return cell{outcome, styleBad}
	}
	return cell{outcome, styleGood}
}
