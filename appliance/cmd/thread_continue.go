package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) threadContinue() *cobra.Command {
	var in client.ThreadContinue
	var env []string
	var envFile, key string
	var follow bool
	var timeout, outage time.Duration
	cmd := &cobra.Command{
		Use:   "continue ID [MESSAGE]",
		Short: "Go on with a thread that is over; - reads MESSAGE from stdin",
		Long: "Go on with a thread that is over. A new thread takes its workspace, its session where the agent can resume\n" +
			"one, and the messages that got no answer; MESSAGE comes behind them and may be left out if there are some. With --wait\n" +
			"the command ends when the turn of MESSAGE has ended, without one that of the last message that got no answer,\n" +
			"and prints the answer, as `thread send --wait` does.",
		Example: "  wardroom thread continue thread_... 'Now fix the tests as well'\n" +
			"  wardroom thread continue thread_... --follow\n" +
			"  wardroom thread continue thread_... 'And the docs' --wait --timeout 10m",
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 || timeout > 0 && timeout < time.Millisecond {
				return usagef(cmd, "--timeout must be at least 1ms")
			}
			in.Timeout = timeout.Milliseconds()
			if len(args) == 2 {
				text, err := c.message(cmd, args[1])
				if err != nil {
					return err
				}
				in.Message = text
			}
			values, err := c.environment(cmd, envFile, env)
			if err != nil {
				return err
			}
			in.Env = values
			if in.IdempotencyKey = key; key == "" {
				in.IdempotencyKey = client.NewIdempotencyKey()
			}
			if in.ExpectResponse {
				return c.continueThread(cmd, args[0], in, outage)
			}
			return c.startThread(cmd, follow, func(ctx context.Context, api *client.Client) (*client.Thread, error) {
				next, err := api.ContinueThread(ctx, args[0], in)
				if err != nil {
					return nil, err
				}
				return &next.Thread, nil
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&in.DiscardQueued, "discard-queued", false, "leave the messages that got no answer")
	f.StringArrayVar(&env, "env", nil, "K=V for its environment, or K to pass on this command's own; beside that of the old thread, and over it; may be repeated")
	f.StringVar(&envFile, "env-file", "", "file of K=V lines for its environment; - is stdin")
	f.StringVar(&key, "idempotency-key", "", "the same key starts one thread only, and finds the turn of its message (default a fresh one)")
	f.BoolVarP(&follow, "follow", "f", false, "show what happens until it is over")
	f.BoolVar(&in.ExpectResponse, "wait", false, "wait for the answer and print it")
	f.DurationVar(&timeout, "timeout", 0, "how long --wait waits (default the server's 2m)")
	f.DurationVar(&outage, "reconnect", defaultWait, "how long --wait bears a server that went away meanwhile")
	exclusive(cmd, "wait", "follow")
	return cmd
}

// continueThread goes on with a thread, and waits for the turn of the message. It prints the id of the new thread as soon as it is known.
func (c *cli) continueThread(cmd *cobra.Command, id string, in client.ThreadContinue, outage time.Duration) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	ctx, next := cmd.Context(), ""
	tell := func(found string) {
		if next == "" {
			next = found
			fmt.Fprintf(c.deps.Stderr, "thread %s goes on with it\n", clean(next))
		}
	}
	prompt := func(ctx context.Context) (string, *client.ManagedPrompt, error) {
		if next == "" {
			old, err := api.GetThread(ctx, id)
			if err != nil || old.ContinuedBy == "" {
				return id, nil, err
			}
			tell(old.ContinuedBy)
		}
		return threadPrompt(api, next)(ctx)
	}
	var on *client.ThreadContinued
	err = c.awaitTurn(ctx, outage, in.IdempotencyKey, prompt, func() (err error) {
		on, err = api.ContinueThread(ctx, id, in)
		return err
	})
	if err != nil {
		return err
	}
	tell(on.ID)
	if err := c.show(on.Body, func(s *screen) {
		if on.Response != nil {
			s.answer(on.Response)
		}
	}); err != nil || on.Response == nil {
		return err
	}
	return threadTurnOutcome(on.ID, on.Response)
}

func (c *cli) threadQueue() *cobra.Command {
	var after uint64
	var limit int
	cmd := &cobra.Command{
		Use:   "queue ID",
		Short: "List the messages of a thread that have no answer yet",
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 || limit > allLimit {
				return usagef(cmd, "--limit must be from 1 to %d", allLimit)
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.ThreadQueue, error) {
				return api.ListThreadQueue(ctx, args[0], after, limit)
			}, queueScreen)
		},
	}
	cmd.Flags().Uint64Var(&after, "after", 0, "only messages after this number")
	cmd.Flags().IntVar(&limit, "limit", 0, "messages at most, 1 to 100 (default 20)")
	return cmd
}

func queueScreen(s *screen, queue *client.ThreadQueue) {
	if len(queue.Inputs) == 0 {
		s.line("no messages wait")
		return
	}
	var rows [][]cell
	for i := range queue.Inputs {
		in := &queue.Inputs[i]
		state := in.State
		if in.Attempt > 0 {
			state += fmt.Sprintf(" (attempt %d)", in.Attempt+1)
		}
		rows = append(rows, []cell{
			{text: fmt.Sprint(in.Number)}, {text: in.InputID}, {text: state}, {text: moment(&in.CreatedAt)}, {text: shorten(clean(in.Message), 80)},
		})
	}
	s.table([]string{"NUMBER", "INPUT", "STATE", "SENT", "MESSAGE"}, rows)
	if queue.HasMore {
		s.line("there is more; go on with --after %d", queue.NextAfter)
	}
}

func (c *cli) threadWithdraw() *cobra.Command {
	return &cobra.Command{
		Use:   "withdraw ID INPUT",
		Short: "Withdraw a message that the agent does not have yet",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				if err := api.WithdrawThreadInput(ctx, args[0], args[1]); err != nil {
					return err
				}
				return c.show([]byte(fmt.Sprintf(`{"threadId":%q,"inputId":%q,"withdrawn":true}`, args[0], args[1])), func(s *screen) {
					s.line("withdrawn: the agent does not get it")
				})
			})
		},
	}
}

func (c *cli) threadDiff() *cobra.Command {
	var of patchFlags
	cmd := shows(c, &cobra.Command{
		Use:   "diff ID",
		Short: "Show what a thread changed, committed or not",
		Long: "Show what the files of a thread differ in from the commit that it began at: what is committed, what is not, and\n" +
			"files that git does not know.",
		Example: "  wardroom thread diff thread_... | less -R\n  wardroom thread diff thread_... --stat",
	}, func(api *client.Client, ctx context.Context, id string) (*client.ThreadDiff, error) {
		return api.DiffThread(ctx, id, of.most)
	}, func(s *screen, d *client.ThreadDiff) { c.writeDiff(s, &d.WorkspaceDiff, of) })
	of.addTo(cmd)
	return cmd
}

// patchFlags are those of commands that show a patch.
type patchFlags struct {
	most int
	stat bool
}

func (f *patchFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.most, "max-bytes", 0, "bytes of it at most, up to 16777216 (default 1048576)")
	cmd.Flags().BoolVar(&f.stat, "stat", false, "the files and counts only")
}

func (c *cli) writeDiff(s *screen, d *wire.WorkspaceDiff, of patchFlags) {
	if of.stat {
		diffStat(s, d.Changes)
		return
	}
	c.writePatch(s, d.Patch)
	if d.Truncated {
		fmt.Fprintln(c.deps.Stderr, "there is more; ask for it with --max-bytes")
	}
}

// writePatch shows a patch: as it is to a file or another program, without control characters to a terminal.
func (c *cli) writePatch(s *screen, patch string) {
	if f, ok := c.deps.Stdout.(*os.File); !ok || !isTerminal(f) {
		s.buf.WriteString(patch)
		return
	}
	for line := range strings.Lines(patch) {
		s.line("%s", cleanLine(line))
	}
}

func diffStat(s *screen, changes *wire.WorkspaceChanges) {
	if changes == nil {
		return
	}
	s.line("%s", changesText(changes))
	var rows [][]cell
	for _, f := range changes.Files {
		name := clean(f.Path)
		if f.From != "" {
			name = clean(f.From) + " -> " + name
		}
		rows = append(rows, plain(f.Status, fmt.Sprintf("+%d -%d", f.Insertions, f.Deletions), name))
	}
	if len(rows) > 0 {
		s.table([]string{"STATUS", "LINES", "FILE"}, rows)
	}
}

func (c *cli) threadMerge() *cobra.Command {
	return c.threadUpdate("merge", "Merge what is new on the branch that a thread began at into its work",
		(*client.Client).MergeThread)
}

func (c *cli) threadRebase() *cobra.Command {
	return c.threadUpdate("rebase", "Put the commits of a thread behind what is new on the branch that it began at",
		(*client.Client).RebaseThread)
}

func (c *cli) threadUpdate(name, short string, call func(*client.Client, context.Context, string) (*client.WorkspaceUpdate, error)) *cobra.Command {
	return shows(c, &cobra.Command{
		Use:   name + " ID",
		Short: short,
		Long: short + ". Its agent must wait for a\nmessage, or be gone, and nothing may be uncommitted. When both sides changed the same, the files are\n" +
			"named, nothing changes, and the command exits with 4.",
	}, call, func(s *screen, done *client.WorkspaceUpdate) {
		if !done.Changed {
			s.line("there is nothing new on %s", clean(done.Branch))
			return
		}
		s.line("brought onto %s at %s; its work is at %s", clean(done.Branch), clean(done.BaseCommit), clean(done.HeadCommit))
	})
}
