package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) agentSend() *cobra.Command {
	var wait, raw bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "send ID TEXT",
		Short: "Give a managed agent a message; - reads it from stdin",
		Long: "Give a managed agent a message. The command ends when the agent took it, with --wait when it has\n" +
			"answered; the answer is what is printed then.",
		Example: "  wardroom agent send magent_... 'Summarise README.md' --wait\n" +
			"  git diff | wardroom agent send magent_... - --wait --timeout 10m",
		Args: wants("ID", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 || (timeout > 0 && timeout < time.Millisecond) {
				return usagef(cmd, "--timeout must be at least 1ms")
			}
			text := args[1]
			if text == "-" {
				data, err := c.readFile("-")
				if err != nil {
					return err
				}
				text = strings.TrimRight(string(data), "\r\n")
			}
			if text == "" {
				return usagef(cmd, "TEXT is empty")
			}
			in := client.ManagedAgentInput{Message: text, ExpectResponse: wait, Timeout: timeout}
			if raw {
				in.Message, in.Raw = "", text
			}
			return c.send(cmd, args[0], in)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&wait, "wait", false, "wait for the answer and print it")
	f.BoolVar(&raw, "raw", false, "type TEXT into the terminal as it is, without ENTER")
	f.DurationVar(&timeout, "timeout", 0, "how long the agent may take (default the server's 2m)")
	exclusive(cmd, "wait", "raw")
	return cmd
}

func (c *cli) agentKeys() *cobra.Command {
	return &cobra.Command{
		Use:     "keys ID KEY...",
		Short:   "Press keys in a managed agent's terminal",
		Long:    "Press keys in a managed agent's terminal, in order. docs/managed-agents.md lists their names.",
		Example: "  wardroom agent keys magent_... ESC\n  wardroom agent keys magent_... DOWN DOWN ENTER",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return wants("ID", "KEY")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.send(cmd, args[0], client.ManagedAgentInput{Keys: args[1:]})
		},
	}
}

// send gives input to an agent; the server bounds the time, so the command does not.
func (c *cli) send(cmd *cobra.Command, id string, in client.ManagedAgentInput) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	defer api.Close()
	in.IdempotencyKey = client.NewIdempotencyKey()
	reply, err := api.SendManagedAgent(cmd.Context(), id, in)
	if err != nil {
		if cmd.Context().Err() != nil {
			return &interruption{cause: err, hint: fmt.Sprintf(
				"the agent goes on; look at it with `wardroom agent attach %s`", clean(id))}
		}
		return err
	}
	return c.show(reply.Body, func(s *screen) {
		if reply.Response == nil {
			s.line("sent")
			return
		}
		for line := range strings.Lines(reply.Response.Text) {
			s.line("%s", cleanLine(line))
		}
	})
}

// cleanLine is clean for a line of an agent's answer, which keeps its tabs.
func cleanLine(line string) string {
	parts := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
	for i, part := range parts {
		parts[i] = clean(part)
	}
	return strings.Join(parts, "\t")
}

func (c *cli) agentAnswer() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "answer ID [OPTION]",
		Short: "Answer what a managed agent asks: allow, deny, or another of its options",
		Example: "  wardroom agent answer magent_... allow\n" +
			"  wardroom agent answer magent_... deny --text 'use the staging database'",
	}
	const text = "free text; with deny the reason that the agent is told"
	return c.answers(cmd, text, func(ctx context.Context, api *client.Client, id string, answer client.ManagedAgentAnswer) error {
		a, err := api.AnswerManagedAgent(ctx, id, answer)
		if err != nil {
			return err
		}
		return c.showManaged(a)
	})
}
