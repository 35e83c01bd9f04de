package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) questionCommand() *cobra.Command {
	return c.nounGroup(questions, &cobra.Command{
		Use: "question", Aliases: []string{"questions"}, Short: "Read and answer what executions ask people",
	}, questions.lists(c, &cobra.Command{Use: "list", Short: "List questions, newest first; by default the open ones"}), c.questionShow(), c.questionAnswer())
}

// allStatuses selects questions of every status.
const allStatuses = "any"

var questions = &resource[client.Question]{
	noun: "question", member: "questions", prefix: core.PrefixQuestion, empty: "no questions",
	columns: []column[client.Question]{
		{head: "QUESTION", show: func(q *client.Question) any { return q.ID }},
		{head: "AGE", show: func(q *client.Question) any { return q.CreatedAt }},
		{head: "ROLE", show: func(q *client.Question) any { return q.Role }},
		{head: "KIND", show: func(q *client.Question) any { return q.Kind }},
		{head: "TEXT", show: func(q *client.Question) any { return q.Text }, cut: 60},
		{head: "STATUS", show: func(q *client.Question) any { return status(q.Status) }},
		{head: "EXPIRES", show: func(q *client.Question) any {
			if q.Status != client.QuestionOpen {
				return "" // it expires no more
			}
			return due{&q.ExpiresAt}
		}},
		{head: "EXECUTION", show: func(q *client.Question) any { return q.ExecutionID }, wide: true},
	},
	filters: []filter{
		ofExecution,
		func() filter {
			f := oneOf("status", core.QuestionStatuses, allStatuses)
			f.initial = client.QuestionOpen
			return f
		}(),
		{flag: "created-by", usage: "only those of executions of this caller"},
	},
	foot: func(rows []client.Question) string {
		for i := range rows {
			if rows[i].Status == client.QuestionOpen {
				return "answer one: wardroom question answer ID TEXT"
			}
		}
		return ""
	},
	id:     func(q *client.Question) string { return q.ID },
	status: func(q *client.Question) string { return shorten(clean(strings.TrimSpace(q.Text)), 60) },
	over:   func(q *client.Question) bool { return q.Status != client.QuestionOpen },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		filter := client.QuestionFilter{ExecutionID: sel.text("execution"), Status: sel.text("status"), CreatedBy: sel.text("created-by"), Page: sel.Page}
		if filter.Status == allStatuses {
			filter.Status = ""
		}
		return api.ListQuestions(ctx, filter)
	},
}

func (c *cli) questionShow() *cobra.Command {
	return shows(c, &cobra.Command{Use: "show ID", Aliases: []string{"get"}, Short: "Show a question with what it may be answered with"},
		(*client.Client).GetQuestion, questionScreen)
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
	s.fields("question", q.ID, "status", status(q.Status), "kind", q.Kind, "execution", q.ExecutionID, "step", q.Step,
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

// sameText reports whether content is nothing but text as a JSON string.
func sameText(content json.RawMessage, text string) bool {
	var have string
	return json.Unmarshal(content, &have) == nil && strings.TrimSpace(have) == strings.TrimSpace(text)
}

// answerCommand returns the command that answers a question.
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
