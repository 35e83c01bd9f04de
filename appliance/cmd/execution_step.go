package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) executionStep() *cobra.Command {
	return &cobra.Command{
		Use: "step ID PATH", Short: "Show a step of a workflow: when it ran, its tasks, and what came of it",
		Long: "Show one step of the workflow of an execution: when it ran, each time that it did, its tasks and what came of it.\n" +
			"PATH is what `execution timeline ID` shows before the step, such as 1.0. Of a step with one task what was asked is\n" +
			"shown as well; -o json has that of the others.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.ExecutionStep, error) {
				return api.GetStep(ctx, args[0], args[1])
			}, stepScreen)
		},
	}
}

func stepScreen(s *screen, step *client.ExecutionStep) {
	reason := ""
	if step.Error != nil {
		reason = clean(step.Error.String())
	}
	s.fields("step", clean(step.Path), "execution", clean(step.ExecutionID), "type", clean(step.Type), "name", clean(step.Name),
		"role", clean(step.Role), "roles", clean(strings.Join(step.Roles, ", ")), "status", status(step.Status), "verdict", clean(step.Verdict),
		"detail", clean(step.Detail), "started", moment(&step.StartedAt), "ended", moment(step.EndedAt), "took", span(step.Duration.Duration()),
		"steps in it", clean(strings.Join(step.Steps, ", ")), "error", reason)
	if len(step.Runs) > 1 {
		rows := make([][]cell, len(step.Runs))
		for i := range step.Runs {
			r := &step.Runs[i]
			rows[i] = []cell{{text: fmt.Sprint(r.Run)}, status(r.Status), {text: moment(&r.StartedAt)}, {text: span(r.Duration.Duration())}, {text: clean(r.Verdict)}, {text: shorten(clean(r.Detail), 80)}}
		}
		s.line("")
		s.grid([]string{"RUN", "STATUS", "STARTED", "TOOK", "VERDICT", "DETAIL"}, []int{0, 0, 0, 0, 0, uncut}, rows)
	}
	taskTable(s, step)
	if len(step.Tasks) == 1 {
		only := &step.Tasks[0]
		if len(only.Attempts) > 1 {
			s.line("")
			attemptTable(s, only.Attempts)
		}
		if only.Omitted == 0 {
			askedPart(s, only)
		}
	}
	valuePart(s, "result", step.Result)
}

// taskTable writes the tasks of a step, each with its last attempt.
func taskTable(s *screen, step *client.ExecutionStep) {
	if len(step.Tasks) == 0 {
		return
	}
	rows := make([][]cell, len(step.Tasks))
	for i := range step.Tasks {
		t := &step.Tasks[i]
		row := []cell{{text: clean(t.TaskID)}, {}, status(t.Status), {}, {}, {}}
		if n := len(t.Attempts); n > 0 {
			last := &t.Attempts[n-1]
			row[1].text, row[3].text, row[4].text = clean(last.AgentName), fmt.Sprint(last.Attempt), span(last.Duration.Duration())
			if row[1].text == "" {
				row[1].text = clean(last.AgentID)
			}
			if last.Error != nil {
				row[5].text = shorten(clean(last.Error.String()), 80)
			}
		}
		rows[i] = row
	}
	s.line("")
	s.grid([]string{"TASK", "AGENT", "STATUS", "ATTEMPT", "TOOK", "ERROR"}, []int{0, 0, 0, 0, 0, uncut}, rows)
	if step.TotalTasks > len(step.Tasks) {
		s.line("the last %d of %d tasks", len(step.Tasks), step.TotalTasks)
	}
}
