package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// defaultDetach is a key that the tools do not use, alone so that no key has to wait for the next.
const defaultDetach = "ctrl-]"

func (c *cli) agentAttach() *cobra.Command {
	return c.attaches(&cobra.Command{
		Use:   "attach ID",
		Short: "Sit at a managed agent's terminal",
		Long: "Show a managed agent's terminal in this one, and type into it. The detach keys leave; the agent goes\n" +
			"on. A connection that is lost is made anew, and shows what came meanwhile.",
		Example: "  wardroom agent attach magent_...\n" +
			"  wardroom agent attach magent_... --detach-keys ctrl-p,ctrl-q",
	}, func(ctx context.Context, api *client.Client, id string) (string, error) { return id, nil })
}

func (c *cli) threadAttach() *cobra.Command {
	return c.attaches(&cobra.Command{
		Use:   "attach ID",
		Short: "Sit at the terminal of a thread's agent",
		Long: "Show the terminal of a thread's agent in this one, and type into it. The detach keys leave; the thread\n" +
			"goes on. A turn that is begun there is a turn of the thread.",
		Example: "  wardroom thread attach thread_... --read-only",
	}, func(ctx context.Context, api *client.Client, id string) (string, error) {
		t, err := api.GetThread(ctx, id)
		switch {
		case err != nil:
			return "", err
		case t.AgentID != "":
			return "", &outcomeError{code: exitConflict, message: fmt.Sprintf(
				"thread %s runs at the connected agent %s, whose terminals are not here", clean(id), clean(t.AgentID))}
		case t.ManagedAgentID == "":
			return "", &outcomeError{code: exitConflict, message: fmt.Sprintf("thread %s has no agent: it is %s", clean(id), clean(t.Status))}
		}
		return t.ManagedAgentID, nil
	})
}

// attaches completes a command that sits at the terminal of an agent, which find names.
func (c *cli) attaches(cmd *cobra.Command, find func(ctx context.Context, api *client.Client, id string) (string, error)) *cobra.Command {
	var readOnly bool
	var keys string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		detach, err := parseKeys(keys)
		if err != nil {
			return usagef(cmd, "--detach-keys %s", err)
		}
		in, inOK := c.deps.Stdin.(*os.File)
		out, outOK := c.deps.Stdout.(*os.File)
		if !inOK || !outOK || !isTerminal(in) || !isTerminal(out) {
			return usagef(cmd, "attach needs a terminal for its input and output; "+
				"without one use `wardroom agent logs -f` and `wardroom agent send`")
		}
		if !c.knowsSequences(out) {
			return usagef(cmd, "attach shows the screen of the agent, and TERM is dumb: set TERM to the name of your terminal, "+
				"or use `wardroom agent screen`, `wardroom agent logs -f` and `wardroom agent send`")
		}
		var agent *client.ManagedAgent
		err = c.call(cmd, func(ctx context.Context, api *client.Client) error {
			id, err := find(ctx, api, args[0])
			if err == nil {
				agent, err = api.GetManagedAgent(ctx, id)
			}
			return err
		})
		if err != nil {
			return err
		}
		id := clean(agent.ID)
		if agent.StoppedAt != nil {
			return &outcomeError{
				code: exitConflict, message: fmt.Sprintf("agent %s has stopped", id),
				hint: fmt.Sprintf("start it again with `wardroom agent restart %s`, or read `wardroom agent logs %s`", id, id),
			}
		}
		return c.attach(cmd.Context(), agent.ID, in, out, readOnly, detach)
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "look only; the detach keys still leave")
	cmd.Flags().StringVar(&keys, "detach-keys", defaultDetach, "keys that leave, such as ctrl-] or ctrl-p,ctrl-q")
	return cmd
}

// attach runs one attachment and then says how it ended, on a terminal that is as it was.
func (c *cli) attach(ctx context.Context, id string, in, out *os.File, readOnly bool, detach []detachKey) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	address, header := api.TerminalRequest(id)
	others := newOthers()
	a := &attachment{
		others: others, in: in, out: out, readOnly: readOnly, detach: detachMatcher{keys: detach},
		dial: func(ctx context.Context, opts runtime.AttachOptions) (runtime.Terminal, error) {
			if c.local != nil {
				c.local.authorize(header) // it dials again after a restart
			}
			return terminal.Dial(ctx, address, opts, terminal.DialOptions{Header: header, TLS: api.TLS(), Dial: c.dial, Viewers: others.tell})
		},
	}
	exit, err := a.run(ctx)
	id = clean(id)
	switch {
	case exit != nil:
		fmt.Fprintf(c.deps.Stderr, "agent %s has stopped: exit code %d%s\n", id, exit.Code, reasonText(exit.Reason))
		return nil
	case errors.Is(err, errDetached):
		fmt.Fprintf(c.deps.Stderr, "detached from agent %s, which goes on\n", id)
		return nil
	case ctx.Err() != nil:
		return &interruption{cause: ctx.Err(), hint: fmt.Sprintf(
			"the agent goes on; sit at it again with `wardroom agent attach %s`", id)}
	}
	return attachError(id, err)
}

func reasonText(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + clean(reason) + ")"
}

// attachError gives a runtime's error the exit code that the API's would have.
func attachError(id string, err error) error {
	var e *runtime.Error
	if !errors.As(err, &e) {
		return err
	}
	out := &outcomeError{code: exitFailed, message: string(e.Code) + ": " + e.Message, hint: e.Hint}
	switch e.Code {
	case runtime.CodeNotFound:
		out.code, out.hint = exitNotFound, "list what there is with `wardroom agent list --managed`"
	case runtime.CodeForbidden:
		out.code, out.hint = exitAuth, "the credential needs the scope agents:read, and agents:manage to type"
	case runtime.CodeUnavailable:
		out.code = exitUnavailable
		out.hint = fmt.Sprintf("the agent may go on; look at it with `wardroom agent get %s`", id)
	case runtime.CodeTimeout:
		out.code = exitTimeout
	case runtime.CodeNotRunning:
		out.code = exitConflict
	case runtime.CodeInvalidArgument:
		out.code = exitUsage
	}
	return out
}
