package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the server's health, checks and counts",
		Long: "Show the server's health, checks and counts. Exits with 7 when it is unhealthy or cannot be reached.\n\n" +
			"On the machine of the server, to root and the user of the service, it shows one table of all parts, plugins,\n" +
			"queues, certificates, the disk, and the alerts of the last day.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, _, _, err := c.address()
			if err != nil {
				return err
			}
			if local, err := c.chosenSocket(server); err != nil || local != nil {
				if err != nil {
					return err
				}
				return c.localStatus(cmd.Context(), local)
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				health, err := api.HealthDetailed(ctx)
				if err != nil {
					return err
				}
				if err := c.show(health.Body, func(s *screen) { healthScreen(s, api.BaseURL(), health) }); err != nil {
					return err
				}
				if health.Status == "unhealthy" {
					return &outcomeError{code: exitUnavailable, message: "the server is unhealthy"}
				}
				return nil
			})
		},
	}
}

func healthScreen(s *screen, address string, h *client.Health) {
	rows := []any{"server", address, "status", status(h.Status), "version", h.Version,
		"uptime", (time.Duration(h.Uptime) * time.Second).String()}
	if p := h.Components; p != nil {
		rows = append(rows, "store", status(p.Database), "shared bus", p.Redis,
			"agents", fmt.Sprintf("%d connected, %d healthy", p.Agents.Connected, p.Agents.Healthy))
	}
	if m := h.Metrics; m != nil {
		rows = append(rows, "executions", fmt.Sprintf("%d in all, %d active", m.ExecutionsTotal, m.ExecutionsActive),
			"mean time", span(m.AvgExecutionTime.Duration()))
	}
	s.fields(rows...)
	if len(h.Checks) == 0 {
		return
	}
	var cells [][]cell
	for _, check := range h.Checks {
		text := check.Message
		if check.Hint != "" {
			text += " (" + check.Hint + ")"
		}
		cells = append(cells, []cell{{text: check.Name}, status(check.Status), {text: text}})
	}
	s.line("")
	s.grid([]string{"CHECK", "STATUS", "MESSAGE"}, []int{0, 0, uncut}, cells)
}
