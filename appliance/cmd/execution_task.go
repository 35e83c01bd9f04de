package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) executionTask() *cobra.Command {
	return &cobra.Command{
		Use: "task ID TASK", Short: "Show what an agent was asked and answered, and each attempt",
		Long: "Show one task of an execution: what its agent was asked, as it was sent, what it answered, and each attempt with\n" +
			"its error. TASK is the id of a task in `execution timeline ID -o json`.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Task, error) {
				return api.GetTask(ctx, args[0], args[1])
			}, taskScreen)
		},
	}
}

func taskScreen(s *screen, t *client.Task) {
	s.fields("task", t.TaskID, "execution", t.ExecutionID, "step", t.Step, "role", t.Role, "status", status(t.Status), "used", usageText(t.Usage))
	s.line("")
	attemptTable(s, t.Attempts)
	askedPart(s, &t.Task)
	valuePart(s, "answered", t.Result)
	for _, late := range t.Late {
		s.line("")
		s.line("an answer of %s came too late: %s", clean(late.AgentID), clean(late.Reason))
	}
}

func attemptTable(s *screen, attempts []wire.TaskAttempt) {
	var rows [][]cell
	for i := range attempts {
		a := &attempts[i]
		agent, reason := cmp.Or(a.AgentName, a.AgentID), ""
		if a.Error != nil {
			reason = shorten(clean(a.Error.String()), 80)
		}
		rows = append(rows, []cell{{text: fmt.Sprint(a.Attempt)}, {text: clean(agent)}, status(a.Status), {text: moment(&a.StartedAt)}, {text: span(a.Duration.Duration())}, {text: reason}})
	}
	s.table([]string{"ATTEMPT", "AGENT", "STATUS", "STARTED", "TOOK", "ERROR"}, rows)
}

// askedPart writes what a task asked for, as far as it is known.
func askedPart(s *screen, t *wire.Task) {
	switch asked := t.Asked; {
	case asked == nil:
		s.line("")
		s.line("what was asked was not kept")
	case asked.Omitted > 0:
		s.line("")
		s.line("what was asked has %d bytes and was not kept", asked.Omitted)
	default:
		valuePart(s, "asked", asked.Input)
		valuePart(s, "with", asked.Context)
	}
}

// valuePart writes a value below its heading; nothing for one that there is not.
func valuePart(s *screen, head string, value json.RawMessage) {
	if len(value) > 0 {
		s.line("")
		s.line("%s:", head)
		s.line("%s", pretty(value))
	}
}
