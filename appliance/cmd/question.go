package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) questionCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "question", Aliases: []string{"questions"}, Short: "Read and answer what executions ask people",
	})
	cmd.AddCommand(c.questionList(), c.questionShow(), c.questionAnswer())
	return cmd
}

// allStatuses selects questions of every status.
const allStatuses = "any"

func (c *cli) questionList() *cobra.Command {
	var filter client.QuestionFilter
	var flags pageFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List questions, newest first; by default the open ones",
		Args:  wants(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := questionStatusFlag(cmd, filter.Status); err != nil {
				return err
			}
			if filter.Status == allStatuses {
				filter.Status = ""
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				read := func(ctx context.Context, page client.Page) (client.Meta, client.PageInfo, error) {
					filter.Page = page
					list, err := api.ListQuestions(ctx, filter)
					if err != nil {
						return client.Meta{}, client.PageInfo{}, err
					}
					return list.Meta, list.PageInfo, nil
				}
				return showList(ctx, c, flags, "questions", read, func(s *screen, rows []client.Question) {
					questionTable(s, rows, filter.Status, time.Now())
				})
			})
		},
	}
	cmd.Flags().StringVar(&filter.ExecutionID, "execution", "", "only of this execution")
	cmd.Flags().StringVar(&filter.Status, "status", client.QuestionOpen, "open, answered, expired, cancelled or any")
	flags.register(cmd)
	return cmd
}

func questionStatusFlag(cmd *cobra.Command, value string) error {
	if value == allStatuses {
		return nil
	}
	for _, known := range core.QuestionStatuses {
		if value == string(known) {
			return nil
		}
	}
	return usagef(cmd, "--status must be one of %v or %s, not %q", core.QuestionStatuses, allStatuses, value)
}

// questionTable lists questions. The status is worth a column only when they may differ in it; what is not open
// expires no more.
func questionTable(s *screen, rows []client.Question, selected string, now time.Time) {
	if len(rows) == 0 {
		if selected == client.QuestionOpen {
			s.line("no open questions")
		} else {
			s.line("no questions")
		}
		return
	}
	head := []string{"ID", "AGE", "ROLE", "KIND", "TEXT", "EXPIRES"}
	if selected != client.QuestionOpen {
		head = []string{"ID", "AGE", "ROLE", "KIND", "TEXT", "STATUS"}
	}
	var cells [][]cell
	for _, q := range rows {
		last := status(string(q.Status))
		if selected == client.QuestionOpen {
			last = cell{text: "in " + age(q.ExpiresAt.Sub(now))}
		}
		cells = append(cells, []cell{
			{text: q.ID}, {text: age(now.Sub(q.CreatedAt))}, {text: q.Role}, {text: string(q.Kind)},
			{text: shorten(clean(strings.TrimSpace(q.Text)), 60)}, last,
		})
	}
	s.table(head, cells)
	if selected == client.QuestionOpen {
		s.line("answer one: wardroom question answer ID TEXT")
	}
}

// age renders a stretch of time in two units at most: 42s, 5m, 3h12m, 6d23h.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

func (c *cli) questionShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Aliases: []string{"get"},
		Short:   "Show a question with what it may be answered with",
		Args:    wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				q, err := api.GetQuestion(ctx, args[0])
				if err != nil {
					return err
				}
				return c.show(q.Body, func(s *screen) { questionScreen(s, q) })
			})
		},
	}
}

func questionScreen(s *screen, q *client.Question) {
	asker := q.Role
	if q.AgentID != "" {
		asker += " (" + q.AgentID + ")"
	}
	expires := ""
	if q.Status == client.QuestionOpen {
		expires = moment(&q.ExpiresAt)
	}
	s.fields("question", q.ID, "status", status(string(q.Status)), "kind", q.Kind, "execution", q.ExecutionID, "step", q.Step,
		"asked by", asker, "topic", q.Topic, "asked", moment(&q.CreatedAt), "expires", expires,
		"closed", moment(q.ClosedAt), "answered by", q.AnsweredBy, "login", q.URL)
	if q.Depth > 0 {
		s.line("%s could not answer it", count(q.Depth, "manager"))
	}
	s.line("")
	for line := range strings.Lines(q.Text) {
		s.line("%s", cleanLine(line))
	}
	if len(q.Content) > 0 && !sameText(q.Content, q.Text) {
		s.line("")
		s.line("content:")
		s.line("%s", pretty(q.Content))
	}
	if len(q.Options) > 0 {
		s.line("")
		rows := make([][]cell, len(q.Options))
		for i, o := range q.Options {
			rows[i] = plain(o.ID, o.Label)
		}
		s.table([]string{"OPTION", "MEANING"}, rows)
	}
	if len(q.Answer) > 0 {
		s.line("")
		s.line("answer: %s", compact(q.Answer, 0))
	}
	if q.Status == client.QuestionOpen {
		s.line("")
		s.line("answer it: %s", answerCommand(q))
	}
}

// sameText tells whether content is nothing but text as a JSON string.
func sameText(content json.RawMessage, text string) bool {
	var have string
	return json.Unmarshal(content, &have) == nil && strings.TrimSpace(have) == strings.TrimSpace(text)
}

// answerCommand is what a person types to answer a question.
func answerCommand(q *client.Question) string {
	id := clean(q.ID)
	if len(q.Options) == 0 {
		return fmt.Sprintf("wardroom question answer %s TEXT", id)
	}
	ids := make([]string, len(q.Options))
	for i, o := range q.Options {
		ids[i] = clean(o.ID)
	}
	return fmt.Sprintf("wardroom question answer %s --choice %s", id, strings.Join(ids, "|"))
}
