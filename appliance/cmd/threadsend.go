package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) threadSend() *cobra.Command {
	var raw bool
	in, outage := client.ThreadInput{}, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "send ID [TEXT]",
		Short: "Give a thread a message, or keys for its terminal; - reads TEXT from stdin",
		Long: "Give a thread a message. It is stored at once and given to the agent when its turn comes, in the order of\n" +
			"the sends. --raw and --keys go to the agent's terminal as they are, at once. With --wait the command ends\n" +
			"when the message's turn has ended, and prints the answer; a turn that failed for good, was interrupted, or\n" +
			"in which an approval was refused, ends it with exit code 1. The wait survives a restart of the server: the\n" +
			"message has an Idempotency-Key, by which its turn is found again. What the thread asks meanwhile is shown\n" +
			"on stderr.",
		Example: "  wardroom thread send thread_... 'Also update the changelog'\n" +
			"  git diff | wardroom thread send thread_... - --wait --timeout 10m\n" +
			"  wardroom thread send thread_... --keys ESC",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 2) == (len(in.Keys) > 0) {
				return usagef(cmd, "give either TEXT or --keys")
			}
			if in.Timeout < 0 || in.Timeout > 0 && in.Timeout < time.Millisecond {
				return usagef(cmd, "--timeout must be at least 1ms")
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
			if in.IdempotencyKey == "" {
				in.IdempotencyKey = client.NewIdempotencyKey()
			}
			return c.sendThread(cmd, args[0], in, outage)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&in.ExpectResponse, "wait", false, "wait for the answer and print it")
	f.BoolVar(&raw, "raw", false, "type TEXT into the terminal as it is, without ENTER")
	f.StringSliceVar(&in.Keys, "keys", nil, "names of keys to press, comma-separated, such as ESC or DOWN,ENTER")
	f.DurationVar(&in.Timeout, "timeout", 0, "how long --wait waits (default the server's 2m)")
	f.StringVar(&in.IdempotencyKey, "idempotency-key", "", "the same key is the same message for 24 hours, and finds its turn (default a fresh one)")
	f.DurationVar(&outage, "reconnect", defaultWait, "how long to bear a server that went away meanwhile")
	exclusive(cmd, "raw", "keys")
	exclusive(cmd, "wait", "raw", "keys")
	return cmd
}

// awaitTurn makes a call that ends with the turn of a message, over restarts of the server, which bounds the time, so that the
// command does not. key is the call's. What the thread asks meanwhile is shown.
func (c *cli) awaitTurn(ctx context.Context, outage time.Duration, key string, prompt openPrompt, call func() error) error {
	stop := c.notePrompts(ctx, "thread", prompt)
	err := c.persist(ctx, outage, call)
	stop()
	if err != nil && ctx.Err() != nil {
		return &interruption{cause: err, hint: "the thread goes on; wait for the answer with the same command and --idempotency-key " + clean(key)}
	}
	return err
}

// sendThread gives input to a thread.
func (c *cli) sendThread(cmd *cobra.Command, id string, in client.ThreadInput, outage time.Duration) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	var receipt *client.ThreadReceipt
	send := func() (err error) {
		receipt, err = api.SendThread(ctx, id, in)
		return err
	}
	if in.ExpectResponse {
		err = c.awaitTurn(ctx, outage, in.IdempotencyKey, threadPrompt(api, id), send)
	} else {
		err = c.persist(ctx, outage, send)
	}
	if err != nil {
		return err
	}
	if err := c.show(receipt.Body, func(s *screen) {
		switch {
		case receipt.Response != nil:
			s.answer(receipt.Response)
		case receipt.Queued == 0:
			s.line("sent")
		default:
			s.line("stored; messages that wait for the agent: %d", receipt.Queued)
		}
	}); err != nil || receipt.Response == nil {
		return err
	}
	return threadTurnOutcome(id, receipt.Response)
}

// threadTurnOutcome is turnOutcome for a turn of a thread. One whose agent ended takes no more messages.
func threadTurnOutcome(id string, r *wire.TurnResponse) error {
	out := turnOutcome("thread "+id, r)
	if r.Error != nil && r.Error.Code == wire.TurnAgentEnded {
		out.hint = fmt.Sprintf("see why with `wardroom thread get %s`; go on with `wardroom thread continue %[1]s`", clean(id))
	}
	return out.orNil()
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
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Thread, error) {
				return api.CompleteThread(ctx, args[0], in)
			}, threadScreen)
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
