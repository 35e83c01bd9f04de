package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) agentSend() *cobra.Command {
	var raw bool
	var flags sendFlags
	cmd := &cobra.Command{
		Use:   "send ID TEXT",
		Short: "Give a managed agent a message; - reads it from stdin",
		Long: "Give a managed agent a message. The command ends when the agent took it, with --wait when its turn\n" +
			"has ended: the answer is printed then. A turn that failed, was interrupted, or in which an approval was\n" +
			"refused, ends the command with exit code 1. The wait survives a restart of the server: the message has an\n" +
			"Idempotency-Key, by which its turn is found again. What the agent asks meanwhile is shown on stderr.",
		Example: "  wardroom agent send magent_... 'Summarise README.md' --wait\n" +
			"  git diff | wardroom agent send magent_... - --wait --timeout 10m",
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.in.Timeout < 0 || (flags.in.Timeout > 0 && flags.in.Timeout < time.Millisecond) {
				return usagef(cmd, "--timeout must be at least 1ms")
			}
			text, err := c.message(cmd, args[1])
			if err != nil {
				return err
			}
			flags.in.Message = text
			if raw {
				flags.in.Message, flags.in.Raw = "", text
			}
			return c.send(cmd, args[0], flags)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.in.ExpectResponse, "wait", false, "wait for the answer and print it")
	f.BoolVar(&raw, "raw", false, "type TEXT into the terminal as it is, without ENTER")
	f.DurationVar(&flags.in.Timeout, "timeout", 0, "how long the agent may take (default the server's 2m)")
	f.StringVar(&flags.in.IdempotencyKey, "idempotency-key", "", "the same key is the same message for 24 hours, and finds its turn (default a fresh one)")
	f.DurationVar(&flags.outage, "reconnect", defaultWait, "how long to bear a server that went away meanwhile")
	exclusive(cmd, "wait", "raw")
	return cmd
}

func (c *cli) agentKeys() *cobra.Command {
	return &cobra.Command{
		Use:     "keys ID KEY...",
		Short:   "Press keys in a managed agent's terminal",
		Long:    "Press keys in a managed agent's terminal, in order. docs/managed-agents.md lists their names.",
		Example: "  wardroom agent keys magent_... ESC\n  wardroom agent keys magent_... DOWN DOWN ENTER",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.send(cmd, args[0], sendFlags{in: client.ManagedAgentInput{Keys: args[1:]}})
		},
	}
}

// sendFlags are an input and how long a server that went away is borne.
type sendFlags struct {
	in     client.ManagedAgentInput
	outage time.Duration
}

// send gives input to an agent; the server bounds the time, so the command does not.
func (c *cli) send(cmd *cobra.Command, id string, flags sendFlags) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	if flags.in.IdempotencyKey == "" {
		flags.in.IdempotencyKey = client.NewIdempotencyKey() // so that a lost connection never sends it twice
	}
	ctx := cmd.Context()
	stop := func() {}
	if flags.in.ExpectResponse {
		stop = c.notePrompts(ctx, "agent", agentPrompt(api, id))
	}
	var reply *client.ManagedAgentReply
	send := func() (err error) {
		reply, err = api.SendManagedAgent(ctx, id, flags.in)
		return err
	}
	err = c.persist(ctx, flags.outage, send)
	if unsure(err) && ctx.Err() == nil {
		// The runtime went down over it, and knows more once it is back.
		err = c.persist(ctx, flags.outage, send)
	}
	stop()
	if err != nil {
		if ctx.Err() != nil {
			hint := fmt.Sprintf("the agent goes on; look at it with `wardroom agent attach %s`", clean(id))
			if flags.in.ExpectResponse {
				hint += ", or wait for the answer with the same command and --idempotency-key " + clean(flags.in.IdempotencyKey)
			}
			return &interruption{cause: err, hint: hint}
		}
		return err
	}
	if err := c.show(reply.Body, func(s *screen) {
		if reply.Response == nil {
			s.line("sent")
			return
		}
		s.answer(reply.Response)
	}); err != nil || reply.Response == nil {
		return err
	}
	out := turnOutcome("agent "+id, reply.Response)
	if e := reply.Response.Error; e != nil {
		switch e.Code {
		case wire.TurnLoginRequired:
			bounded, cancel := c.bounded(ctx)
			defer cancel()
			if a, err := api.GetManagedAgent(bounded, id); err == nil {
				out.hint = loginHint(a)
			}
		case wire.TurnAgentEnded:
			out.hint = fmt.Sprintf("see why with `wardroom agent logs %s`; start it again with `wardroom agent restart %s`", clean(id), clean(id))
		}
	}
	return out.orNil()
}

// answer prints what an agent said in a turn.
func (s *screen) answer(r *wire.TurnResponse) {
	for line := range strings.Lines(r.Text) {
		s.line("%s", cleanLine(line))
	}
}

// unsure reports whether an error says that it is not known whether a message was taken.
func unsure(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Details["runtimeCode"] == "DELIVERY_UNKNOWN"
}

// turnOutcome is the error of a turn that did not end with an answer, of an agent or a thread; nil for one that did.
func turnOutcome(whose string, r *wire.TurnResponse) *outcomeError {
	out := &outcomeError{code: exitFailed}
	switch {
	case r.Error != nil:
		out.message = fmt.Sprintf("turn %d of %s failed: %s: %s", r.Turn, whose, r.Error.Code, r.Error.Message)
		if r.Error.Retryable {
			out.hint = "it may pass: send the message again later"
		}
	case r.Interrupted:
		out.message = fmt.Sprintf("turn %d of %s was interrupted", r.Turn, whose)
	case r.Refused:
		out.message = fmt.Sprintf("an approval was refused in turn %d of %s", r.Turn, whose)
	default:
		return nil
	}
	return out
}

// orNil returns a nil error for a nil outcome.
func (e *outcomeError) orNil() error {
	if e == nil {
		return nil
	}
	return e
}

// loginKeys are the variables by which agents get a key without a login.
var loginKeys = map[string]string{
	"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY",
}

// loginHint returns how an agent gets a credential.
func loginHint(a *client.ManagedAgent) string {
	hint := fmt.Sprintf("log in with `wardroom agent attach %s`", clean(a.ID))
	if a.LoginURL != "" {
		hint = fmt.Sprintf("log in at %s and give the code with `wardroom agent send %s CODE`", clean(a.LoginURL), clean(a.ID))
	}
	if key := loginKeys[a.Type]; key != "" {
		hint += fmt.Sprintf(", or start one with a key: `wardroom agent spawn %s --env %s`", a.Type, key)
	}
	return hint + "; see docs/managed-agents.md#credentials"
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
		return show(c, a, err, managedScreen)
	})
}
