package cmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) threadSend() *cobra.Command {
	var raw bool
	var keys []string
	cmd := &cobra.Command{
		Use:   "send ID [TEXT]",
		Short: "Give a thread a message, or keys for its terminal; - reads TEXT from stdin",
		Long: "Give a thread a message. It is stored at once and given to the agent when its turn comes, in the order of\n" +
			"the sends. --raw and --keys go to the agent's terminal as they are, at once.",
		Example: "  wardroom thread send thread_... 'Also update the changelog'\n" +
			"  git diff | wardroom thread send thread_... -\n" +
			"  wardroom thread send thread_... --keys ESC",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return wants("ID", "TEXT")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in := client.ThreadInput{Keys: keys, IdempotencyKey: client.NewIdempotencyKey()}
			if (len(args) == 2) == (len(keys) > 0) {
				return usagef(cmd, "give either TEXT or --keys")
			}
			if len(args) == 2 {
				text, err := c.message(cmd, args[1])
				if err != nil {
					return err
				}
				if in.Message = text; raw {
					in.Message, in.Raw = "", text
				}
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				receipt, err := api.SendThread(ctx, args[0], in)
				if err != nil {
					return err
				}
				return c.show(receipt.Body, func(s *screen) {
					if receipt.Sent {
						s.line("sent")
						return
					}
					s.line("stored; messages that wait for the agent: %d", receipt.Queued)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "type TEXT into the terminal as it is, without ENTER")
	cmd.Flags().StringSliceVar(&keys, "keys", nil, "names of keys to press, comma-separated, such as ESC or DOWN,ENTER")
	exclusive(cmd, "raw", "keys")
	return cmd
}

// message reads a TEXT argument; - is stdin.
func (c *cli) message(cmd *cobra.Command, text string) (string, error) {
	if text == "-" {
		data, err := c.readFile("-")
		if err != nil {
			return "", err
		}
		text = strings.TrimRight(string(data), "\r\n")
	}
	if text == "" {
		return "", usagef(cmd, "TEXT is empty")
	}
	return text, nil
}

func (c *cli) threadAnswer() *cobra.Command {
	var answer client.ThreadAnswer
	cmd := &cobra.Command{
		Use:   "answer ID [OPTION]",
		Short: "Answer what a thread asks: allow, deny, or another of its options",
		Long: "Answer what a blocked thread asks: allow, deny, or another option that `thread get` shows. --text answers a\n" +
			"question, gives the code of a login, or is the reason for deny.",
		Example: "  wardroom thread answer thread_... allow\n" +
			"  wardroom thread answer thread_... --text 'use the staging database'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return wants("ID", "OPTION")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				answer.Choice = args[1]
			}
			if answer.Choice == "" && answer.Text == "" {
				return usagef(cmd, "give an OPTION such as allow or deny, or --text")
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				t, err := api.AnswerThread(ctx, args[0], answer)
				if err != nil {
					return err
				}
				return c.showThread(t)
			})
		},
	}
	cmd.Flags().StringVar(&answer.Text, "text", "", "free text")
	cmd.Flags().StringVar(&answer.PromptID, "prompt", "", "answer this prompt only (default whichever is open)")
	return cmd
}

func (c *cli) threadComplete() *cobra.Command {
	var in client.ThreadClose
	cmd := &cobra.Command{
		Use:   "complete ID",
		Short: "End a thread with an outcome; its finish actions are done",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			known := false
			for _, state := range core.CompletionStates {
				known = known || in.State == string(state)
			}
			if !known {
				return usagef(cmd, "--state must be one of %v, not %q", core.CompletionStates, in.State)
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				t, err := api.CompleteThread(ctx, args[0], in)
				if err != nil {
					return err
				}
				return c.showThread(t)
			})
		},
	}
	cmd.Flags().StringVar(&in.State, "state", string(core.CompletionComplete), "complete, partial or failed")
	cmd.Flags().StringVar(&in.Summary, "summary", "", "what came of it (default what the agent said last)")
	return cmd
}

func (c *cli) threadStop() *cobra.Command {
	var force bool
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "stop ID",
		Short: "Stop a thread; its workspace stays for a while",
		Args:  wants("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if grace < 0 || (grace > 0 && grace < time.Millisecond) {
				return usagef(cmd, "--grace must be at least 1ms")
			}
			if c.timeout > 0 && grace > 0 {
				c.timeout += grace // the answer comes when the agent has ended
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				if err := api.StopThread(ctx, args[0], force, grace); err != nil {
					return err
				}
				t, err := api.GetThread(ctx, args[0])
				if err != nil {
					return err
				}
				return c.show(t.Body, func(s *screen) {
					s.line("thread %s is %s", clean(t.ID), clean(threadStatus(t.Status, t.StatusReason).text))
				})
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "kill its agent at once")
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long its agent has to end by itself (default the runtime's)")
	exclusive(cmd, "force", "grace")
	return cmd
}
