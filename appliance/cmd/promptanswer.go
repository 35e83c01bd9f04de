package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// giveAnswer hands an answer to the prompt of what id names, and prints what came of it.
type giveAnswer func(ctx context.Context, api *client.Client, id string, answer client.ManagedAgentAnswer) error

// answers makes cmd one that answers a prompt: ID, an option or a free text.
func (c *cli) answers(cmd *cobra.Command, textUsage string, give giveAnswer) *cobra.Command {
	var answer client.ManagedAgentAnswer
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			answer.Choice = args[1]
		}
		if answer.Choice == "" && answer.Text == "" {
			return usagef(cmd, "give an OPTION such as allow or deny, or --text")
		}
		if answer.Text == "-" {
			text, err := c.message(cmd, answer.Text)
			if err != nil {
				return err
			}
			answer.Text = text
		}
		return c.call(cmd, func(ctx context.Context, api *client.Client) error { return give(ctx, api, args[0], answer) })
	}
	cmd.Flags().StringVar(&answer.Text, "text", "", textUsage+"; - reads it from stdin")
	cmd.Flags().StringVar(&answer.PromptID, "prompt", "", "answer this prompt only (default whichever is open)")
	return cmd
}
