package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// endAgent ends the agent of what id names, and prints what came of it.
type endAgent func(ctx context.Context, api *client.Client, id string, force bool, grace time.Duration) error

// stops makes cmd one that ends an agent: at once, or after a time in which it may end by itself. whose is how the help
// calls the agent.
func (c *cli) stops(cmd *cobra.Command, whose string, end endAgent) *cobra.Command {
	var force bool
	var grace time.Duration
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if grace < 0 || (grace > 0 && grace < time.Millisecond) {
			return usagef(cmd, "--grace must be at least 1ms")
		}
		if c.timeout > 0 && grace > 0 {
			c.timeout += grace // the answer comes when the agent has ended
		}
		return c.call(cmd, func(ctx context.Context, api *client.Client) error { return end(ctx, api, args[0], force, grace) })
	}
	cmd.Flags().BoolVar(&force, "force", false, "kill "+whose+" at once")
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long "+whose+" has to end by itself (default the runtime's)")
	exclusive(cmd, "force", "grace")
	return cmd
}
