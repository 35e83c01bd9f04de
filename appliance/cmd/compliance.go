package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) complianceCommand() *cobra.Command {
	cmd := group(&cobra.Command{Use: "compliance", Short: "Prove what soc2, gdpr and hipaa ask for"})
	cmd.AddCommand(c.complianceCheck())
	return cmd
}

func (c *cli) complianceCheck() *cobra.Command {
	var profile, file string
	cmd := &cobra.Command{
		Use: "check --profile soc2|gdpr|hipaa", Short: "Prove from the running server what a profile asks for; exits with 1 if a control fails",
		Long: "Prove from the running server what a profile asks for, a control a line, each with its evidence. --report writes it\n" +
			"to a file for people, in Markdown. The exit code is 1 if a control fails. The whole audit trail is verified.",
		Example: "  wardroom compliance check --profile gdpr\n  wardroom compliance check --profile soc2 --report soc2.md -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(wire.ComplianceProfiles, profile) {
				return usagef(cmd, "--profile: %q is no profile: it is one of %s", clean(profile), strings.Join(wire.ComplianceProfiles, ", "))
			}
			if file != "" && file != "-" {
				if err := mayWrite(file, true); err != nil {
					return err // before the work of a check
				}
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				r, err := api.CheckCompliance(ctx, profile)
				if err != nil {
					return err
				}
				if file != "" {
					if err := c.toFile(file, func(w io.Writer) error { return writeCompliance(w, &r.ComplianceReport) }); err != nil {
						return err
					}
				}
				if err := c.show(r.Body, func(s *screen) { complianceScreen(s, &r.ComplianceReport) }); err != nil {
					return err
				}
				if !r.Passed {
					return &outcomeError{code: exitFailed}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", strings.Join(wire.ComplianceProfiles, ", "))
	cmd.Flags().StringVar(&file, "report", "", "also write a report for people to this file; - is stdout")
	_ = cmd.MarkFlagRequired("profile")
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(wire.ComplianceProfiles, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func complianceScreen(s *screen, r *wire.ComplianceReport) {
	var cells [][]cell
	for _, k := range r.Controls {
		result := cell{"passed", styleGood}
		if !k.Passed {
			result = cell{"failed", styleBad}
		}
		cells = append(cells, []cell{s.cell(k.ID), result, s.cell(k.Evidence)})
	}
	s.grid([]string{"CONTROL", "RESULT", "EVIDENCE"}, []int{0, 0, 400}, cells)
	if r.Passed {
		s.line("%s: all %d controls passed", r.Profile, len(r.Controls))
	} else {
		s.line("%s: %d of %d controls failed", r.Profile, r.Failed, len(r.Controls))
	}
}

// writeCompliance writes a report in Markdown.
func writeCompliance(w io.Writer, r *wire.ComplianceReport) error {
	var b strings.Builder
	verdict := "all controls passed"
	if !r.Passed {
		verdict = fmt.Sprintf("%d of %d controls failed", r.Failed, len(r.Controls))
	}
	fmt.Fprintf(&b, "# Compliance: %s\n\n%s. Checked at %s on Wardroom %s.\n", r.Profile, verdict, r.CheckedAt.UTC().Format(time.RFC3339), r.Version)
	for _, k := range r.Controls {
		result := "passed"
		if !k.Passed {
			result = "FAILED"
		}
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s.\n\n- Evidence: %s\n", k.ID, result, k.Title, clean(k.Evidence))
		if len(k.Keys) > 0 {
			fmt.Fprintf(&b, "- Keys: %s\n", strings.Join(k.Keys, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
