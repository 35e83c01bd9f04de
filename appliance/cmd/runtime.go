package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) runtimeCommand() *cobra.Command {
	cmd := group(&cobra.Command{Use: "runtime", Aliases: []string{"runtimes"}, Short: "Look at the runtimes of managed agents"})
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the runtimes, in the order in which they are tried",
		Args:  wants(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				list, err := api.ListRuntimes(ctx)
				if err != nil {
					return err
				}
				return c.show(list.Body, func(s *screen) { runtimeTable(s, list.Runtimes) })
			})
		},
	})
	return cmd
}

func runtimeTable(s *screen, rows []client.Runtime) {
	if len(rows) == 0 {
		s.line("no runtimes; `runtimes` in the configuration declares them")
		return
	}
	var cells [][]cell
	for _, r := range rows {
		state := cell{"ready", styleGood}
		if !r.Ready {
			state = cell{"not ready", styleBad}
		}
		agents := fmt.Sprint(r.Agents)
		if r.MaxAgents > 0 {
			agents += fmt.Sprintf(" of %d", r.MaxAgents)
		}
		cells = append(cells, []cell{
			{text: r.Name}, {text: fmt.Sprint(r.Priority)}, state, {text: agents},
			{text: strings.Join(r.Types, ",")}, {text: r.Reason},
		})
	}
	s.table([]string{"RUNTIME", "PRIORITY", "STATE", "AGENTS", "TYPES", "REASON"}, cells)
}
