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
				return show(c, receipt, err, func(s *screen, receipt *client.ThreadReceipt) {
					if receipt.Queued == 0 {
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
	cmd := &cobra.Command{
		Use:   "answer ID [OPTION]",
		Short: "Answer what a thread asks: allow, deny, or another of its options",
		Long: "Answer what a blocked thread asks: allow, deny, or another option that `thread get` shows. --text answers a\n" +
			"question, gives the code of a login, or is the reason for deny.",
		Example: "  wardroom thread answer thread_... allow\n" +
			"  wardroom thread answer thread_... --text 'use the staging database'",
	}
	return c.answers(cmd, "free text", func(ctx context.Context, api *client.Client, id string, answer client.ManagedAgentAnswer) error {
		t, err := api.AnswerThread(ctx, id, client.ThreadAnswer(answer))
		return show(c, t, err, threadScreen)
	})
}

func (c *cli) threadComplete() *cobra.Command {
	var in client.ThreadClose
	state := oneOf("state", core.CompletionStates)
	state.initial = string(core.CompletionComplete)
	cmd := &cobra.Command{
		Use:   "complete ID",
		Short: "End a thread with an outcome; its finish actions are done",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkWord(cmd, state, in.State); err != nil {
				return err
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				t, err := api.CompleteThread(ctx, args[0], in)
				return show(c, t, err, threadScreen)
			})
		},
	}
	cmd.Flags().StringVar(&in.State, state.flag, state.initial, state.usage)
	cmd.Flags().StringVar(&in.Summary, "summary", "", "what came of it (default what the agent said last)")
	return cmd
}

func (c *cli) threadStop() *cobra.Command {
	cmd := &cobra.Command{Use: "stop ID", Short: "Stop a thread; its workspace stays for a while"}
	return c.stops(cmd, "its agent", func(ctx context.Context, api *client.Client, id string, force bool, grace time.Duration) error {
		if err := api.StopThread(ctx, id, force, grace); err != nil {
			return err
		}
		t, err := api.GetThread(ctx, id)
		return show(c, t, err, func(s *screen, t *client.Thread) {
			s.line("thread %s is %s", clean(t.ID), clean(threadStatus(t.Status, t.StatusReason).text))
		})
	})
}
