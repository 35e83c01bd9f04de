package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) questionAnswer() *cobra.Command {
	var value, choice string
	cmd := &cobra.Command{
		Use:   "answer ID [TEXT]",
		Short: "Answer a question; the execution that waits for it goes on",
		Long: "Answer a question with TEXT (- reads it from stdin), with one of its options, or with any JSON value.\n" +
			"The first answer counts.",
		Example: "  wardroom question answer q_... 'use the staging database'\n" +
			"  wardroom question answer q_... --choice allow\n" +
			"  wardroom question answer q_... --json '{\"database\":\"staging\"}'",
		RunE: func(cmd *cobra.Command, args []string) error {
			ways := 0
			for _, given := range []bool{len(args) == 2, cmd.Flags().Changed("json"), cmd.Flags().Changed("choice")} {
				if given {
					ways++
				}
			}
			if ways != 1 {
				return usagef(cmd, "give one answer: as TEXT, with --choice or with --json")
			}
			var answer json.RawMessage
			var err error
			switch {
			case len(args) == 2:
				answer, err = c.textAnswer(cmd, args[1])
			case cmd.Flags().Changed("json"):
				answer, err = c.jsonAnswer(value)
			}
			if err != nil {
				return err
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				return c.answer(ctx, api, args[0], answer, choice)
			})
		},
	}
	cmd.Flags().StringVar(&value, "json", "", "the answer as a JSON value, @FILE, or - for stdin")
	cmd.Flags().StringVar(&choice, "choice", "", "one of the question's options")
	return cmd
}

// answer gives an answer; without one it is the choice.
func (c *cli) answer(ctx context.Context, api *client.Client, id string, answer json.RawMessage, choice string) error {
	q, err := api.GetQuestion(ctx, id)
	if err != nil {
		return err
	}
	if answer == nil {
		if answer, err = choiceAnswer(q, choice); err != nil {
			return err
		}
	}
	if q, err = api.AnswerQuestion(ctx, q.ExecutionID, q.ID, answer); err != nil {
		return err
	}
	return c.show(q.Body, func(s *screen) {
		s.line("question %s %s", clean(q.ID), clean(string(q.Status)))
		s.line("the execution goes on: wardroom execution watch %s", clean(q.ExecutionID))
	})
}

func (c *cli) textAnswer(cmd *cobra.Command, text string) (json.RawMessage, error) {
	text, err := c.message(cmd, text)
	if err == nil && strings.TrimSpace(text) == "" {
		err = usagef(cmd, "TEXT is empty")
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(text)
}

// jsonAnswer reads the value of --json.
func (c *cli) jsonAnswer(value string) (json.RawMessage, error) {
	data, name, err := c.readValue("--json", value)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSpace(data)
	switch {
	case !json.Valid(data):
		return nil, &usageError{
			message: name + ": not JSON", hint: `give a JSON value such as --json '{"database":"staging"}'; plain words go as TEXT`,
		}
	case string(data) == "null":
		return nil, &usageError{message: name + ": null is no answer"}
	}
	return data, nil
}

// choiceAnswer finds an option by id, or by its label in any case.
func choiceAnswer(q *client.Question, choice string) (json.RawMessage, error) {
	var known []string
	for _, o := range q.Options {
		if o.ID == choice {
			return json.Marshal(o.ID)
		}
		known = append(known, clean(o.ID))
	}
	if len(known) == 0 {
		return nil, &usageError{
			message: fmt.Sprintf("question %s has no options", clean(q.ID)), hint: "answer it with: " + answerCommand(q),
		}
	}
	for _, o := range q.Options {
		if strings.EqualFold(strings.TrimSpace(o.Label), strings.TrimSpace(choice)) {
			return json.Marshal(o.ID)
		}
	}
	return nil, &usageError{
		message: fmt.Sprintf("--choice must be one of %s, not %q", strings.Join(known, ", "), choice),
		hint:    fmt.Sprintf("see what they mean with `wardroom question show %s`", clean(q.ID)),
	}
}
