package cmd

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) executionTask() *cobra.Command {
	return &cobra.Command{
		Use: "task ID TASK", Short: "Show what an agent was asked and answered, and each attempt",
		Long: "Show one task of an execution: what its agent was asked, as it was sent, what it answered, and each attempt with\n" +
			"its error. TASK is the id of a task in `execution timeline ID -o json`.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				t, err := api.GetTask(ctx, args[0], args[1])
				return show(c, t, err, taskScreen)
			})
		},
	}
}

func taskScreen(s *screen, t *client.Task) {
	s.fields("task", t.TaskID, "execution", t.ExecutionID, "step", t.Step, "role", t.Role, "status", status(t.Status), "used", usageText(t.Usage))
	s.line("")
	var rows [][]cell
	for i := range t.Attempts {
		a := &t.Attempts[i]
		agent, reason := a.AgentName, ""
		if agent == "" {
			agent = a.AgentID
		}
		if a.Error != nil {
			reason = shorten(clean(a.Error.String()), 80)
		}
		rows = append(rows, []cell{{text: fmt.Sprint(a.Attempt)}, {text: clean(agent)}, status(a.Status), {text: moment(&a.StartedAt)}, {text: span(a.Duration.Duration())}, {text: reason}})
	}
	s.table([]string{"ATTEMPT", "AGENT", "STATUS", "STARTED", "TOOK", "ERROR"}, rows)
	part := func(head string, body json.RawMessage) {
		if len(body) > 0 {
			s.line("")
			s.line("%s:", head)
			s.line("%s", pretty(body))
		}
	}
	switch asked := t.Asked; {
	case asked == nil:
		s.line("")
		s.line("what was asked was not kept")
	case asked.Omitted > 0:
		s.line("")
		s.line("what was asked has %d bytes and was not kept", asked.Omitted)
	default:
		part("asked", asked.Input)
		part("with", asked.Context)
	}
	part("answered", t.Result)
	for _, late := range t.Late {
		s.line("")
		s.line("an answer of %s came too late: %s", clean(late.AgentID), clean(late.Reason))
	}
}
